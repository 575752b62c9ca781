package spooltest

import (
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func stats() []testCase {
	return []testCase{
		{name: "queues are sorted by name", queues: map[string]spool.QueueOptions{"z": {}, "a": {}, "m": {Route: "nyc"}}, run: func(s *store) {
			var got []string
			for _, q := range s.Stats() {
				got = append(got, q.Name+" "+q.Route)
			}
			requireEqual(s.t, "queues", got, []string{"a ", "m nyc", "z "})
		}},
		{name: "counters follow a message through its life", run: func(s *store) {
			s.fill("a")
			if q := s.stats("orders"); q.Messages != 1 || q.Leased != 0 || q.Bytes == 0 || q.Stored != 1 {
				s.t.Errorf("stored: %+v", q)
			}
			d := s.lease(1)
			if q := s.stats("orders"); q.Messages != 1 || q.Leased != 1 {
				s.t.Errorf("leased: %+v", q)
			}
			s.requireAcked(d...)
			if q := s.stats("orders"); q.Messages != 0 || q.Leased != 0 || q.Bytes != 0 || q.Acked != 1 || q.OldestAge != 0 {
				s.t.Errorf("acked: %+v", q)
			}
		}},
		{name: "a lease that has run out is not counted", run: func(s *store) {
			s.fill("a", "b")
			s.lease(2)
			s.pass(spool.DefaultVisibilityTimeout)
			if q := s.stats("orders"); q.Leased != 0 || q.Messages != 2 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "bytes are those of the records", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 5)...)
			want := uint64(0)
			for _, h := range s.held(nyc, 0, 9) {
				want += uint64(h.Bytes)
			}
			if q := s.stats("orders"); q.Bytes != want {
				s.t.Errorf("%d bytes, want %d", q.Bytes, want)
			}
		}},
		{name: "the oldest message gives the age", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.pass(time.Hour)
			s.fill("b")
			s.put(spool.Put{Queue: "orders", Priority: 9})
			if age := s.stats("orders").OldestAge; age != time.Hour {
				s.t.Errorf("oldest %s", age)
			}
			s.pass(time.Minute)
			s.mark(nyc, 1)
			s.settle(nyc, message.Range{First: 1, Last: 1})
			if age := s.stats("orders").OldestAge; age != time.Minute {
				s.t.Errorf("oldest %s after it was settled", age)
			}
		}},
		{name: "conflicts and refusals count nothing", run: func(s *store) {
			s.fill("a")
			s.put(orderOf("a", "b"), orderOf("with space", ""))
			if q := s.stats("orders"); q.Stored != 1 || q.Duplicates != 0 || q.Messages != 1 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "what arrived is counted by verdict", run: receives(func(r *receiver) {
			a := r.arrival(3, 0, "a", "x")
			r.require([]spool.Arrival{a, a, r.arrival(1, 0, "b", "x"), r.arrival(4, 3, "a", "x"), r.arrival(9, 8, "c", "x"), r.arrival(5, 4, "a", "y")},
				accepted, duplicate, below, duplicate, undecided, refused)
			if q := r.stats("orders"); q.Accepted != 1 || q.Duplicates != 3 || q.Stored != 0 {
				r.t.Errorf("stats: %+v", q)
			}
		})},
	}
}
