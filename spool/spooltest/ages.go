package spooltest

import (
	"fmt"
	"time"

	"drawbridge/spool"
)

func ages() []testCase {
	// requireAges compares the ages of what a route holds, which a fetch must tell too.
	requireAges := func(s *store, route spool.Route, want ...time.Duration) {
		s.t.Helper()
		var got []time.Duration
		held := s.held(route, 0, 1000)
		for _, h := range held {
			got = append(got, h.Age)
		}
		requireEqual(s.t, "ages", got, want)
		for i, r := range s.fetch(route, numbersOf(held)...) {
			if r.Age != want[i] {
				s.t.Errorf("message %d is fetched with age %s, want %s", r.Number, r.Age, want[i])
			}
		}
	}
	const hour = time.Hour
	return []testCase{
		{name: "a message that may not have been shipped has no age", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.pass(hour)
			requireAges(s, nyc, 0)
		}},
		{name: "a message ages from its mark on", queues: routed("nyc"), run: func(s *store) {
			s.fill("a", "b")
			s.pass(hour)
			s.mark(nyc, 1)
			requireAges(s, nyc, 0, 0)
			s.pass(2 * hour)
			requireAges(s, nyc, 2*hour, 0)
		}},
		{name: "a message under a mark ahead of it ages from its storing on", queues: routed("nyc"), run: func(s *store) {
			s.mark(nyc, 3)
			s.pass(hour)
			s.fill("a", "b")
			s.pass(hour)
			s.fill("c", "d")
			s.pass(time.Minute)
			requireAges(s, nyc, hour+time.Minute, hour+time.Minute, time.Minute, 0)
		}},
		{name: "a mark that is raised makes nothing younger", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 4)...)
			s.mark(nyc, 1)
			for _, through := range []uint64{1, 3, 2} {
				s.pass(hour)
				s.mark(nyc, through)
			}
			requireAges(s, nyc, 3*hour, hour, hour, 0)
		}},
		{name: "many marks of one lane are told apart", queues: routed("nyc"), run: func(s *store) {
			var want []time.Duration
			for i := range 50 {
				s.fill(fmt.Sprint(i))
				s.mark(nyc, uint64(i+1))
				s.pass(time.Minute)
				want = append(want, time.Duration(50-i)*time.Minute)
			}
			requireAges(s, nyc, want...)
		}},
		{name: "another route's mark makes nothing younger", run: func(s *store) {
			s.fill(idsFrom(1, 4)...)
			s.mark(nyc, 2)
			s.pass(hour)
			s.mark(sfo, 4)
			s.pass(hour)
			requireAges(s, nyc, 2*hour, 2*hour)
			requireAges(s, sfo, hour, hour)
		}},
		{name: "ages are in spool time", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 2)
			s.pass(hour)
			s.skew.Store(int64(1000 * hour)) // the wall clock steps, and nothing depends on it
			s.fill("b")
			requireAges(s, nyc, hour, 0)
		}},
		{name: "a message ages over a restart, and while the store is closed", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 2)
			s.pass(hour)
			s.fill("b", "c")
			s.close()
			time.Sleep(hour)
			s.open()
			requireAges(s, nyc, 2*hour, hour, 0)
			s.mark(nyc, 3)
			s.pass(hour)
			requireAges(s, nyc, 3*hour, 2*hour, hour)
		}},
		{name: "a queue that lost its route ages what is in doubt", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 1)
			s.pass(hour)
			s.restartWith(local())
			s.pass(hour)
			requireAges(s, nyc, 2*hour)
		}},
	}
}
