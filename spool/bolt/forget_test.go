package bolt_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/message"
	"drawbridge/spool"
)

const day = 24 * time.Hour

// again puts the message of store once more, with its id as its body unless another one is given.
func (s *opened) again(queue, id string, body ...string) spool.PutResult {
	s.t.Helper()
	p := spool.Put{Queue: queue, ID: id, Priority: message.DefaultPriority, Body: []byte(id)}
	if len(body) > 0 {
		p.Body = []byte(body[0])
	}
	return s.put(p)[0]
}

func TestIDIsKnownAsLongAsItsMessageIsHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := orders()
		o.Queues["others"] = spool.QueueOptions{}
		s := openTemp(t, o)
		sequences := s.store("orders", "first", "waits", "last")
		s.store("others", "a", "b", "c") // the same sequences in another queue
		d := s.lease(3)
		s.requireAcked([]spool.Delivery{d[0], d[2]})
		ackOthers := func() {
			others, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "others", Max: 3})
			if err != nil {
				t.Fatal(err)
			}
			s.requireAcked(others)
		}
		ackOthers()
		for range 5 {
			time.Sleep(day + time.Hour)
			s.store("others", fmt.Sprint(time.Now().Unix()))
			ackOthers()
			if n := s.LedgerStats().IDs; n > 3 {
				t.Errorf("%d ids are remembered, want that of the message that waits and those of a day", n)
			}
		}
		s = s.reopen()
		if r := s.again("orders", "waits"); r.Status != spool.Duplicate || r.Sequence != sequences[1] {
			t.Errorf("the same again: %+v, want a duplicate of %d", r, sequences[1])
		}
		if r := s.again("orders", "waits", "other"); r.Status != spool.Conflict {
			t.Errorf("other content: %+v", r)
		}
		if r := s.again("orders", "first"); r.Status != spool.Stored {
			t.Errorf("one that was acked: %+v", r)
		}
		s.close()
	})
}

func TestLedgerForgetsTheOldestForWantOfDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := orders()
		o.LedgerMaxBytes = 32 << 10
		o.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
		s := openTemp(t, o)
		for i := range 200 {
			s.store("orders", idsFrom(20*i, 20*i+19)...)
			s.requireAcked(s.lease(20))
			time.Sleep(time.Minute)
		}
		stats := s.LedgerStats()
		if stats.DiskBytes > o.LedgerMaxBytes || stats.DiskBytes < o.LedgerMaxBytes/2 || stats.IDs+stats.ForgottenEarly != 200*20 {
			t.Errorf("%+v", stats)
		}
		// Twenty ids a minute are remembered for as many minutes as there are rows.
		rows := time.Duration(stats.IDs / 20)
		if back := stats.EffectiveWindow; stats.Window != day || back < rows*time.Minute || back > (rows+1)*time.Minute {
			t.Errorf("%d rows, effective window %s of %s", rows, back, stats.Window)
		}
		oldest := idsFrom(int(200*20-stats.IDs), int(200*20-stats.IDs))[0]
		if r := s.again("orders", oldest); r.Status != spool.Duplicate {
			t.Errorf("the oldest that is remembered: %+v", r)
		}
		s = s.reopen()
		after := s.LedgerStats()
		after.ForgottenEarly, after.MemoryBytes = stats.ForgottenEarly, stats.MemoryBytes
		if after != stats {
			t.Errorf("after a restart %+v, before it %+v", after, stats)
		}
		s.store("orders", "short")
		time.Sleep(2 * day)
		s.store("orders", "calm", "calm-2")
		s.requireAcked(s.lease(1))
		if stats := s.LedgerStats(); stats.EffectiveWindow != day || stats.IDs != 3 {
			t.Errorf("two calm days later %+v", stats)
		}
		s.close()
		for _, line := range []string{"ledger remembers ids for less than its window", "ledger remembers every id for its window again"} {
			if n := strings.Count(log.String(), line); n < 1 || n > 2 {
				t.Errorf("%q is logged %d times in two epochs:\n%s", line, n, log.String())
			}
		}
	})
}

func TestLongerWindowThanWasKeptIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t, orders())
		s.store("orders", "a")
		s.requireAcked(s.lease(1))
		time.Sleep(30 * time.Hour)
		s.store("orders", "b")
		if err := s.Remember(context.Background(), "nyc", "orders", 3*day); err != nil {
			t.Fatal(err)
		}
		if stats := s.LedgerStats(); stats.Window != 3*day || stats.EffectiveWindow != 30*time.Hour {
			t.Errorf("%+v, want an effective window of 30h of 72h", stats)
		}
		s.close()
	})
}

func TestJumpOfTimeForgetsNothingUntilItIsAccepted(t *testing.T) {
	wall := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := orders()
	o.Now = func() time.Time { return wall }
	s := openTemp(t, o)
	s.store("orders", "a")
	s.requireAcked(s.lease(1))
	s.close()

	wall = wall.Add(day)
	s = open(t, s.dir, o)
	if jump := s.LedgerStats().Jump; jump != 0 {
		t.Errorf("a stop of a day is a jump of %s", jump)
	}
	wall = wall.Add(1000 * day)
	for range 2 { // another start is no acceptance
		s = s.reopen()
		s.store("orders", fmt.Sprint(s.Identity().Epoch.Counter))
		s.requireAcked(s.lease(1))
		if r := s.again("orders", "a"); r.Status != spool.Duplicate {
			t.Errorf("while the jump is not accepted: %+v", r)
		}
		if jump := s.LedgerStats().Jump; jump < 1000*day || jump > 1000*day+time.Minute {
			t.Errorf("jump of %s, want %s", jump, 1000*day)
		}
	}
	for range 2 {
		if err := s.AcceptTime(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if jump := s.LedgerStats().Jump; jump != 0 {
		t.Errorf("jump of %s after it was accepted", jump)
	}
	if r := s.reopen().again("orders", "a"); r.Status != spool.Stored {
		t.Errorf("after the jump was accepted: %+v", r)
	}
}
