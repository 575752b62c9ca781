package spooltest

import (
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func restart() []testCase {
	return []testCase{
		{name: "a store that is not durable begins with nothing", forgets: true, run: func(s *store) {
			before := s.Identity()
			s.fill("a")
			s.restart()
			s.requireMessages(0)
			s.requirePut(orderOf("a", "other"), spool.Stored)
			if after := s.Identity(); after.Spool == before.Spool || after.Previous != (message.Epoch{}) {
				s.t.Errorf("it goes by %+v after %+v, so a peer would take it for the same spool", after, before)
			}
		}},
		{name: "the first opening is epoch 1", run: func(s *store) {
			id := s.Identity()
			if id.Epoch.Counter != 1 || id.Previous != (message.Epoch{}) || id.Spool == (message.SpoolID{}) || id.Epoch.Tag == 0 {
				s.t.Errorf("identity: %+v", id)
			}
		}},
		{name: "every opening is an epoch", restarts: true, run: func(s *store) {
			first := s.Identity()
			s.restart()
			second := s.Identity()
			if second.Spool != first.Spool || second.Previous != first.Epoch || second.Epoch.Counter != 2 || second.Epoch.Tag == first.Epoch.Tag {
				s.t.Errorf("second: %+v after %+v", second, first)
			}
		}},
		{name: "messages stay in their places", restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.put(spool.Put{Queue: "orders", ID: "c", Priority: 9})
			s.requireAcked(s.requireLeased(1, "c")...)
			s.restart()
			s.requirePeeked(0, 9, "1 a", "2 b")
			s.requireLeased(9, "a", "b")
		}},
		{name: "a lease runs what was left", restarts: true, run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(1)
			s.pass(10 * time.Second)
			s.restart()
			if q := s.stats("orders"); q.Leased != 1 {
				s.t.Errorf("stats: %+v", q)
			}
			s.requireLeased(9, "b")
			ready, stop := s.Watch("orders")
			defer stop()
			s.pass(20*time.Second - 50*time.Millisecond)
			select {
			case <-ready:
				s.t.Error("ready too early")
			default:
			}
			s.pass(100 * time.Millisecond)
			<-ready
			if again := s.requireLeased(1, "a"); again[0].Deliveries != 2 {
				s.t.Errorf("deliveries %d", again[0].Deliveries)
			}
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
		}},
		{name: "spool time goes on while the store is closed, and never back", restarts: true, run: func(s *store) {
			s.fill("a")
			d := s.lease(1)
			step := func(d time.Duration) {
				s.close()
				s.skew.Add(int64(d))
				s.open()
			}
			step(-1000 * time.Hour)
			if q := s.stats("orders"); q.Leased != 1 || q.OldestAge > time.Minute {
				s.t.Errorf("after a step back: %+v", q)
			}
			step(29 * time.Second)
			if q := s.stats("orders"); q.Leased != 1 || q.OldestAge != 29*time.Second {
				s.t.Errorf("29 s later: %+v", q)
			}
			step(time.Second)
			if q := s.stats("orders"); q.Leased != 0 || q.OldestAge != 30*time.Second {
				s.t.Errorf("30 s later: %+v", q)
			}
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
		}},
		{name: "a queue that is no longer configured is kept and takes nothing", restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.restartWith(map[string]spool.QueueOptions{"refunds": {}})
			s.requireMessages(2)
			requireIs(s.t, "put", s.requirePut(orderOf("c", "c"), spool.Rejected).Err, spool.ErrNoQueue)
			_, err := s.Lease(s.t.Context(), spool.LeaseRequest{Queue: "orders"})
			requireIs(s.t, "lease", err, spool.ErrNoQueue)
			s.requirePeeked(0, 9, "1 a", "2 b")
			s.restartWith(local())
			s.requireLeased(9, "a", "b")
		}},
	}
}
