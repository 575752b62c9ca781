package spooltest

import (
	"sync"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func deadIDs() []testCase {
	ackDead := func(s *store) {
		s.t.Helper()
		s.requireAcked(s.request(spool.LeaseRequest{Queue: dead, Max: 9})...)
		s.requireDead()
	}
	return []testCase{
		{name: "a message whose copy is dead is a duplicate of the dead letter", queues: routed("nyc"), run: func(s *store) {
			s.die("a", "b", "c")
			ackFirst := s.request(spool.LeaseRequest{Queue: dead, Max: 1})
			s.requireAcked(ackFirst...)
			if r := s.requirePut(orderOf("c", "c"), spool.DuplicateDead); r.Sequence != 3 || r.Err != nil || r.ID != "c" {
				s.t.Errorf("put again: %+v", r)
			}
			s.requirePut(orderOf("a", "a"), spool.Duplicate)
			s.requireMessages(0)
			if q := s.stats("orders"); q.Duplicates != 2 || q.Stored != 3 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "a sequence of a dead letter is that of its own queue", queues: routed("nyc"), run: func(s *store) {
			s.fill("zero", "a")
			s.mark(nyc, 2)
			s.bury(nyc, 2)
			if r := s.requirePut(orderOf("a", "a"), spool.DuplicateDead); r.Sequence != 1 {
				s.t.Errorf("put again: %+v", r)
			}
		}},
		{name: "a message whose dead letter is gone is a duplicate", queues: routed("nyc"), run: func(s *store) {
			s.fill("zero")
			s.die("a")
			ackDead(s)
			if r := s.requirePut(orderOf("a", "a"), spool.Duplicate); r.Sequence != 2 {
				s.t.Errorf("put again: %+v", r)
			}
		}},
		{name: "an id that is dead is a conflict with other content", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			requireIs(s.t, "put", s.requirePut(orderOf("a", "b"), spool.Conflict).Err, spool.ErrConflict)
			other := orderOf("a", "a")
			other.Key = "k"
			requireIs(s.t, "put", s.requirePut(other, spool.Conflict).Err, spool.ErrConflict)
			ackDead(s)
			s.requirePut(orderOf("a", "b"), spool.Conflict)
			s.requireMessages(0)
		}},
		{name: "copies of a dead letter in one call are seen", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			r := s.put(orderOf("a", "a"), orderOf("b", "b"), orderOf("a", "x"), orderOf("a", "a"))
			if r[0].Status != spool.DuplicateDead || r[1].Status != spool.Stored || r[2].Status != spool.Conflict || r[3].Status != spool.DuplicateDead {
				s.t.Errorf("put: %+v", r)
			}
		}},
		{name: "an id is known as long as it lies dead", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			for range 3 {
				s.pass(day + time.Hour)
				s.fill(message.NewID())
				s.requirePut(orderOf("a", "a"), spool.DuplicateDead)
				s.requirePut(orderOf("a", "b"), spool.Conflict)
			}
			ackDead(s)
			s.requirePut(orderOf("a", "b"), spool.Stored)
		}},
		{name: "a message that dies again is known dead again", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 1)
			s.pass(day - time.Minute)
			s.bury(nyc, 1)
			ackDead(s)
			s.pass(time.Hour) // its own id is past the window, that of its dead letter is not
			s.fill("between")
			s.die("a")
			if r := s.requirePut(orderOf("a", "a"), spool.DuplicateDead); r.Sequence != 2 {
				s.t.Errorf("put again: %+v", r)
			}
			s.pass(day - time.Minute) // now the first dead letter is forgotten, and the second is not
			s.fill("later")
			if r := s.requirePut(orderOf("a", "a"), spool.DuplicateDead); r.Sequence != 2 {
				s.t.Errorf("put again: %+v", r)
			}
		}},
		{name: "many callers with one id that is dead store nothing", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			for _, r := range putByMany(s, orderOf("a", "a")) {
				if r.Status != spool.DuplicateDead || r.Sequence != 1 {
					s.t.Errorf("put: %+v", r)
				}
			}
			s.requireMessages(0)
		}},
		{name: "many callers with one id store it once while it dies", queues: routed("nyc"), run: func(s *store) {
			s.mark(nyc, 1)
			statuses := make([]spool.PutStatus, 64)
			var wg sync.WaitGroup
			for i := range statuses {
				wg.Go(func() {
					statuses[i] = s.put(orderOf("a", "a"))[0].Status
					s.bury(nyc, 1)
				})
			}
			wg.Wait()
			stored := 0
			for _, status := range statuses {
				switch status {
				case spool.Stored:
					stored++
				case spool.Duplicate, spool.DuplicateDead:
				default:
					s.t.Errorf("status %d", status)
				}
			}
			if stored != 1 {
				s.t.Errorf("stored %d times", stored)
			}
			s.requireMessages(0)
			s.requireDead("1 a")
		}},
		{name: "a dead letter of another origin is another message", queues: routed("sfo"), run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "a"), accepted)
			r.mark(sfo, 1)
			r.bury(sfo, 1)
			r.requirePut(orderOf("a", "a"), spool.Stored)
		})},
		{name: "an arrival whose copy is dead is a duplicate, also past the window", queues: routed("sfo"), run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.mark(sfo, 1)
			r.bury(sfo, 1)
			r.requireOne(r.arrival(2, 1, "a", "x"), duplicate)
			r.pass(day + time.Hour)
			r.fill("between")
			r.requireOne(r.arrival(1, 0, "a", "x"), duplicate)
			r.requireOne(r.arrival(3, 2, "a", "x"), duplicate)
			r.requireOne(r.closeOf(4, 3, "a", "x"), duplicate)
			r.requireRefused(r.arrival(5, 4, "a", "y"), spool.ErrConflict)
			r.requireFrontier(4)
			ackDead(r.store)
			r.requireOne(r.arrival(5, 4, "a", "y"), accepted)
		})},
		{name: "a dead letter is known over a restart", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.die("a", "b")
			s.requireAcked(s.request(spool.LeaseRequest{Queue: dead, Max: 1})...)
			s.restart()
			if r := s.requirePut(orderOf("b", "b"), spool.DuplicateDead); r.Sequence != 2 {
				s.t.Errorf("put again: %+v", r)
			}
			s.requirePut(orderOf("b", "x"), spool.Conflict)
			s.requirePut(orderOf("a", "a"), spool.Duplicate)
		}},
	}
}
