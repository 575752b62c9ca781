package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// Options are the settings of a store.
type Options struct {
	// Agent is the name of this agent: the origin of what is put here. Needed.
	Agent string
	// Queues are the configured queues.
	Queues map[string]spool.QueueOptions
	// Now is the wall clock, time.Now if nil; it is called from many goroutines. Only StoredAt depends on it.
	Now func() time.Time
}

// Store is a spool.Store in memory.
type Store struct {
	options  Options
	identity spool.Identity
	hasher   *dedupe.Hasher
	began    time.Time
	never    chan struct{}

	mu        sync.Mutex
	closed    bool
	names     []string // of the queues, sorted
	queues    map[string]*queue
	ledger    *ledger
	frontiers map[frontierKey]uint64
	numbers   closed
	sessions  map[string]message.SessionID
	notes     map[string][]byte
	due       due
	timer     *time.Timer // for the first lease to run out; nil before the first lease
	handed    uint64      // deliveries so far; the last one's number
	watchers  map[string]map[chan struct{}]struct{}
}

var _ spool.Store = (*Store)(nil)

// Open returns a store that holds nothing.
func Open(o Options) (*Store, error) {
	if err := message.CheckAgent(o.Agent); err != nil {
		return nil, fmt.Errorf("open spool in memory: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	var secret [32]byte
	var tag [8]byte
	_, _ = rand.Read(secret[:]) // ends the process rather than fail
	_, _ = rand.Read(tag[:])
	s := &Store{
		identity: spool.Identity{
			Spool: message.NewSpoolID(),
			Epoch: message.Epoch{Counter: 1, Tag: binary.BigEndian.Uint64(tag[:])},
		},
		hasher:    dedupe.NewHasher(secret),
		began:     time.Now(),
		never:     make(chan struct{}),
		queues:    make(map[string]*queue, len(o.Queues)),
		ledger:    newLedger(),
		frontiers: make(map[frontierKey]uint64),
		numbers:   make(closed),
		sessions:  make(map[string]message.SessionID),
		notes:     make(map[string][]byte),
		watchers:  make(map[string]map[chan struct{}]struct{}),
	}
	var err error
	if o.Queues, err = spool.CompleteQueues(o.Queues); err != nil {
		return nil, fmt.Errorf("open spool in memory: %w", err)
	}
	for name, q := range o.Queues {
		s.queues[name] = newQueue(name, q)
		s.ledger.least = max(s.ledger.least, q.Remember.Milliseconds())
	}
	s.options = o
	s.names = slices.Sorted(maps.Keys(s.queues))
	s.widen()
	return s, nil
}

// opening is the spool time at which a store is opened, as in every engine.
const opening = 1

// now is spool time: milliseconds of the monotonic clock since the store was opened.
func (s *Store) now() int64 { return opening + time.Since(s.began).Milliseconds() }

func milliseconds(d time.Duration) int64 { return max(1, d.Milliseconds()) }

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// change runs fn under the mutex, at a spool time at which no lease that has run out is left. A call whose context has
// ended changes nothing, but its caller may not count on that.
func (s *Store) change(ctx context.Context, fn func(now int64)) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", spool.ErrUnknown, context.Cause(ctx))
	}
	return s.look(fn)
}

func (s *Store) look(fn func(now int64)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return spool.ErrClosed
	}
	now := s.now()
	s.expire(now)
	fn(now)
	return nil
}

// known returns spool.ErrNoQueue for a queue that is not configured. Which queues there are never changes.
func (s *Store) known(queue string) error {
	if s.queues[queue] == nil {
		return fmt.Errorf("queue %q: %w", queue, spool.ErrNoQueue)
	}
	return nil
}

// Capabilities implements spool.Store.
func (s *Store) Capabilities() spool.Capabilities { return spool.Capabilities{} }

// Identity implements spool.Store.
func (s *Store) Identity() spool.Identity { return s.identity }

// Stats implements spool.Store.
func (s *Store) Stats() []spool.QueueStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	stats := make([]spool.QueueStats, 0, len(s.names))
	for _, name := range s.names {
		q := s.queues[name]
		said := q.stats
		if spool.IsDead(name) && said.Messages == 0 {
			continue
		}
		if at := q.oldest(); at != 0 {
			said.OldestAge = duration(now - at)
		}
		stats = append(stats, said)
	}
	return stats
}

// Failed implements spool.Store. There is no commit here that could fail.
func (s *Store) Failed() <-chan struct{} { return s.never }

// Err implements spool.Store.
func (s *Store) Err() error { return nil }

// Close implements spool.Store. What the store held is gone.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop() // if it has just fired, it finds the store closed
	}
	return nil
}
