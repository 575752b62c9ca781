package spooltest

import (
	"context"
	"fmt"
	"math"

	"drawbridge/message"
	"drawbridge/spool"
)

func outgoing() []testCase {
	return []testCase{
		{name: "a route holds what its queue holds", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 5)...)
			s.fill(idsFrom(6, 8)...)
			s.requireHeld(nyc, 1, 2, 3, 4, 5, 6, 7, 8)
			requireEqual(s.t, "after 3", numbersOf(s.held(nyc, 3, 3)), []uint64{4, 5, 6})
			requireEqual(s.t, "after the last", numbersOf(s.held(nyc, 8, 3)), nil)
			requireEqual(s.t, "after the highest number", numbersOf(s.held(nyc, math.MaxUint64, 3)), nil)
		}},
		{name: "another route holds nothing of it", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.requireHeld(sfo)
			requireEqual(s.t, "lanes", s.Lanes(sfo), nil)
		}},
		{name: "lanes are those with messages, highest first", queues: routed("nyc"), run: func(s *store) {
			requireEqual(s.t, "lanes", s.Lanes(nyc), nil)
			for _, priority := range []uint8{4, 0, 9} {
				s.put(spool.Put{Queue: "orders", Priority: priority})
			}
			requireEqual(s.t, "lanes", s.Lanes(nyc), []uint8{9, 4, 0})
		}},
		{name: "a lane has one stream and each lane its own", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.put(spool.Put{Queue: "orders", ID: "urgent", Priority: 9})
			s.fill("b")
			held := s.held(nyc, 0, 9)
			urgent, err := s.Held(context.Background(), nyc, 9, 0, 9)
			if err != nil || len(urgent) != 1 || urgent[0].Number != 2 || len(held) != 2 {
				s.t.Fatalf("held %+v and %+v, %v", held, urgent, err)
			}
			if held[0].Stream != held[1].Stream || held[0].Stream == urgent[0].Stream || held[0].Stream == (message.StreamID{}) {
				s.t.Errorf("streams: %+v, %+v", held, urgent)
			}
		}},
		{name: "fetched records are those of the numbers", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 8)...)
			held := s.held(nyc, 0, 9)
			records := s.fetch(nyc, 2, 3, 7, 99)
			if len(records) != 3 {
				s.t.Fatalf("fetched %d", len(records))
			}
			for i, want := range []string{"id-2", "id-3", "id-7"} {
				m, err := message.ParseRecord(records[i].Bytes)
				h := held[records[i].Number-1]
				if err != nil || m.ID != want || string(m.Body) != want || records[i].Place != h.Place || len(records[i].Bytes) != h.Bytes {
					s.t.Errorf("record %d: %+v, %v; held was %+v", i, m, err, h)
				}
			}
		}},
		{name: "the caller may write to what it fetched", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			clear(s.fetch(nyc, 1)[0].Bytes)
			if m, err := message.ParseRecord(s.fetch(nyc, 1)[0].Bytes); err != nil || m.ID != "a" {
				s.t.Errorf("fetched again: %+v, %v", m, err)
			}
		}},
		{name: "the lowest number held is not above what is held", run: func(s *store) {
			requireLowest := func(lowest, highest uint64) {
				s.t.Helper()
				if n := s.LowestHeld("orders", lane); n < lowest || n > highest {
					s.t.Errorf("the lowest number held is %d, want %d to %d", n, lowest, highest)
				}
			}
			for i := range 4 {
				s.fill(fmt.Sprint(i))
			}
			s.mark(nyc, 1)
			s.mark(sfo, 3)
			requireLowest(0, 1)
			s.settle(sfo, message.Range{First: 2, Last: 2})
			requireLowest(0, 1)
			s.bury(nyc, 1)
			requireLowest(0, 3)
			s.settle(sfo, message.Range{First: 3, Last: 3})
			s.requireAcked(s.requireLeased(9, "3")...)
			requireLowest(5, math.MaxUint64)
			s.fill("later")
			requireLowest(5, 5)
		}},
		{name: "each lane has its lowest number", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.put(spool.Put{Queue: "orders", ID: "urgent", Priority: 9})
			if a, b, none := s.LowestHeld("orders", lane), s.LowestHeld("orders", 9), s.LowestHeld("orders", 0); a > 1 || b > 2 || none <= 2 {
				s.t.Errorf("lowest %d, of priority 9 %d, of priority 0 %d", a, b, none)
			}
			if n := s.LowestHeld("none", lane); n != 0 {
				s.t.Errorf("lowest of a queue that is not there: %d", n)
			}
		}},
		{name: "a route out of a queue that is not there is told so", queues: routed("nyc"), run: func(s *store) {
			ctx, none := context.Background(), spool.Route{Queue: "none", Name: "nyc"}
			_, held := s.Held(ctx, none, lane, 0, 9)
			_, fetched := s.Fetch(ctx, none, lane, []uint64{1})
			for what, err := range map[string]error{
				"held": held, "fetch": fetched, "mark": s.Mark(ctx, none, lane, 1), "settle": s.SettleRoute(ctx, none, lane, nil),
			} {
				requireIs(s.t, what, err, spool.ErrNoQueue)
			}
			if n := s.MarkOf(none, lane); n != 0 || len(s.Lanes(none)) != 0 {
				s.t.Errorf("mark %d, lanes %v", n, s.Lanes(none))
			}
		}},
		{name: "an accepted message may leave again", queues: routed("sfo"), run: receives(func(r *receiver) {
			r.requireOne(r.arrival(7, 0, "a", "x"), accepted)
			r.requireHeld(sfo, 1) // under a number of this queue
			if m, err := message.ParseRecord(r.fetch(sfo, 1)[0].Bytes); err != nil || m.Origin != "nyc-1" || m.ID != "a" || m.Deliveries != 0 {
				r.t.Errorf("fetched: %+v, %v", m, err)
			}
		})},
		{name: "streams belong to epochs", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.restart()
			s.fill("c")
			held := s.held(nyc, 0, 9)
			requireEqual(s.t, "held", numbersOf(held), []uint64{1, 2, 3})
			if held[0].Stream != held[1].Stream || held[1].Stream == held[2].Stream {
				s.t.Errorf("streams: %+v", held)
			}
			// An opening that has nothing of an epoch left does without its stream; the others stay what they were.
			s.mark(nyc, 2)
			s.settle(nyc, message.Range{First: 1, Last: 2})
			s.restart()
			if again := s.held(nyc, 0, 9); len(again) != 1 || again[0] != held[2] {
				s.t.Errorf("held %+v, want %+v", again, held[2])
			}
		}},
	}
}
