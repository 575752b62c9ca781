package spooltest

import (
	"context"
	"time"

	"drawbridge/spool"
)

func ledger() []testCase {
	remember := func(s *store, window time.Duration) {
		s.t.Helper()
		if err := s.Remember(context.Background(), "nyc", "orders", window); err != nil {
			s.t.Fatal(err)
		}
	}
	requireReach := func(s *store, window, effective time.Duration) {
		s.t.Helper()
		if l := s.LedgerStats(); l.Window != window || l.EffectiveWindow != effective {
			s.t.Errorf("window %s, effective %s; want %s, %s", l.Window, l.EffectiveWindow, window, effective)
		}
	}
	return []testCase{
		{name: "the ledger counts the ids that it remembers", run: receives(func(r *receiver) {
			r.fill("a", "b")
			r.requirePut(orderOf("a", "a"), spool.Duplicate)
			r.requireOne(r.arrival(1, 0, "c", "x"), accepted)
			r.requireAcked(r.lease(3)...)
			if l := r.LedgerStats(); l.IDs != 3 || l.ForgottenEarly != 0 || l.Jump != 0 {
				r.t.Errorf("ledger: %+v", l)
			}
			r.pass(day + time.Hour)
			r.fill("d")
			if l := r.LedgerStats(); l.IDs != 1 {
				r.t.Errorf("ledger a day later: %+v", l)
			}
		})},
		{name: "the window is the longest that anybody asks for", queues: map[string]spool.QueueOptions{"orders": {Remember: 2 * day}, "refunds": {}}, run: func(s *store) {
			requireReach(s, 2*day, 2*day)
			remember(s, 5*day)
			requireReach(s, 5*day, 5*day)
			remember(s, day)
			requireReach(s, 2*day, 2*day)
		}},
		{name: "what is forgotten for its age leaves the whole window", run: func(s *store) {
			s.fill("a")
			s.requireAcked(s.lease(1)...)
			s.pass(2 * day)
			s.fill("b")
			requireReach(s, day, day)
		}},
		{name: "a window that grows reaches back only as far as nothing was forgotten", run: func(s *store) {
			s.fill("a")
			s.requireAcked(s.lease(1)...)
			s.pass(2 * day)
			s.fill("b")
			remember(s, 5*day)
			requireReach(s, 5*day, 2*day)
			s.pass(2 * day)
			requireReach(s, 5*day, 4*day)
			s.pass(2 * day)
			requireReach(s, 5*day, 5*day)
		}},
		{name: "accepting time that has not jumped changes nothing", run: func(s *store) {
			s.fill("a")
			s.acceptTime()
			s.requirePut(orderOf("a", "a"), spool.Duplicate)
		}},
		{name: "a long stop forgets nothing until it is accepted", restarts: true, run: func(s *store) {
			s.fill("a")
			s.requireAcked(s.lease(1)...)
			s.close()
			time.Sleep(3 * day)
			s.open()
			s.fill("b")
			if l := s.LedgerStats(); l.Jump != 3*day {
				s.t.Errorf("jump %s", l.Jump)
			}
			s.requirePut(orderOf("a", "a"), spool.Duplicate)
			s.acceptTime()
			s.fill("c")
			s.requirePut(orderOf("a", "a"), spool.Stored)
		}},
	}
}
