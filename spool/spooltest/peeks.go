package spooltest

import (
	"context"

	"drawbridge/spool"
)

func peeks() []testCase {
	mixed := func(s *store) {
		for i, priority := range []uint8{4, 0, 9, 4, 9, 4} {
			s.put(spool.Put{Queue: "orders", ID: string(rune('a' + i)), Priority: priority, Body: []byte("body")})
		}
	}
	return []testCase{
		{name: "a peek shows all priorities in the order of sequences", run: func(s *store) {
			mixed(s)
			s.requirePeeked(0, 100, "1 a", "2 b", "3 c", "4 d", "5 e", "6 f")
			for _, p := range s.peek("orders", 0, 100) {
				if string(p.Body) != "body" {
					s.t.Errorf("body of %s: %q", p.ID, p.Body)
				}
			}
		}},
		{name: "a peek tells what is leased and leaves out what is settled", run: func(s *store) {
			mixed(s)
			s.requireAcked(s.requireLeased(1, "c")...)
			s.requireLeased(1, "e")
			s.requirePeeked(0, 100, "1 a", "2 b", "4 d", "5 e leased", "6 f")
			s.pass(spool.DefaultVisibilityTimeout)
			s.requirePeeked(5, 1, "5 e")
		}},
		{name: "a peek begins where it is told and stops at its max", run: func(s *store) {
			mixed(s)
			s.requirePeeked(3, 2, "3 c", "4 d")
			s.requirePeeked(6, 9, "6 f")
			s.requirePeeked(7, 9)
		}},
		{name: "a peek tells what is in doubt", queues: routed("nyc"), run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 1)
			s.requirePeeked(0, 9, "1 a in doubt", "2 b")
		}},
		{name: "a peek stops after some megabytes and goes on from there", run: func(s *store) {
			for range 8 {
				s.put(spool.Put{Queue: "orders", Priority: lane, Body: make([]byte, 1<<20)})
			}
			seen, from := 0, uint64(0)
			for p := s.peek("orders", from, 100); len(p) > 0; p = s.peek("orders", from, 100) {
				if len(p) > 5 {
					s.t.Fatalf("%d MiB at once", len(p))
				}
				seen += len(p)
				from = p[len(p)-1].Sequence + 1
			}
			if seen != 8 {
				s.t.Errorf("seen %d", seen)
			}
		}},
		{name: "a queue that is not there shows nothing", run: func(s *store) {
			_, err := s.Peek(context.Background(), "none", 0, 1)
			requireIs(s.t, "peek", err, spool.ErrNoQueue)
		}},
	}
}
