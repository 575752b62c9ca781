package spooltest

import (
	"context"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// sumOf is the content sum of what p would store.
func sumOf(p spool.Put) uint32 {
	m := message.Message{Head: message.Head{ID: p.ID, Key: p.Key}, Body: p.Body}
	m.Seal()
	return m.ContentSum()
}

// requireSeen asks what a put of p would be told.
func (s *store) requireSeen(p spool.Put, status spool.PutStatus, sequence uint64) {
	s.t.Helper()
	r, err := s.Seen(context.Background(), p.Queue, p.ID, sumOf(p))
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Status != status || r.Sequence != sequence || (r.Err != nil) != (status == spool.Conflict) {
		s.t.Errorf("a put of %s would be told %+v, want status %d and sequence %d", p.ID, r, status, sequence)
	}
	if status == spool.Conflict {
		requireIs(s.t, "seen", r.Err, spool.ErrConflict)
	}
}

func seen() []testCase {
	return []testCase{
		{name: "an id that was never put is not seen, and looking changes nothing", run: func(s *store) {
			s.requireSeen(orderOf("a", "a"), 0, 0)
			s.requireSeen(orderOf("a", "a"), 0, 0)
			s.requirePut(orderOf("a", "a"), spool.Stored)
		}},
		{name: "an id that was put is seen with its place", run: func(s *store) {
			s.fill("zero", "a")
			s.requireSeen(orderOf("a", "a"), spool.Duplicate, 2)
			s.requireAcked(s.lease(2)...)
			s.requireSeen(orderOf("a", "a"), spool.Duplicate, 2)
			if q := s.stats("orders"); q.Duplicates != 0 {
				s.t.Errorf("looking counts as a duplicate: %+v", q)
			}
		}},
		{name: "other content is seen as a conflict", run: func(s *store) {
			s.fill("zero", "a")
			s.requireSeen(orderOf("a", "b"), spool.Conflict, 2)
			other := orderOf("a", "a")
			other.Key = "k"
			s.requireSeen(other, spool.Conflict, 2)
		}},
		{name: "headers and priority make no other message to look for", run: func(s *store) {
			put := orderOf("a", "a")
			put.Priority, put.Headers = 9, message.NewHeaders(map[string]string{"traceparent": "one"})
			s.requirePut(put, spool.Stored)
			s.requireSeen(orderOf("a", "a"), spool.Duplicate, 1)
		}},
		{name: "a dead letter is seen in its place", queues: routed("nyc"), run: func(s *store) {
			s.fill("zero")
			s.die("a")
			s.requireSeen(orderOf("a", "a"), spool.DuplicateDead, 1)
			s.requireSeen(orderOf("a", "b"), spool.Conflict, 1)
			s.requireAcked(s.request(spool.LeaseRequest{Queue: dead})...)
			s.requireSeen(orderOf("a", "a"), spool.Duplicate, 2)
			s.requireSeen(orderOf("a", "b"), spool.Conflict, 2)
		}},
		{name: "an id that is forgotten is not seen", run: func(s *store) {
			s.fill("a")
			s.requireAcked(s.lease(1)...)
			s.pass(day + time.Hour)
			s.fill("between")
			s.requireSeen(orderOf("a", "a"), 0, 0)
		}},
		{name: "another queue's or origin's id is not seen", queues: map[string]spool.QueueOptions{"orders": {}, "refunds": {}}, run: receives(func(r *receiver) {
			r.requirePut(spool.Put{Queue: "refunds", ID: "a", Body: []byte("a")}, spool.Stored)
			r.requireOne(r.arrival(1, 0, "a", "a"), accepted)
			r.requireSeen(orderOf("a", "a"), 0, 0)
		})},
		{name: "looking into a queue that is not there is told so", run: func(s *store) {
			_, err := s.Seen(context.Background(), "none", "a", 0)
			requireIs(s.t, "seen", err, spool.ErrNoQueue)
		}},
		{name: "an id is seen over a restart", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.die("a")
			s.fill("b")
			s.restart()
			s.requireSeen(orderOf("a", "a"), spool.DuplicateDead, 1)
			s.requireSeen(orderOf("b", "b"), spool.Duplicate, 2)
			s.requireSeen(orderOf("b", "x"), spool.Conflict, 2)
		}},
	}
}
