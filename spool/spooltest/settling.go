package spooltest

import (
	"fmt"

	"drawbridge/message"
	"drawbridge/spool"
)

func settling() []testCase {
	all := message.Range{First: 1, Last: 1 << 40}
	return []testCase{
		{name: "an answer ends what was shipped", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 8)...)
			s.mark(nyc, 6)
			s.settle(nyc, message.Range{First: 2, Last: 3}, message.Range{First: 6, Last: 6}, message.Range{First: 3, Last: 3})
			s.requireHeld(nyc, 1, 4, 5, 7, 8)
			s.requireInDoubt(3, 5)
			if r := s.fetch(nyc, 3, 4); len(r) != 1 || r[0].Number != 4 {
				s.t.Errorf("fetched what is settled: %+v", r)
			}
		}},
		{name: "an answer about a settled number is ignored", queues: routed("nyc"), run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 2)
			s.settle(nyc, message.Range{First: 1, Last: 1})
			s.settle(nyc, message.Range{First: 1, Last: 1})
			s.requireInDoubt(1, 1)
			if q := s.stats("orders"); q.Settled != 1 {
				s.t.Errorf("settled %d", q.Settled)
			}
		}},
		{name: "an answer above the mark settles nothing", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 4)...)
			s.settle(nyc, all)
			s.requireHeld(nyc, 1, 2, 3, 4)
			s.mark(nyc, 2)
			s.settle(nyc, all)
			s.requireHeld(nyc, 3, 4)
		}},
		{name: "an answer on another route settles nothing", queues: routed("nyc"), run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 2)
			s.settle(sfo, all)
			s.requireHeld(nyc, 1, 2)
		}},
		{name: "a range means the numbers in it that were given", queues: routed("nyc"), run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 1<<41)
			s.settle(nyc, message.Range{First: 5, Last: 3}, all)
			s.requireInDoubt(0, 0)
			requireEqual(s.t, "lanes", s.Lanes(nyc), nil)
		}},
		{name: "settling nothing is no error", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.settle(nyc)
			s.requireMessages(1)
		}},
		{name: "settling runs over many calls' messages", queues: routed("nyc"), run: func(s *store) {
			for i := range 50 {
				s.fill(fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c"))
			}
			s.mark(nyc, 150)
			s.settle(nyc, message.Range{First: 2, Last: 149})
			s.requireHeld(nyc, 1, 150)
			s.requireInDoubt(2, 2)
			if q := s.stats("orders"); q.Settled != 148 {
				s.t.Errorf("settled %d", q.Settled)
			}
		}},
		{name: "settling ends the lease of a local consumer too", run: func(s *store) {
			s.fill("a")
			s.lease(1)
			s.mark(nyc, 1)
			s.settle(nyc, all)
			if q := s.stats("orders"); q.Leased != 0 || q.Messages != 0 || q.Bytes != 0 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "a settled message stays a duplicate", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 1)
			s.settle(nyc, all)
			s.requirePut(orderOf("a", "a"), spool.Duplicate)
			s.requireMessages(0)
		}},
		{name: "what is settled stays settled over a restart", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill(idsFrom(1, 5)...)
			s.mark(nyc, 4)
			s.settle(nyc, message.Range{First: 2, Last: 3})
			s.restart()
			s.requireHeld(nyc, 1, 4, 5)
			s.requireInDoubt(2, 3)
		}},
	}
}
