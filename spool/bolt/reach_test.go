package bolt_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// byIDs is a queue for which ids carry the guarantee.
func byIDs() bolt.Options {
	return bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"orders": {ByIDs: true, MaxDeliveries: spool.UnlimitedDeliveries}, "refunds": {}}}
}

// oldCopy ships a message once more, from another spool, as one that may have come first so long ago.
func (r *receiver) oldCopy(id string, age time.Duration) message.Verdict {
	r.t.Helper()
	m := message.Message{Head: message.Head{ID: id, Origin: "nyc-1", Priority: 4}, Body: []byte(id)}
	m.Seal()
	return r.acceptFrom(message.NewStreamID(), spool.Arrival{Number: 1, Age: age, Message: m})[0].Verdict
}

// remember has ids come and go again, n of them.
func (r *receiver) remember(n int) {
	r.t.Helper()
	stream := message.NewStreamID()
	for first := uint64(1); first <= uint64(n); first += 200 {
		arrivals := make([]spool.Arrival, 200)
		for i := range arrivals {
			number := first + uint64(i)
			id := fmt.Sprint("id-", number)
			m := message.Message{Head: message.Head{ID: id, Origin: "nyc-1", Priority: 4}, Body: []byte(id)}
			m.Seal()
			arrivals[i] = spool.Arrival{Number: number, Message: m}
			if number > 1 {
				arrivals[i].Prev = message.Place{Stream: stream, Number: number - 1}
			}
		}
		r.acceptFrom(stream, arrivals...)
		r.requireAcked(r.lease(200))
	}
}

func TestWhatASmallerIndexForgetsAtAnOpeningIsNotTakenForNewAfterTheNext(t *testing.T) {
	o := byIDs()
	o.LedgerMemoryBytes = 1 << 20
	r := openReceiver(t, o)
	r.remember(8000)
	r.close()
	o.LedgerMemoryBytes = 32 << 10
	for range 3 {
		r.opened = open(t, r.dir, o)
		r.begin()
		if v := r.oldCopy("id-1", time.Hour); v == message.Accepted {
			t.Fatal("doubled")
		}
		r.close()
	}
	r.opened = open(t, r.dir, o)
}

func TestAJumpThatNobodyAcceptedDoesNotLengthenTheReach(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	o := byIDs()
	o.Now = func() time.Time { return now }
	r := openReceiver(t, o)
	r.remember(200)
	pass := func(d time.Duration) {
		r.close()
		now = now.Add(d)
		r.opened = open(t, r.dir, o)
		r.begin()
	}
	for range 4 {
		pass(12 * time.Hour) // each is believed without asking
	}
	r.put(spool.Put{Queue: "refunds", Body: []byte("x")}) // what is past the window goes
	if err := r.Remember(context.Background(), "nyc", "orders", 5*day); err != nil {
		t.Fatal(err)
	}
	pass(365 * day) // the wall clock is wrong
	if v := r.oldCopy("id-1", 2*day+time.Minute); v == message.Accepted {
		t.Error("doubled")
	}
}

func TestDeathsOfOneCallAreCommittedInParts(t *testing.T) {
	o := orders()
	o.Queues["orders"] = spool.QueueOptions{MaxDeliveries: 1}
	s := openTemp(t, o)
	body := bytes.Repeat([]byte("x"), 256<<10)
	for i := range 40 {
		s.put(spool.Put{Queue: "orders", ID: fmt.Sprint(i), Body: body})
	}
	deliveries, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "orders", Max: 100, MaxBytes: 1 << 30})
	if err != nil || len(deliveries) != 40 {
		t.Fatalf("%d leased, %v", len(deliveries), err)
	}
	settlements := make([]spool.Settlement, len(deliveries))
	for i, d := range deliveries {
		settlements[i] = spool.Settlement{Receipt: d.Receipt, Act: spool.Bury}
	}
	before := s.Commits()
	settled, err := s.Settle(context.Background(), settlements)
	if err != nil {
		t.Fatal(err)
	}
	for i := range settled {
		if settled[i].Err != nil || !settled[i].Died {
			t.Errorf("%d: %+v", i, settled[i])
		}
	}
	if commits := s.Commits() - before; commits < 3 {
		t.Errorf("ten megabytes died in %d commits", commits)
	}
	if q := s.stats("orders"); q.Messages != 0 || q.Buried != 40 {
		t.Errorf("%+v", q)
	}
}
