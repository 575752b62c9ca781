package spooltest

import (
	"context"

	"drawbridge/message"
	"drawbridge/spool"
)

func closing() []testCase {
	return []testCase{
		{name: "a closed store refuses what comes later", run: func(s *store) {
			s.fill("a")
			receipt := s.lease(1)[0].Receipt
			s.close()
			ctx := context.Background()
			_, put := s.Put(ctx, []spool.Put{orderOf("b", "b")})
			_, leased := s.Lease(ctx, spool.LeaseRequest{Queue: "orders"})
			_, acked := s.Ack(ctx, []spool.Receipt{receipt})
			_, peeked := s.Peek(ctx, "orders", 0, 1)
			_, held := s.Held(ctx, nyc, lane, 0, 1)
			_, fetched := s.Fetch(ctx, nyc, lane, []uint64{1})
			_, begun := s.BeginSession(ctx, "nyc", message.NewSessionID())
			_, accepted := s.Accept(ctx, spool.Arrivals{Peer: "nyc", Queue: "orders"})
			_, noted := s.Meta("k")
			_, listed := s.ListMeta("k")
			_, seen := s.Seen(ctx, "orders", "a", 0)
			for what, err := range map[string]error{
				"put": put, "lease": leased, "ack": acked, "peek": peeked, "held": held, "fetch": fetched, "session": begun, "accept": accepted,
				"meta": noted, "list meta": listed, "seen": seen, "bury": s.BuryRoute(ctx, nyc, lane, burialsOf(1)),
				"floor": s.Floor(ctx, message.NewStreamID(), "orders", 1), "accept time": s.AcceptTime(ctx),
				"set meta": s.SetMeta(ctx, "k", nil), "mark": s.Mark(ctx, nyc, lane, 1),
				"settle": s.SettleRoute(ctx, nyc, lane, nil), "remember": s.Remember(ctx, "nyc", "orders", day),
			} {
				requireIs(s.t, what, err, spool.ErrClosed)
			}
		}},
		{name: "closing twice is no error", run: func(s *store) {
			s.close()
			if err := s.Close(); err != nil {
				s.t.Errorf("close: %v", err)
			}
		}},
		{name: "a closed store has not failed", run: func(s *store) {
			s.close()
			select {
			case <-s.Failed():
				s.t.Error("failed")
			default:
			}
			if err := s.Err(); err != nil {
				s.t.Errorf("failed: %v", err)
			}
		}},
		{name: "a closed store still says what it held", run: func(s *store) {
			s.fill("a")
			id := s.Identity()
			s.close()
			s.requireMessages(1)
			if s.Identity() != id {
				s.t.Errorf("identity %+v, was %+v", s.Identity(), id)
			}
		}},
		{name: "a store closes while leases run", run: func(s *store) {
			s.fill("a", "b")
			s.lease(2)
			s.close()
			s.pass(spool.DefaultVisibilityTimeout)
		}},
	}
}
