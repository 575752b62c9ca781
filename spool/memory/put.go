package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// candidate is a message on its way in.
type candidate struct {
	entry  *entry
	minted bool // its id is known to nobody else
	name   message.EndToEnd
	key    dedupe.Key
	sum    uint32
	place  message.Place
	// promised says that its id is not forgotten before its window has passed, come what may.
	promised bool
}

// batch is what one call stores in one queue after another. Sequences are given when all is decided, lane by lane, so that
// those of a lane are consecutive.
type batch struct {
	store   *Store
	now     int64
	entries []batched
	aliases [][2]*known // the second is another name of the first
}

type batched struct {
	queue *queue
	entry *entry
	known *known
}

// take stores c at the tail of q and remembers its id.
func (b *batch) take(q *queue, c *candidate) *known {
	k := b.store.ledger.remember(dedupe.Entry{Key: c.key, Sum: c.sum, Place: c.place}, c.entry, c.promised, b.now)
	b.entries = append(b.entries, batched{q, c.entry, k})
	return k
}

func (b *batch) finish() {
	slices.SortStableFunc(b.entries, func(x, y batched) int { return int(x.entry.lane) - int(y.entry.lane) })
	for _, one := range b.entries {
		one.queue.add(one.entry, b.now)
		one.known.Sequence = one.entry.sequence
		b.store.wake(one.queue.stats.Name)
	}
	for _, both := range b.aliases {
		both[1].Sequence = both[0].Sequence
	}
	if len(b.entries) > 0 {
		b.store.ledger.prune(b.now)
	}
}

// Put implements spool.Local.
func (s *Store) Put(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
	results := make([]spool.PutResult, len(puts))
	candidates := make([]*candidate, len(puts))
	wanted := false
	now := s.options.Now()
	for i := range puts {
		c, id, err := s.prepare(&puts[i], now)
		results[i] = spool.PutResult{ID: id}
		if err != nil {
			results[i].Status, results[i].Err = spool.Rejected, err
			continue
		}
		candidates[i], wanted = c, true
	}
	if !wanted {
		return results, nil
	}
	err := s.change(ctx, func(now int64) {
		b := batch{store: s, now: now}
		copies := make([]*known, len(puts))
		for i, c := range candidates {
			if c != nil {
				copies[i] = b.put(s.queues[puts[i].Queue], c, &results[i])
			}
		}
		b.finish()
		for i, k := range copies {
			if k != nil {
				results[i].Sequence = k.Sequence
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("put %d messages: %w", len(puts), err)
	}
	return results, nil
}

// prepare encodes a message. Its error is a refusal.
func (s *Store) prepare(p *spool.Put, now time.Time) (*candidate, string, error) {
	m, id, err := spool.NewMessage(p, s.options.Queues, s.options.Agent, now)
	if err != nil {
		return nil, id, err
	}
	c := s.candidate(p.Queue, &m)
	c.minted = p.ID == ""
	return c, id, nil
}

func (s *Store) candidate(queue string, m *message.Message) *candidate {
	return &candidate{
		entry: &entry{lane: m.Priority, record: message.AppendRecord(make([]byte, 0, len(m.Body)+256), m)},
		name:  m.EndToEnd(),
		key:   s.hasher.Key(queue, m.EndToEnd()),
		sum:   m.ContentSum(),
	}
}

// put decides one message and returns what the ledger knows of it, its own entry if it is new.
func (b *batch) put(q *queue, c *candidate, result *spool.PutResult) *known {
	if first, status := b.store.sight(q, c.key, c.name); first != nil && !c.minted {
		if first.Sum != c.sum {
			result.Status, result.Err = spool.Conflict, spool.ErrConflict
			return first
		}
		q.stats.Duplicates++
		result.Status = status
		return first
	}
	q.stats.Stored++
	result.Status = spool.Stored
	return b.take(q, c)
}

// Seen implements spool.Local.
func (s *Store) Seen(_ context.Context, queue, id string, sum uint32) (seen spool.PutResult, err error) {
	if err := s.known(queue); err != nil {
		return seen, err
	}
	name := message.EndToEnd{Origin: s.options.Agent, ID: id}
	key := s.hasher.Key(queue, name)
	err = s.look(func(int64) {
		seen.ID = id
		k, status := s.sight(s.queues[queue], key, name)
		if k == nil {
			return
		}
		seen.Status, seen.Sequence = status, k.Sequence
		if k.Sum != sum {
			seen.Status, seen.Err = spool.Conflict, spool.ErrConflict
		}
	})
	if err != nil {
		return seen, fmt.Errorf("look for id %q in queue %q: %w", id, queue, err)
	}
	return seen, nil
}
