package spooltest

import (
	"context"
	"errors"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// requeue requeues dead letters of orders and requires the answers.
func (s *store) requeue(want []error, sequences ...uint64) {
	s.t.Helper()
	got, err := s.Requeue(context.Background(), "orders", sequences)
	s.requireErrors(got, err, want, len(sequences))
}

func (s *store) purge(queue string, want []error, sequences ...uint64) {
	s.t.Helper()
	got, err := s.Purge(context.Background(), queue, sequences)
	s.requireErrors(got, err, want, len(sequences))
}

func (s *store) requireErrors(got []error, err error, want []error, n int) {
	s.t.Helper()
	if err != nil || len(got) != n {
		s.t.Fatalf("%d answers, %v", len(got), err)
	}
	for i, err := range got {
		if i < len(want) && want[i] != nil && !errors.Is(err, want[i]) || (i >= len(want) || want[i] == nil) && err != nil {
			s.t.Errorf("answer %d: %v, want %v", i, err, want)
		}
	}
}

// killAll buries all that is ready.
func (s *store) killAll() {
	s.t.Helper()
	for _, r := range s.do(spool.Bury, 0, "why", s.lease(100)...) {
		if r.Err != nil {
			s.t.Fatal(r.Err)
		}
	}
}

// again puts an id with the content that fill gives it, and returns what it is told.
func (s *store) again(id string) spool.PutResult {
	s.t.Helper()
	results, err := s.Put(context.Background(), []spool.Put{{Queue: "orders", ID: id, Body: []byte(id)}})
	if err != nil {
		s.t.Fatal(err)
	}
	return results[0]
}

// requeues are about dead letters that live again or go for good.
func requeues() []testCase {
	dead := message.DeadQueue("orders")
	return []testCase{
		{name: "a requeued message is at the tail under the next generation, as it was but for its death", run: func(s *store) {
			s.fill("a")
			s.killAll()
			s.fill("b")
			s.requeue(nil, 1)
			d := s.requireLeased(9, "b", "a")[1]
			if d.Generation != 1 || d.Death != nil || d.Deliveries != 1 || d.Sequence != 3 || string(d.Body) != "a" {
				s.t.Errorf("%+v", d)
			}
			if q := s.stats("orders"); q.Requeued != 1 || q.Buried != 1 {
				s.t.Errorf("stats: %+v", q)
			}
			s.requireDead()
		}},
		{name: "each requeue is another generation", run: func(s *store) {
			s.fill("a")
			for n := range uint64(3) {
				s.killAll()
				s.requeue(nil, n+1)
			}
			if d := s.requireLeased(1, "a")[0]; d.Generation != 3 {
				s.t.Errorf("generation %d", d.Generation)
			}
		}},
		{name: "the id of a requeued message is known to puts, as long as it lives", run: func(s *store) {
			s.fill("a")
			s.killAll()
			s.requeue(nil, 1)
			for range 3 {
				if r := s.again("a"); r.Status != spool.Duplicate || r.Sequence != 2 {
					s.t.Errorf("%+v", r)
				}
				s.pass(30 * time.Hour) // past the window
				s.passBy()
			}
		}},
		{name: "the id of a message that died again is known as dead", run: func(s *store) {
			s.fill("a")
			s.killAll()
			s.requeue(nil, 1)
			s.killAll()
			if r := s.again("a"); r.Status != spool.DuplicateDead || r.Sequence != 2 {
				s.t.Errorf("%+v", r)
			}
		}},
		{name: "a requeued message leaves by its route again, in its new place", queues: routed("nyc"), run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 2)
			s.bury(nyc, 1)
			s.requeue(nil, 1)
			s.requireHeld(nyc, 2, 3)
		}},
		{name: "what is not there or leased is not requeued, and the others are", run: func(s *store) {
			s.fill(idsFrom(1, 4)...)
			s.killAll()
			if got, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: dead}); err != nil || len(got) != 1 {
				s.t.Fatalf("%d leased, %v", len(got), err)
			}
			s.requeue([]error{spool.ErrLeased, nil, spool.ErrNoMessage, nil, spool.ErrNoMessage}, 1, 2, 9, 3, 2)
			s.requireLeased(9, "id-2", "id-3")
		}},
		{name: "requeueing outlives a restart", restarts: true, run: func(s *store) {
			s.fill("a")
			s.killAll()
			s.restart()
			s.requeue(nil, 1)
			s.restart()
			if r := s.again("a"); r.Status != spool.Duplicate {
				s.t.Errorf("%+v", r)
			}
			s.requireLeased(9, "a")
		}},
		{name: "only a queue has dead letters to requeue", run: func(s *store) {
			for _, queue := range []string{dead, "nowhere"} {
				if _, err := s.Requeue(context.Background(), queue, []uint64{1}); !errors.Is(err, spool.ErrNoQueue) {
					s.t.Errorf("%s: %v", queue, err)
				}
			}
		}},
		{name: "purged dead letters are gone, and their ids are known on", run: func(s *store) {
			s.fill("a", "b")
			s.killAll()
			s.purge(dead, []error{nil, spool.ErrNoMessage, spool.ErrNoMessage}, 1, 1, 7)
			s.requireDead("2 b")
			if r := s.again("a"); r.Status != spool.Duplicate {
				s.t.Errorf("%+v", r)
			}
			s.requireMessages(0)
		}},
		{name: "messages of a queue are purged but for those that a consumer has", run: func(s *store) {
			s.fill("a", "b", "c")
			d := s.lease(1)
			s.purge("orders", []error{spool.ErrLeased}, 1, 2)
			s.requireLeased(9, "c")
			s.requireAcked(d...)
			if q := s.stats("orders"); q.Purged != 1 || q.Messages != 1 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "what a route has shipped is not purged, though its queue has no route now", run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 1)
			s.purge("orders", []error{spool.ErrRouted}, 1, 2)
			s.requireMessages(1)
			s.requireHeld(nyc, 1)
		}},
		{name: "a queue that leaves by a route is not purged", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			if _, err := s.Purge(context.Background(), "orders", []uint64{1}); !errors.Is(err, spool.ErrRouted) {
				s.t.Errorf("purge: %v", err)
			}
			if _, err := s.Purge(context.Background(), "nowhere", []uint64{1}); !errors.Is(err, spool.ErrNoQueue) {
				s.t.Errorf("purge: %v", err)
			}
			s.requireMessages(1)
		}},
	}
}

// passBy puts a message of its own into the queue and takes it out again, so that time passes for the ledger too.
func (s *store) passBy() {
	s.t.Helper()
	results, err := s.Put(context.Background(), []spool.Put{{Queue: "orders", Priority: 9}})
	if err != nil || results[0].Status != spool.Stored {
		s.t.Fatalf("%+v, %v", results, err)
	}
	s.requireAcked(s.lease(1)...)
}
