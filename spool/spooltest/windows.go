package spooltest

import (
	"context"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func windows() []testCase {
	remember := func(s *store, peer string, window time.Duration) {
		s.t.Helper()
		if err := s.Remember(context.Background(), peer, "orders", window); err != nil {
			s.t.Fatal(err)
		}
	}
	// forgets is what becomes of an id after a time, when another message has been stored since.
	forgets := func(after time.Duration, want spool.PutStatus, announced ...time.Duration) func(s *store) {
		return func(s *store) {
			for _, window := range announced {
				remember(s, "nyc", window)
			}
			s.fill("first")
			s.requireAcked(s.lease(1)...)
			s.pass(after)
			s.fill("between")
			s.requirePut(orderOf("first", "first"), want)
		}
	}
	return []testCase{
		{name: "an id is known for a day", run: forgets(day-time.Minute, spool.Duplicate)},
		{name: "an id is forgotten after a day", run: forgets(day+time.Hour, spool.Stored)},
		{name: "a queue may ask for longer", queues: map[string]spool.QueueOptions{"orders": {Remember: 3 * day}}, run: forgets(2*day, spool.Duplicate)},
		{name: "an id is known as long as a peer may retry", run: forgets(2*day, spool.Duplicate, 3*day)},
		{name: "an id is forgotten when no peer retries it any more", run: forgets(4*day, spool.Stored, 3*day)},
		{name: "the latest word of a peer counts", run: forgets(3*day, spool.Stored, 9*day, 2*day)},
		{name: "a peer that asks for less than a day gets a day", run: forgets(day-time.Minute, spool.Duplicate, time.Hour)},
		{name: "one peer does not speak for another", run: func(s *store) {
			remember(s, "nyc", 5*day)
			remember(s, "sfo", 2*day)
			forgets(4*day, spool.Duplicate)(s)
		}},
		{name: "a window announced later is kept from then on", run: func(s *store) {
			s.fill("first")
			remember(s, "nyc", 3*day)
			s.pass(2 * day)
			s.fill("between")
			s.requirePut(orderOf("first", "first"), spool.Duplicate)
		}},
		{name: "a number is known long after its id is forgotten", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.requireOne(a, accepted)
			r.requireAcked(r.lease(1)...)
			r.pass(day + time.Hour)
			r.requireOne(r.arrival(2, 0, "b", "x"), accepted)
			r.requireOne(a, below)
			r.requireFrontier(2)
			a.Number = 3 // under a number that is not known the id is all there is, and it is forgotten
			r.requireOne(a, accepted)
		})},
		{name: "an id is known while its message is here", run: func(s *store) {
			s.fill("first")
			for range 3 {
				s.pass(day + time.Hour)
				s.fill(message.NewID())
				s.requirePut(orderOf("first", "first"), spool.Duplicate)
				s.requirePut(orderOf("first", "other"), spool.Conflict)
			}
			s.requireAcked(s.requireLeased(1, "first")...)
			s.pass(day + time.Hour)
			s.fill("last")
			s.requirePut(orderOf("first", "other"), spool.Stored)
		}},
		{name: "a window counts over a restart", restarts: true, run: func(s *store) {
			remember(s, "nyc", 3*day)
			s.fill("first")
			s.requireAcked(s.lease(1)...)
			s.close()
			time.Sleep(2 * day)
			s.open()
			s.acceptTime()
			s.fill("between")
			s.requirePut(orderOf("first", "first"), spool.Duplicate)
			s.close()
			time.Sleep(2 * day)
			s.open()
			s.acceptTime()
			s.fill("later")
			s.requirePut(orderOf("first", "first"), spool.Stored)
		}},
	}
}
