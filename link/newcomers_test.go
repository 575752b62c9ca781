package link_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
)

func TestPeerThatBeginsStreamsWithoutEndIsMadeSlowAndKnownOnesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		known := message.NewStreamID()
		items := chain(known, names("known", 3), 10)
		k.ship(refunds, known, items[0])
		hear[*protocol.Accepted](k)

		h.link.BeginStreams(link.NewcomersAtOnce - 1) // beside the one above
		late := message.NewStreamID()
		for range 3 {
			k.ship(refunds, late, chain(late, names("late", 1), 10)...)
			r := hear[*protocol.Refused](k)
			if r.Scope != protocol.ScopeRoute || r.Code != protocol.CodeRemoteFull || !strings.Contains(r.Text, "one more each 5s") {
				t.Errorf("a new stream is refused with %s %s %q", r.Scope, r.Code, r.Text)
			}
		}
		k.ship(refunds, known, items[1:]...)
		if a := hear[*protocol.Accepted](k); a.Stream != known {
			t.Errorf("answered %+v", a)
		}
		if lines := h.log.count("new streams are refused"); lines != 1 {
			t.Errorf("%d lines say so, want one", lines)
		}
		// Nobody is shut out: one stream each five seconds, whatever came before.
		for n := range 5 {
			time.Sleep(link.NewcomerEvery)
			stream := message.NewStreamID()
			k.ship(refunds, stream, chain(stream, names(fmt.Sprint("more-", n), 1), 10)...)
			if a := hear[*protocol.Accepted](k); a.Stream != stream {
				t.Errorf("answered %+v", a)
			}
		}
		time.Sleep(link.NewcomersAtOnce * link.NewcomerEvery)
		for n := range 10 {
			stream := message.NewStreamID()
			k.ship(refunds, stream, chain(stream, names(fmt.Sprint("again-", n), 1), 10)...)
			hear[*protocol.Accepted](k)
		}
	})
}
