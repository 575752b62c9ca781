package memory

import (
	"context"
	"fmt"

	"drawbridge/message"
	"drawbridge/spool"
)

// Requeue implements spool.Local.
func (s *Store) Requeue(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	if s.queues[queue] == nil || spool.IsDead(queue) {
		return nil, fmt.Errorf("requeue dead letters of queue %q: %w", queue, spool.ErrNoQueue)
	}
	answers := make([]error, len(sequences))
	err := s.change(ctx, func(now int64) {
		q, dead := s.queues[queue], s.queues[message.DeadQueue(queue)]
		b := batch{store: s, now: now}
		for i, sequence := range sequences {
			answers[i] = b.requeue(q, dead, sequence)
		}
		b.finish()
	})
	if err != nil {
		return nil, fmt.Errorf("requeue %d dead letters of queue %q: %w", len(sequences), queue, err)
	}
	return answers, nil
}

func (b *batch) requeue(q, dead *queue, sequence uint64) error {
	e, err := dead.free(sequence)
	if err != nil {
		return err
	}
	record, m, err := spool.Requeued(e.record)
	if err != nil {
		return fmt.Errorf("%w: %w", message.ErrCorrupt, err)
	}
	b.store.end(e)
	c := &candidate{
		entry: &entry{lane: e.lane, record: record},
		key:   b.store.hasher.Key(q.stats.Name, m.EndToEnd()),
		sum:   m.ContentSum(),
	}
	b.alias(b.take(q, c), c, q, m.EndToEnd())
	q.stats.Requeued++
	return nil
}

// free returns the live message with a sequence, or why it cannot be taken away.
func (q *queue) free(sequence uint64) (*entry, error) {
	for i := range q.lanes {
		if e := q.lanes[i].at(sequence); e != nil {
			switch {
			case e.delivery != 0:
				return nil, spool.ErrLeased
			case e.owner != "":
				return nil, spool.ErrRouted
			}
			return e, nil
		}
	}
	return nil, spool.ErrNoMessage
}

// Purge implements spool.Local.
func (s *Store) Purge(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	q := s.queues[queue]
	switch {
	case q == nil:
		return nil, fmt.Errorf("purge queue %q: %w", queue, spool.ErrNoQueue)
	case q.options.Route != "":
		return nil, fmt.Errorf("purge queue %q: %w", queue, spool.ErrRouted)
	}
	answers := make([]error, len(sequences))
	err := s.change(ctx, func(int64) {
		for i, sequence := range sequences {
			e, err := q.free(sequence)
			if answers[i] = err; err == nil {
				s.end(e)
				q.stats.Purged++
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("purge %d messages of queue %q: %w", len(sequences), queue, err)
	}
	return answers, nil
}
