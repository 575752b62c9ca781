package spooltest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"drawbridge/spool"
)

func leases() []testCase {
	return []testCase{
		{name: "a leased message is not handed out again", run: func(s *store) {
			s.fill("a")
			if d := s.requireLeased(9, "a")[0]; d.Deliveries != 1 || d.Sequence != 1 || d.Receipt == "" {
				s.t.Errorf("leased: %+v", d)
			}
			s.requireLeased(9)
		}},
		{name: "an empty queue gives nothing", run: func(s *store) {
			s.requireLeased(9)
		}},
		{name: "no max means one", run: func(s *store) {
			s.fill("a", "b")
			s.requireLeased(0, "a")
		}},
		{name: "a lease stops at the message that reaches its bytes", run: func(s *store) {
			big := orderOf("", string(make([]byte, 1000)))
			for range 4 {
				s.put(big, big)
			}
			for _, c := range []struct{ maxBytes, count int }{{1, 1}, {1500, 2}, {3000, 3}} {
				if d := s.request(spool.LeaseRequest{Max: 100, MaxBytes: c.maxBytes}); len(d) != c.count {
					s.t.Errorf("up to %d bytes: %d messages, want %d", c.maxBytes, len(d), c.count)
				}
			}
		}},
		{name: "the queue says how long a lease runs", queues: map[string]spool.QueueOptions{"orders": {VisibilityTimeout: time.Hour}}, run: func(s *store) {
			s.fill("a")
			if d := s.lease(1)[0]; d.Deadline != time.Hour {
				s.t.Errorf("runs %s", d.Deadline)
			}
			s.pass(time.Hour - time.Millisecond)
			s.requireLeased(1)
			s.pass(time.Millisecond)
			s.requireLeased(1, "a")
		}},
		{name: "a lease runs thirty seconds unless somebody says otherwise", run: func(s *store) {
			s.fill("a")
			if d := s.lease(1)[0]; d.Deadline != spool.DefaultVisibilityTimeout {
				s.t.Errorf("runs %s", d.Deadline)
			}
		}},
		{name: "the request says how long a lease runs", run: func(s *store) {
			s.fill("a", "b")
			s.request(spool.LeaseRequest{Visibility: time.Second})
			s.request(spool.LeaseRequest{Visibility: 2 * time.Minute})
			s.pass(time.Minute)
			s.requireLeased(9, "a")
			s.pass(time.Minute)
			s.requireLeased(9, "a", "b")
		}},
		{name: "leases run out in the order of their deadlines", run: func(s *store) {
			s.fill("a", "b", "c")
			for _, seconds := range []int{30, 10, 20} {
				s.request(spool.LeaseRequest{Visibility: time.Duration(seconds) * time.Second})
			}
			for _, id := range []string{"b", "c", "a"} {
				s.pass(10 * time.Second)
				s.requireAcked(s.requireLeased(9, id)...)
			}
		}},
		{name: "a redelivered message counts its deliveries", run: func(s *store) {
			s.fill("a")
			for want := uint32(1); want <= 4; want++ {
				if d := s.requireLeased(1, "a")[0]; d.Deliveries != want {
					s.t.Errorf("deliveries %d, want %d", d.Deliveries, want)
				}
				s.pass(spool.DefaultVisibilityTimeout)
			}
		}},
		{name: "a peek shows how often a message was handed out", run: func(s *store) {
			s.fill("a", "b")
			s.lease(1)
			s.pass(spool.DefaultVisibilityTimeout)
			s.lease(1)
			if p := s.peek("orders", 0, 9); p[0].Deliveries != 2 || p[1].Deliveries != 0 {
				s.t.Errorf("peeked: %+v", p)
			}
		}},
		{name: "producers and consumers at the same time lose and double nothing", run: func(s *store) {
			const producers, each, consumers = 8, 25, 4
			var wg sync.WaitGroup
			for p := range producers {
				wg.Go(func() {
					for i := range each {
						s.fill(fmt.Sprint(p, "-", i))
					}
				})
			}
			got := make(chan string, producers*each)
			for range consumers {
				wg.Go(func() {
					ready, stop := s.Watch("orders")
					defer stop()
					for {
						d := s.lease(3)
						for _, one := range d {
							s.requireAcked(one)
							got <- one.ID
						}
						if len(d) > 0 {
							continue
						}
						select {
						case <-ready:
						case <-time.After(time.Second): // virtual: all that is left to wait for is nothing
							return
						}
					}
				})
			}
			wg.Wait()
			close(got)
			seen := make(map[string]bool)
			for id := range got {
				if seen[id] {
					s.t.Errorf("%s was handed out twice", id)
				}
				seen[id] = true
			}
			if len(seen) != producers*each {
				s.t.Errorf("%d messages, want %d", len(seen), producers*each)
			}
			s.requireMessages(0)
		}},
		{name: "a queue that is not configured gives no leases", run: func(s *store) {
			_, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "none"})
			requireIs(s.t, "lease", err, spool.ErrNoQueue)
		}},
		{name: "a routed queue gives no leases", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			_, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "orders"})
			requireIs(s.t, "lease", err, spool.ErrRouted)
			s.requirePeeked(0, 9, "1 a")
		}},
	}
}
