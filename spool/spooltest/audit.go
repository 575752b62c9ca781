package spooltest

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"drawbridge/message"
	"drawbridge/spool"
)

// inventory is what one queue of a store holds, as its messages tell.
type inventory struct {
	spool.QueueStats
	peeked []spool.Peeked
}

// books are what a case has heard from its store since it was opened, and with what the store began.
type books struct {
	began map[string]spool.QueueStats

	mu        sync.Mutex
	frontiers map[arrivingIn]uint64
}

// arrivingIn names a frontier: a stream and the queue that it enters.
type arrivingIn struct {
	stream message.StreamID
	queue  string
}

func newBooks(st spool.Store) *books {
	b := &books{began: make(map[string]spool.QueueStats), frontiers: make(map[arrivingIn]uint64)}
	for _, q := range st.Stats() {
		b.began[q.Name] = q
	}
	return b
}

// Accept implements spool.Incoming and keeps the books.
func (s *store) Accept(ctx context.Context, a spool.Arrivals) ([]spool.Decision, error) {
	decisions, err := s.Store.Accept(ctx, a)
	s.books.mu.Lock()
	defer s.books.mu.Unlock()
	key := arrivingIn{a.Stream, a.Queue}
	for i, d := range decisions {
		switch d.Verdict {
		case message.Accepted, message.Duplicate, message.Closed:
			s.books.frontiers[key] = max(s.books.frontiers[key], a.Messages[i].Number)
		}
	}
	return decisions, err
}

// audit compares what an open store says of itself with what it holds: counters with messages, messages with the ledger,
// frontiers with verdicts.
func (s *store) audit() {
	s.t.Helper()
	said := make(map[string]spool.QueueStats)
	for _, q := range s.Stats() {
		said[q.Name] = q
	}
	for _, name := range s.auditable(said) {
		found := s.takeInventory(name)
		q := said[name]
		if q.Messages != found.Messages || q.Bytes != found.Bytes || q.Leased != found.Leased || q.InDoubt != found.InDoubt {
			s.t.Errorf("queue %q says it has %d messages of %d bytes, %d leased, %d in doubt; it has %d of %d, %d, %d",
				name, q.Messages, q.Bytes, q.Leased, q.InDoubt, found.Messages, found.Bytes, found.Leased, found.InDoubt)
		}
		s.auditBalance(said, name)
		for _, p := range found.peeked {
			s.auditMessage(name, p)
		}
	}
	for key, want := range s.books.frontiers {
		if got := s.Frontier(key.stream, key.queue); got != want {
			s.t.Errorf("frontier of stream %s in queue %q is %d, the verdicts say %d", key.stream, key.queue, got, want)
		}
	}
}

// auditable lists the queues with their dead letters, whether the store lists those or not.
func (s *store) auditable(said map[string]spool.QueueStats) []string {
	names := make(map[string]struct{})
	for name := range said {
		names[name] = struct{}{}
		if !spool.IsDead(name) {
			names[message.DeadQueue(name)] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (s *store) takeInventory(queue string) (found inventory) {
	s.t.Helper()
	var numbers [message.MaxPriority + 1][]uint64
	for from := uint64(0); ; {
		some := s.peek(queue, from, 1000)
		if len(some) == 0 {
			break
		}
		for _, p := range some {
			numbers[p.Priority] = append(numbers[p.Priority], p.Sequence)
			found.Messages++
			if p.Leased {
				found.Leased++
			}
			if p.InDoubt {
				found.InDoubt++
			}
		}
		found.peeked = append(found.peeked, some...)
		from = some[len(some)-1].Sequence + 1
	}
	for priority, some := range numbers {
		records, err := s.Fetch(context.Background(), spool.Route{Queue: queue}, uint8(priority), some)
		if err != nil || len(records) != len(some) {
			s.t.Errorf("queue %q shows %d messages of priority %d and gives %d, %v", queue, len(some), priority, len(records), err)
		}
		for _, r := range records {
			found.Bytes += uint64(len(r.Bytes))
		}
		lowest := uint64(math.MaxUint64)
		if len(some) > 0 {
			lowest = some[0]
		}
		if n := s.LowestHeld(queue, uint8(priority)); n > lowest {
			s.t.Errorf("queue %q holds no message of priority %d below %d, it says; it shows %d", queue, priority, n, lowest)
		}
	}
	return found
}

// auditBalance compares what came and went since the store was opened with what is here.
func (s *store) auditBalance(said map[string]spool.QueueStats, name string) {
	s.t.Helper()
	q, listed := said[name]
	if !listed {
		return // it does not say how many were acked
	}
	came := s.books.began[name].Messages + q.Stored + q.Accepted + q.Requeued
	went := q.Acked + q.Settled + q.Buried + q.Purged
	for owner, of := range said {
		if message.DeadQueue(owner) == name {
			came += of.Buried
			went += of.Requeued
		}
	}
	if came != went+q.Messages {
		s.t.Errorf("queue %q: %d messages came, %d went and %d are here: %+v", name, came, went, q.Messages, q)
	}
}

// auditMessage asks the ledger for a message that was put here first: it is known as long as it is here.
func (s *store) auditMessage(queue string, p spool.Peeked) {
	s.t.Helper()
	owner, status := queue, spool.Duplicate
	if p.Death != nil {
		owner, status = p.Death.Queue, spool.DuplicateDead
	}
	if (p.Death != nil) != spool.IsDead(queue) || p.Death != nil && message.DeadQueue(owner) != queue {
		s.t.Errorf("message %s in queue %q died of %+v", p.ID, queue, p.Death)
	}
	if p.Origin != agentName {
		return
	}
	seen, err := s.Seen(context.Background(), owner, p.ID, p.ContentSum())
	if err != nil || seen.Status != status || seen.Sequence != p.Sequence {
		s.t.Errorf("message %s is at %d of queue %q; its id is seen as %+v, %v", p.ID, p.Sequence, queue, seen, err)
	}
}
