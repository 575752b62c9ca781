package bolt_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"drawbridge/message"
	"drawbridge/spool"
)

func TestPutTwiceIsStoredOnce(t *testing.T) {
	s := openTemp(t, orders())
	p := spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("x")}
	s.put(p)
	again := p
	again.Headers = message.NewHeaders(map[string]string{"traceparent": "another"})
	other := p
	other.Body = []byte("y")
	r := s.put(again, other)
	if r[0].Status != spool.Duplicate || r[0].Sequence != 1 || r[0].Err != nil {
		t.Errorf("same content: %+v", r[0])
	}
	if r[1].Status != spool.Conflict || !errors.Is(r[1].Err, spool.ErrConflict) {
		t.Errorf("other content: %+v", r[1])
	}
	// It stays known after it was settled, and after a restart.
	s.requireAcked(s.lease(1))
	s = s.reopen()
	if r := s.put(p)[0]; r.Status != spool.Duplicate || r.Sequence != 1 {
		t.Errorf("after a restart: %+v", r)
	}
	if q := s.stats("orders"); q.Messages != 0 || q.Duplicates != 1 {
		t.Errorf("stats: %+v", q)
	}
}

func TestPutTwiceInOneCommit(t *testing.T) {
	s := openTemp(t, orders())
	p := spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("x")}
	other := p
	other.Body = []byte("y")
	r := s.put(spool.Put{Queue: "orders", Priority: 9, Body: []byte("z")}, p, p, other)
	if r[0].Status != spool.Stored || message.CheckID(r[0].ID) != nil {
		t.Errorf("minted: %+v", r[0])
	}
	if r[1].Status != spool.Stored || r[2].Status != spool.Duplicate || r[2].Sequence != r[1].Sequence || r[3].Status != spool.Conflict {
		t.Errorf("got %+v", r[1:])
	}
}

func TestManyCallersPutOneID(t *testing.T) {
	s := openTemp(t, orders())
	var wg sync.WaitGroup
	results := make([]spool.PutResult, 64)
	for i := range results {
		wg.Go(func() {
			results[i] = s.put(spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("x")})[0]
		})
	}
	wg.Wait()
	stored := 0
	for _, r := range results {
		if r.Status == spool.Stored {
			stored++
		} else if r.Status != spool.Duplicate {
			t.Errorf("got %+v", r)
		}
		if r.Sequence != 1 {
			t.Errorf("sequence %d", r.Sequence)
		}
	}
	if stored != 1 || s.stats("orders").Messages != 1 {
		t.Errorf("stored %d times, %d messages", stored, s.stats("orders").Messages)
	}
}

func TestPutCopiesWhatItIsGiven(t *testing.T) {
	s := openTemp(t, orders())
	body := []byte("before")
	s.put(spool.Put{Queue: "orders", Priority: 4, Body: body})
	copy(body, "AFTER!")
	if d := s.lease(1); string(d[0].Body) != "before" {
		t.Errorf("stored %q", d[0].Body)
	}
}

func TestPutRefusesOneAndStoresTheOthers(t *testing.T) {
	o := orders()
	o.Queues["orders"] = spool.QueueOptions{MaxMessageBytes: 4}
	s := openTemp(t, o)
	r := s.put(
		spool.Put{Queue: "orders", ID: "fits", Body: []byte("1234")},
		spool.Put{Queue: "orders", ID: "big", Body: []byte("12345")},
		spool.Put{Queue: "other", ID: "lost", Body: nil},
		spool.Put{Queue: "orders", ID: "with space", Body: nil},
		spool.Put{Queue: "orders", ID: "priority", Priority: 10},
		spool.Put{Queue: "orders", ID: "empty"},
	)
	for i, want := range []error{nil, spool.ErrTooLarge, spool.ErrNoQueue, spool.ErrMalformed, spool.ErrMalformed, nil} {
		if !errors.Is(r[i].Err, want) || (want == nil) != (r[i].Status == spool.Stored) {
			t.Errorf("put %d: %+v, want %v", i, r[i], want)
		}
	}
}

func TestCallersShareCommits(t *testing.T) {
	s := openTemp(t, orders())
	before := s.Commits()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { s.store("orders", fmt.Sprint(i)) })
	}
	wg.Wait()
	if n := s.Commits() - before; n >= 150 {
		t.Errorf("200 puts took %d commits", n)
	}
	if n := s.stats("orders").Messages; n != 200 {
		t.Errorf("%d messages", n)
	}
}

func TestNothingToChangeIsNoCommit(t *testing.T) {
	s := openTemp(t, orders())
	s.store("orders", "a")
	before := s.Commits()
	s.put(spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("a")})
	s.ack("rcpt-nonsense", "a")
	d := s.lease(1)
	s.lease(1)
	s.lease(1)
	if n := s.Commits() - before; n != 1 {
		t.Errorf("%d commits, want 1 for the lease", n)
	}
	s.requireAcked(d)
}
