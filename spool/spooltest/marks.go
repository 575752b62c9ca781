package spooltest

import (
	"context"

	"drawbridge/message"
	"drawbridge/spool"
)

func marks() []testCase {
	return []testCase{
		{name: "what is under the mark is in doubt", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 5)...)
			s.requireInDoubt(0, 5)
			s.mark(nyc, 3)
			s.requireInDoubt(3, 5)
			s.requireHeld(nyc, 1, 2, 3, 4, 5)
		}},
		{name: "a mark never sinks", queues: routed("nyc"), run: func(s *store) {
			s.mark(nyc, 1000)
			s.mark(nyc, 10)
			if n := s.MarkOf(nyc, lane); n != 1000 {
				s.t.Errorf("mark %d", n)
			}
		}},
		{name: "a mark may be ahead of what is stored", queues: routed("nyc"), run: func(s *store) {
			s.mark(nyc, 2)
			s.fill("a", "b", "c")
			s.requireInDoubt(2, 3)
			s.requirePeeked(0, 9, "1 a in doubt", "2 b in doubt", "3 c")
		}},
		{name: "each lane has its mark", queues: routed("nyc"), run: func(s *store) {
			s.mark(nyc, 7)
			for l := range uint8(10) {
				if n := s.MarkOf(nyc, l); (n != 0) != (l == lane) {
					s.t.Errorf("mark of priority %d is %d", l, n)
				}
			}
		}},
		{name: "a mark of no route or no priority is malformed", queues: routed("nyc"), run: func(s *store) {
			ctx := context.Background()
			requireIs(s.t, "no route", s.Mark(ctx, spool.Route{Queue: "orders"}, lane, 1), spool.ErrMalformed)
			requireIs(s.t, "no priority", s.Mark(ctx, nyc, 10, 1), spool.ErrMalformed)
		}},
		{name: "what a route has shipped is no local consumer's", run: func(s *store) {
			s.fill("a", "b", "c")
			s.mark(nyc, 2)
			s.requireLeased(9, "c")
			s.requireHeld(nyc, 1, 2)
			requireEqual(s.t, "lanes", s.Lanes(nyc), []uint8{lane})
		}},
		{name: "an ack does not end what a route has shipped since", run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(2)
			s.mark(nyc, 1)
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
			s.requireAcked(d[1])
			s.requireInDoubt(1, 1)
			s.pass(spool.DefaultVisibilityTimeout)
			s.requireLeased(9)
			s.requirePeeked(0, 9, "1 a in doubt")
		}},
		{name: "a message belongs to the route under whose mark it fell first", run: func(s *store) {
			s.fill(idsFrom(1, 6)...)
			s.mark(nyc, 2)
			s.mark(sfo, 4)
			s.mark(nyc, 3) // all of it is under another's mark
			s.requireHeld(nyc, 1, 2)
			s.requireHeld(sfo, 3, 4)
			s.mark(nyc, 5)
			s.requireHeld(nyc, 1, 2, 5)
			s.requireHeld(sfo, 3, 4)
			s.requireInDoubt(5, 6)
			s.settle(sfo, message.Range{First: 1, Last: 6})
			s.requireHeld(nyc, 1, 2, 5)
			s.requireHeld(sfo)
			if a, b := s.MarkOf(nyc, lane), s.MarkOf(sfo, lane); a != 5 || b != 4 {
				s.t.Errorf("marks %d and %d", a, b)
			}
		}},
		{name: "marks stay over a restart", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.mark(nyc, 1000)
			s.fill("a")
			s.requireInDoubt(1, 1)
			s.restart()
			s.requireInDoubt(1, 1)
			if n := s.MarkOf(nyc, lane); n != 1000 {
				s.t.Errorf("mark %d", n)
			}
		}},
		{name: "a queue that lost its route keeps what is in doubt", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill(idsFrom(1, 4)...)
			s.mark(nyc, 2)
			s.restartWith(local())
			s.requireLeased(9, "id-3", "id-4")
			s.requireInDoubt(2, 4)
			s.requireHeld(nyc, 1, 2)
			s.settle(nyc, message.Range{First: 1, Last: 4})
			s.requireInDoubt(0, 2)
		}},
		{name: "a queue that got a route ships what is leased", restarts: true, run: func(s *store) {
			s.fill("a", "b", "c")
			d := s.lease(2)
			s.restartWith(routed("nyc"))
			s.requireHeld(nyc, 1, 2, 3)
			s.requireAcked(d[0])
			s.mark(nyc, 3)
			s.requireAnswers(spool.ErrStaleReceipt, d[1].Receipt)
			s.requireHeld(nyc, 2, 3)
		}},
		{name: "a message finishes under the route it was shipped on", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill(idsFrom(1, 6)...)
			s.mark(nyc, 2)
			s.restartWith(routed("sfo"))
			s.requireHeld(sfo, 3, 4, 5, 6)
			s.requireHeld(nyc, 1, 2)
			s.mark(sfo, 4)
			s.settle(sfo, message.Range{First: 1, Last: 3})
			s.restartWith(routed("nyc"))
			s.requireHeld(nyc, 1, 2, 5, 6)
			s.mark(nyc, 6)
			s.requireHeld(sfo, 4)
			s.settle(nyc, message.Range{First: 1, Last: 6})
			s.requireHeld(nyc)
			s.requireInDoubt(1, 1)
		}},
	}
}
