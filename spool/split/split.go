// Package split makes one store of two engines: the named volatile queues lie in one, all else in the other. What is not about
// one queue (identity, epoch, what links do, notes, the ledger that operators see) is the durable engine's: a volatile queue
// never has a route, because no transaction spans two engines.
//
// A call over queues of both engines is not one commit. The durable one goes first; if the volatile one fails after it, the
// outcome of the whole call is unknown, and repeating it with the same ids is safe. A producer whose batch may be broken in
// two by a crash had that to fear of a restart anyway: what a volatile queue held is gone after it.
package split

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"drawbridge/message"
	"drawbridge/spool"
)

// Store is a spool.Store over two others, which are its own.
type Store struct {
	spool.Store // the durable engine, for all that is not said here
	volatile    spool.Store
	names       map[string]bool // of the volatile queues

	closeOnce sync.Once
	closing   chan struct{}
	watched   chan struct{} // nobody waits for the engines any more
	failed    chan struct{}
}

var _ spool.Store = (*Store)(nil)

// New returns a store whose queues of the given names, and their dead letters, lie in volatile. It closes both engines when it
// is closed.
func New(durable, volatile spool.Store, names []string) *Store {
	s := &Store{
		Store:    durable,
		volatile: volatile,
		names:    make(map[string]bool, 2*len(names)),
		closing:  make(chan struct{}),
		watched:  make(chan struct{}),
		failed:   make(chan struct{}),
	}
	for _, name := range names {
		s.names[name], s.names[message.DeadQueue(name)] = true, true
	}
	go s.awaitFailure()
	return s
}

func (s *Store) awaitFailure() {
	defer close(s.watched)
	select {
	case <-s.Store.Failed():
	case <-s.volatile.Failed():
	case <-s.closing:
		return
	}
	close(s.failed)
}

// of returns the engine that a queue lies in. The durable one answers for queues that nobody knows.
func (s *Store) of(queue string) spool.Store {
	if s.names[queue] {
		return s.volatile
	}
	return s.Store
}

// Put implements spool.Local.
func (s *Store) Put(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
	isVolatile := func(p spool.Put) bool { return s.names[p.Queue] }
	return inBoth(puts, isVolatile,
		func(puts []spool.Put) ([]spool.PutResult, error) { return s.Store.Put(ctx, puts) },
		func(puts []spool.Put) ([]spool.PutResult, error) { return s.volatile.Put(ctx, puts) })
}

// inBoth asks each engine for its part of the items, the durable one first, and returns the answers in the order of items.
func inBoth[T, R any](items []T, isVolatile func(T) bool, durable, volatile func([]T) ([]R, error)) ([]R, error) {
	var parts [2][]T
	var places [2][]int
	for i, item := range items {
		part := 0
		if isVolatile(item) {
			part = 1
		}
		parts[part], places[part] = append(parts[part], item), append(places[part], i)
	}
	switch {
	case len(parts[1]) == 0:
		return durable(items)
	case len(parts[0]) == 0:
		return volatile(items)
	}
	results := make([]R, len(items))
	for part, ask := range []func([]T) ([]R, error){durable, volatile} {
		answers, err := ask(parts[part])
		if err != nil {
			return nil, afterCommit(err, part == 1)
		}
		for i, place := range places[part] {
			results[place] = answers[i]
		}
	}
	return results, nil
}

// afterCommit is what the second engine's error means when the first has done its part: whatever the second says of itself,
// nobody may conclude that nothing was changed.
func afterCommit(err error, committed bool) error {
	if committed && !errors.Is(err, spool.ErrUnknown) {
		return fmt.Errorf("%w: in volatile queues: %v", spool.ErrUnknown, err)
	}
	return err
}

// Lease implements spool.Local.
func (s *Store) Lease(ctx context.Context, req spool.LeaseRequest) ([]spool.Delivery, error) {
	return s.of(req.Queue).Lease(ctx, req)
}

// Requeue implements spool.Local.
func (s *Store) Requeue(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	return s.of(queue).Requeue(ctx, queue, sequences)
}

// Purge implements spool.Local.
func (s *Store) Purge(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	return s.of(queue).Purge(ctx, queue, sequences)
}

// Peek implements spool.Local.
func (s *Store) Peek(ctx context.Context, queue string, from uint64, max int) ([]spool.Peeked, error) {
	return s.of(queue).Peek(ctx, queue, from, max)
}

// Seen implements spool.Local.
func (s *Store) Seen(ctx context.Context, queue, id string, sum uint32) (spool.PutResult, error) {
	return s.of(queue).Seen(ctx, queue, id, sum)
}

// Watch implements spool.Local.
func (s *Store) Watch(queue string) (ready <-chan struct{}, stop func()) {
	return s.of(queue).Watch(queue)
}

// Stats implements spool.Store. What the durable engine still says of a queue that is volatile now is left out.
func (s *Store) Stats() []spool.QueueStats {
	stats := slices.DeleteFunc(s.Store.Stats(), func(q spool.QueueStats) bool { return s.names[q.Name] })
	stats = append(stats, s.volatile.Stats()...)
	slices.SortFunc(stats, func(a, b spool.QueueStats) int { return strings.Compare(a.Name, b.Name) })
	return stats
}

// Commits counts the transactions of the durable engine since it was opened; 0 if it does not count them.
func (s *Store) Commits() uint64 {
	if counts, ok := s.Store.(interface{ Commits() uint64 }); ok {
		return counts.Commits()
	}
	return 0
}

// Failed implements spool.Store: one engine that has given up is enough.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err implements spool.Store.
func (s *Store) Err() error { return errors.Join(s.Store.Err(), s.volatile.Err()) }

// Close implements spool.Store.
func (s *Store) Close() (err error) {
	s.closeOnce.Do(func() {
		close(s.closing)
		<-s.watched
		err = errors.Join(s.volatile.Close(), s.Store.Close())
	})
	return err
}
