package spooltest

import (
	"context"
	"errors"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// do settles deliveries one way and returns the results.
func (s *store) do(act spool.Act, after time.Duration, text string, deliveries ...spool.Delivery) []spool.Settled {
	s.t.Helper()
	w := make([]spool.Settlement, len(deliveries))
	for i, d := range deliveries {
		w[i] = spool.Settlement{Receipt: d.Receipt, Act: act, After: after, Text: text}
	}
	results, err := s.Settle(context.Background(), w)
	if err != nil || len(results) != len(w) {
		s.t.Fatalf("settle %d: %d results, %v", len(w), len(results), err)
	}
	return results
}

// mustDo settles one delivery and requires that it works.
func (s *store) mustDo(act spool.Act, after time.Duration, text string, d spool.Delivery) spool.Settled {
	s.t.Helper()
	r := s.do(act, after, text, d)[0]
	if r.Err != nil {
		s.t.Fatalf("settle %s: %v", d.ID, r.Err)
	}
	return r
}

// requireLeft requires what Settle said of how long a message waits or a lease runs.
func (s *store) requireLeft(got, want time.Duration) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("left: %s, want %s", got, want)
	}
}

// gives is a queue that hands a message out so often and waits so between.
func gives(most uint32, r spool.Retry) map[string]spool.QueueOptions {
	return map[string]spool.QueueOptions{"orders": {MaxDeliveries: most, Retry: r}}
}

// nacks are about deliveries that are given back, given up or kept for longer.
func nacks() []testCase {
	none := spool.Retry{Kind: spool.RetryNone}
	return []testCase{
		{name: "what is given back at once comes again in its place", queues: gives(5, none), run: func(s *store) {
			s.fill("a", "b", "c")
			d := s.lease(2)
			if r := s.mustDo(spool.Nack, 0, "", d[0]); r.Left != 0 || r.Died {
				s.t.Errorf("%+v", r)
			}
			again := s.requireLeased(9, "a", "c")
			if again[0].Deliveries != 2 || again[0].Sequence != d[0].Sequence {
				s.t.Errorf("%d deliveries, sequence %d", again[0].Deliveries, again[0].Sequence)
			}
		}},
		{name: "what is given back waits as the queue says, and is not leased meanwhile", queues: gives(5, spool.Retry{First: 2 * time.Second}), run: func(s *store) {
			s.fill("a")
			for _, wait := range []time.Duration{2, 4, 8} {
				r := s.mustDo(spool.Nack, 0, "", s.requireLeased(1, "a")[0])
				s.requireLeft(r.Left, wait*time.Second)
				if q := s.stats("orders"); q.Waiting != 1 || q.Leased != 0 || q.Messages != 1 {
					s.t.Errorf("stats: %+v", q)
				}
				s.pass(wait*time.Second - time.Millisecond)
				s.requireLeased(1)
				s.pass(time.Millisecond)
			}
			s.requireLeased(1, "a")
		}},
		{name: "what is given back may say how long it waits", run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(2)
			s.requireLeft(s.mustDo(spool.Nack, time.Hour, "", d[0]).Left, time.Hour)
			s.requireLeft(s.mustDo(spool.Nack, -1, "", d[1]).Left, 0)
			s.requireLeased(9, "b")
			s.pass(time.Hour)
			s.requireLeased(1, "a")
		}},
		{name: "whoever waits for something ready is woken when a wait is over", run: func(s *store) {
			s.fill("a")
			d := s.lease(1)
			ready, stop := s.Watch("orders")
			defer stop()
			s.mustDo(spool.Nack, time.Minute, "", d[0])
			select {
			case <-ready:
			case <-time.After(2 * time.Minute):
				s.t.Fatal("nobody was woken")
			}
			s.requireLeased(1, "a")
		}},
		{name: "a wait runs on over a restart", restarts: true, run: func(s *store) {
			s.fill("a")
			s.mustDo(spool.Nack, time.Hour, "", s.lease(1)[0])
			s.pass(40 * time.Minute)
			s.restart()
			if q := s.stats("orders"); q.Waiting != 1 || q.Leased != 0 {
				s.t.Errorf("stats: %+v", q)
			}
			s.requireLeased(1)
			s.pass(20 * time.Minute)
			if d := s.requireLeased(1, "a"); d[0].Deliveries != 2 {
				s.t.Errorf("%d deliveries", d[0].Deliveries)
			}
		}},
		{name: "a receipt that was given back is already settled", run: func(s *store) {
			s.fill("a")
			d := s.lease(1)
			s.mustDo(spool.Nack, time.Hour, "", d[0])
			s.requireAnswers(spool.ErrAlreadySettled, d[0].Receipt)
			s.requireMessages(1)
		}},
		{name: "given back at the cap it dies, with the consumer's words", queues: gives(2, none), run: func(s *store) {
			s.fill("a")
			if r := s.mustDo(spool.Nack, 0, "first", s.lease(1)[0]); r.Died {
				s.t.Error("it died at the first delivery of two")
			}
			if r := s.mustDo(spool.Nack, 0, "second", s.lease(1)[0]); !r.Died {
				s.t.Error("it lives after the second delivery of two")
			}
			s.requireMessages(0)
			death := s.requireDead("1 a")[0].Death
			if death.Reason != message.ReasonMaxDeliveries || death.Text != "second" || death.Deliveries != 2 || death.Queue != "orders" || death.Route != "" {
				s.t.Errorf("%+v", death)
			}
			if q := s.stats("orders"); q.Buried != 1 || q.Waiting != 0 || q.Leased != 0 || q.Bytes != 0 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "a lease that ran out at the cap ends in a dead letter in place of another delivery", queues: gives(2, none), run: func(s *store) {
			s.fill("a", "b")
			for range 2 {
				s.requireLeased(1, "a")
				s.pass(spool.DefaultVisibilityTimeout)
			}
			s.requireMessages(2)
			s.requireLeased(1, "b")
			if death := s.requireDead("1 a")[0].Death; death.Reason != message.ReasonMaxDeliveries || death.Deliveries != 2 {
				s.t.Errorf("%+v", death)
			}
		}},
		{name: "a receipt whose lease ran out is stale, before its message has died of it and after", queues: gives(1, none), run: func(s *store) {
			s.fill("a")
			d := s.lease(1)
			s.pass(spool.DefaultVisibilityTimeout)
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
			s.requireLeased(1)
			s.requireDead("1 a")
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
		}},
		{name: "five deliveries unless somebody says otherwise, and the count outlives a restart", restarts: true, run: func(s *store) {
			s.fill("a")
			for range spool.DefaultMaxDeliveries {
				s.requireLeased(1, "a")
				s.restart()
				s.pass(spool.DefaultVisibilityTimeout)
			}
			s.requireLeased(1)
			s.requireDead("1 a")
		}},
		{name: "what is buried is a dead letter at once", run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(2)
			if r := s.mustDo(spool.Bury, 0, "poison", d[0]); !r.Died {
				s.t.Errorf("%+v", r)
			}
			if death := s.requireDead("1 a")[0].Death; death.Reason != message.ReasonRejected || death.Text != "poison" || death.Deliveries != 1 {
				s.t.Errorf("%+v", death)
			}
			s.requireAnswers(spool.ErrAlreadySettled, d[0].Receipt)
			s.requireAcked(d[1])
		}},
		{name: "a dead letter never dies a second time", queues: gives(1, none), run: func(s *store) {
			s.fill("a")
			s.mustDo(spool.Bury, 0, "", s.lease(1)[0])
			dead := message.DeadQueue("orders")
			for range 9 {
				got, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: dead})
				if err != nil || len(got) != 1 {
					s.t.Fatalf("%d dead letters, %v", len(got), err)
				}
				s.do(spool.Bury, 0, "", got[0])
				s.pass(time.Hour)
			}
			s.requireDead("1 a")
		}},
		{name: "an extended lease runs from now on, and says how long", run: func(s *store) {
			s.fill("a")
			d := s.lease(1)[0]
			s.pass(20 * time.Second)
			s.requireLeft(s.mustDo(spool.Extend, 2*time.Minute, "", d).Left, 2*time.Minute)
			s.pass(2*time.Minute - time.Millisecond)
			s.requireLeased(1)
			s.requireLeft(s.mustDo(spool.Extend, 0, "", d).Left, spool.DefaultVisibilityTimeout)
			s.pass(spool.DefaultVisibilityTimeout)
			s.requireLeased(1, "a")
			if r := s.do(spool.Extend, time.Minute, "", d)[0]; !errors.Is(r.Err, spool.ErrStaleReceipt) {
				s.t.Errorf("extend another's delivery: %v", r.Err)
			}
		}},
		{name: "an extended lease outlives a restart", restarts: true, run: func(s *store) {
			s.fill("a")
			d := s.lease(1)[0]
			s.mustDo(spool.Extend, time.Hour, "", d)
			s.restart()
			s.pass(59 * time.Minute)
			s.requireLeased(1)
			s.requireAcked(d)
		}},
		{name: "settlements of one call are done in order and answered one by one", run: func(s *store) {
			s.fill("a", "b", "c")
			d := s.lease(3)
			got, err := s.Settle(context.Background(), []spool.Settlement{
				{Receipt: d[0].Receipt, Act: spool.Extend, After: time.Hour},
				{Receipt: "c", Act: spool.Nack},
				{Receipt: d[1].Receipt, Act: spool.Nack, After: time.Hour},
				{Receipt: d[0].Receipt, Act: spool.Ack},
				{Receipt: d[0].Receipt, Act: spool.Nack},
				{Receipt: d[2].Receipt, Act: spool.Bury},
			})
			if err != nil {
				s.t.Fatal(err)
			}
			for i, want := range []error{nil, spool.ErrBadReceipt, nil, nil, spool.ErrAlreadySettled, nil} {
				if !errors.Is(got[i].Err, want) || want == nil && got[i].Err != nil {
					s.t.Errorf("settlement %d: %v, want %v", i, got[i].Err, want)
				}
			}
			s.requireMessages(1)
			s.requireDead("1 c")
		}},
		{name: "one message's wait hinders no other", queues: gives(5, spool.Retry{First: time.Hour, Max: time.Hour}), run: func(s *store) {
			s.fill(idsFrom(1, 3)...)
			s.mustDo(spool.Nack, 0, "", s.lease(1)[0])
			s.requireAcked(s.requireLeased(9, "id-2", "id-3")...)
			s.pass(time.Hour)
			s.requireLeased(9, "id-1")
		}},
		{name: "an id whose message died of its consumers is known as dead", run: func(s *store) {
			s.fill("a")
			s.mustDo(spool.Bury, 0, "", s.lease(1)[0])
			results, err := s.Put(context.Background(), []spool.Put{{Queue: "orders", ID: "a", Body: []byte("a")}})
			if err != nil || results[0].Status == spool.Stored {
				s.t.Errorf("%+v, %v", results, err)
			}
		}},
	}
}
