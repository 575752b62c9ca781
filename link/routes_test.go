package link_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// meetOver brings about a session with a peer that has a route into refunds for each horizon.
func (p *peer) meetOver(horizons ...time.Duration) *talk {
	p.t.Helper()
	k := p.greet()
	k.welcomed(hear[*protocol.Welcome](k))
	hear[*protocol.Use](k)
	for i, horizon := range horizons {
		route := protocol.ResumeRoute{Name: names("route", i+1)[i], Queue: refunds, Horizon: horizon}
		k.say(&protocol.Resume{Session: k.session, Last: i == len(horizons)-1, Routes: []protocol.ResumeRoute{route}})
	}
	return k
}

func TestOfSeveralRoutesIntoOneQueueTheLongestWindowCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), byIDs(200*time.Hour))
		k := newPeer(t, h).meetOver(72*time.Hour, time.Hour)
		stream := message.StreamID{7}
		items := chain(stream, names("r", 1), 10)
		items[0].Age = 50 * time.Hour
		k.ship(refunds, stream, items...)
		eventually(t, "the message has come", func() bool { return len(h.ids(refunds)) == 1 })
	})
}

func TestOfSeveralRoutesIntoOneQueueNoneTakesBackTheRefusalOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), byIDs(48*time.Hour))
		k := newPeer(t, h).meetOver(0, time.Hour)
		stream := message.StreamID{7}
		k.ship(refunds, stream, chain(stream, names("r", 1), 10)...)
		time.Sleep(5 * time.Second)
		if got := h.ids(refunds); len(got) != 0 {
			t.Errorf("%v came over a route whose horizon has no end", got)
		}
	})
}

// A queue got its route while a consumer had one of its messages, and the consumer is done with it between the listing of what is
// to be shipped and the mark.
func TestMessageThatAConsumerEndsBeforeItIsMarkedHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		o := bolt.Options{Agent: "near", LedgerMemoryBytes: 1 << 20, Queues: map[string]spool.QueueOptions{orders: {VisibilityTimeout: time.Hour}, refunds: {}}}
		before, err := bolt.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		h := &host{t: t, net: newNetwork(), done: make(chan error, 1), store: before}
		h.put(orders, 10, "a", "b", "c")
		leased, err := before.Lease(t.Context(), spool.LeaseRequest{Queue: orders})
		if err != nil || len(leased) != 1 {
			t.Fatalf("%d leased, %v", len(leased), err)
		}
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}
		o.Queues[orders] = spool.QueueOptions{Route: orders}
		if h.store, err = bolt.Open(dir, o); err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		h.link = link.New(link.Options{
			Name: "far", Agent: "near", Self: nearPin, Pins: []link.Pin{farPin},
			Sends: []link.Send{{Name: orders, From: orders, To: orders}}, Receives: []link.Receive{{To: refunds}},
			Log: hclog.NewNullLogger(),
			Hook: func(point string) error {
				if point == link.HookMarkBegin {
					once.Do(func() {
						if answers, err := h.store.Ack(context.Background(), []spool.Receipt{leased[0].Receipt}); err != nil || answers[0] != nil {
							t.Errorf("ack: %v, %v", answers, err)
						}
					})
				}
				return nil
			},
		}, damaged{h.store, h}, dialer{h.net, nearPin})
		ctx, cancel := context.WithCancel(t.Context())
		h.stop = cancel
		h.net.listen(nearAddr, nearPin, func(c *conn) { h.link.Accept(ctx, c) })
		go func() { h.done <- h.link.Run(ctx, 5*time.Second) }()
		defer func() {
			h.shutdown()
			h.store.Close()
		}()
		k := newPeer(t, h).meet()
		k.settle(k.shipped())
		eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
	})
}

func TestFloorIsToldOfWhatWasClosedInASessionBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		h.put(orders, 10, "a", "bad")
		s := k.shipped()
		k.say(&protocol.Refused{Answer: k.answerTo(s), Scope: protocol.ScopeMessage, Range: message.Range{First: 2, Last: 2}, Code: protocol.CodeTooLarge})
		k.closed()
		k.decide(orders, s.Stream, 2, message.Closed, message.ReasonTooLarge)
		eventually(t, "one is dead", func() bool { return len(h.dead(orders)) == 1 })
		k.conn.pair.cut()
		time.Sleep(time.Minute)
		h.put(orders, 10, "c")
		k = newPeer(t, h).meet()
		for h.send(t, orders).Settled < 2 {
			k.settle(k.shipped())
			synctest.Wait()
		}
		if f := hear[*protocol.Floor](k); f.Floor <= 2 || f.Stream != s.Stream {
			t.Errorf("%+v", f)
		}
	})
}
