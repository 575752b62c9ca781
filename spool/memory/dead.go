package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// BuryRoute implements spool.Outgoing.
func (s *Store) BuryRoute(ctx context.Context, route spool.Route, lane uint8, burials []spool.Burial) error {
	if err := s.known(route.Queue); err != nil {
		return err
	}
	at := time.UnixMilli(s.options.Now().UnixMilli()).UTC()
	var unreadable error
	err := s.change(ctx, func(now int64) {
		q, dead := s.queues[route.Queue], s.queues[message.DeadQueue(route.Queue)]
		if dead == nil || lane >= lanes {
			return // a dead letter does not die a second time
		}
		b := batch{store: s, now: now}
		for _, burial := range burials {
			e := q.lanes[lane].at(burial.Number)
			if e == nil || e.owner == "" || e.owner != route.Name {
				continue
			}
			death := message.Death{Reason: burial.Reason, Text: burial.Text, Queue: route.Queue, Route: route.Name, Deliveries: e.deliveries, At: at}
			if err := b.bury(e, dead, death); err != nil {
				unreadable = errors.Join(unreadable, fmt.Errorf("bury message %d of queue %q: %w: %w", burial.Number, route.Queue, message.ErrCorrupt, err))
			}
		}
		b.finish()
	})
	if err != nil {
		return fmt.Errorf("bury %d messages of queue %q: %w", len(burials), route.Queue, err)
	}
	return unreadable
}

// bury moves e to the tail of dead. Its error is that of a record that cannot be read.
func (b *batch) bury(e *entry, dead *queue, death message.Death) error {
	record, m, err := spool.DeadLetter(e.record, death)
	if err != nil {
		return err
	}
	b.store.end(e)
	e.queue.stats.Buried++
	c := &candidate{
		entry: &entry{lane: e.lane, record: record},
		key:   b.store.hasher.Key(dead.stats.Name, m.EndToEnd()),
		sum:   m.ContentSum(),
	}
	b.alias(b.take(dead, c), c, dead, m.EndToEnd())
	return nil
}

// alias has puts, which know no generation but the first, find a message of a later one.
func (b *batch) alias(k *known, c *candidate, q *queue, name message.EndToEnd) {
	if name.Generation == 0 {
		return
	}
	name.Generation = 0
	key := b.store.hasher.Key(q.stats.Name, name)
	also := b.store.ledger.remember(dedupe.Entry{Key: key, Sum: c.sum}, c.entry, false, b.now)
	b.aliases = append(b.aliases, [2]*known{k, also})
}

// findDead returns what is known of a message that lies among the dead letters of q, nil if it does not.
func (s *Store) findDead(q *queue, name message.EndToEnd) *known {
	dead := s.queues[message.DeadQueue(q.stats.Name)]
	if dead == nil || dead.stats.Messages == 0 {
		return nil // the usual case spares a hash
	}
	k := s.ledger.find(s.hasher.Key(dead.stats.Name, name))
	if k == nil || k.message.settled {
		return nil
	}
	return k
}

// sight returns what is known of a message on its way into q, and as what. A copy among the dead letters is the one to tell of.
func (s *Store) sight(q *queue, key dedupe.Key, name message.EndToEnd) (*known, spool.PutStatus) {
	if k := s.findDead(q, name); k != nil {
		return k, spool.DuplicateDead
	}
	if k := s.ledger.find(key); k != nil {
		return k, spool.Duplicate
	}
	return nil, 0
}
