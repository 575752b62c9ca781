package spooltest

import (
	"time"

	"drawbridge/spool"
)

func watch() []testCase {
	woken := func(ready <-chan struct{}) bool {
		select {
		case <-ready:
			return true
		default:
			return false
		}
	}
	return []testCase{
		{name: "a message that was stored wakes who watches", run: func(s *store) {
			ready, stop := s.Watch("orders")
			defer stop()
			s.fill("a")
			s.pass(0)
			if !woken(ready) {
				s.t.Error("not woken")
			}
		}},
		{name: "a message that arrived wakes who watches", run: receives(func(r *receiver) {
			ready, stop := r.Watch("orders")
			defer stop()
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.pass(0)
			if !woken(ready) {
				r.t.Error("not woken")
			}
		})},
		{name: "wake-ups do not pile up", run: func(s *store) {
			ready, stop := s.Watch("orders")
			defer stop()
			s.fill("a")
			s.fill("b")
			s.pass(0)
			if !woken(ready) || woken(ready) {
				s.t.Error("want one wake-up")
			}
		}},
		{name: "all who watch are woken", run: func(s *store) {
			one, stopOne := s.Watch("orders")
			defer stopOne()
			two, stopTwo := s.Watch("orders")
			defer stopTwo()
			s.fill("a")
			s.pass(0)
			if !woken(one) || !woken(two) {
				s.t.Error("want both woken")
			}
		}},
		{name: "who has stopped is not woken", run: func(s *store) {
			ready, stop := s.Watch("orders")
			stop()
			s.fill("a")
			s.pass(0)
			if woken(ready) {
				s.t.Error("woken")
			}
		}},
		{name: "another queue's message wakes nobody", queues: map[string]spool.QueueOptions{"orders": {}, "refunds": {}}, run: func(s *store) {
			ready, stop := s.Watch("refunds")
			defer stop()
			s.fill("a")
			s.pass(0)
			if woken(ready) {
				s.t.Error("woken")
			}
		}},
		{name: "a lease that runs out wakes who watches, not before", run: func(s *store) {
			s.fill("a")
			s.lease(1)
			ready, stop := s.Watch("orders")
			defer stop()
			s.pass(spool.DefaultVisibilityTimeout - time.Millisecond)
			if woken(ready) {
				s.t.Error("woken too early")
			}
			s.pass(time.Millisecond)
			if !woken(ready) {
				s.t.Error("not woken")
			}
			s.requireLeased(1, "a")
		}},
		{name: "a lease that was acked wakes nobody when it would have run out", run: func(s *store) {
			s.fill("a", "b")
			d := s.request(spool.LeaseRequest{Max: 1, Visibility: time.Second})
			s.lease(1)
			s.requireAcked(d...)
			ready, stop := s.Watch("orders")
			defer stop()
			s.pass(spool.DefaultVisibilityTimeout - time.Millisecond)
			if woken(ready) {
				s.t.Error("woken")
			}
			s.pass(time.Millisecond)
			if !woken(ready) {
				s.t.Error("not woken by the lease that did run out")
			}
		}},
	}
}
