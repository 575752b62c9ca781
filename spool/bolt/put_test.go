package bolt_test

import (
	"fmt"
	"sync"
	"testing"

	"drawbridge/spool"
)

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
