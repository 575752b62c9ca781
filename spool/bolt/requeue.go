package bolt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message"
	"drawbridge/spool"
)

// revived is a dead letter on its way back.
type revived struct {
	index int    // in the caller's list
	from  uint64 // its sequence among the dead letters
	lane  uint8
	bytes int // of the record that goes
	staged
}

// Requeue implements spool.Local. It commits after each few megabytes.
func (s *Store) Requeue(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	if _, configured := s.options.Queues[queue]; !configured || spool.IsDead(queue) {
		return nil, fmt.Errorf("requeue dead letters of queue %q: %w", queue, spool.ErrNoQueue)
	}
	answers := make([]error, len(sequences))
	for done := 0; done < len(sequences); {
		found, next, err := s.revive(ctx, queue, sequences, done, answers)
		if err == nil && len(found) > 0 {
			err = s.requeue(ctx, queue, found, answers)
		}
		if err != nil && done > 0 && !errors.Is(err, spool.ErrUnknown) {
			err = fmt.Errorf("%w: %w", spool.ErrUnknown, err) // the first part is done
		}
		if err != nil {
			return nil, fmt.Errorf("requeue %d dead letters of queue %q: %w", len(sequences), queue, err)
		}
		done = next
	}
	return answers, nil
}

// revive makes living messages of the dead letters from position first on, and returns where the next call goes on.
func (s *Store) revive(ctx context.Context, queue string, sequences []uint64, first int, answers []error) (found []*revived, next int, err error) {
	dead := message.DeadQueue(queue)
	next = first
	err = s.readers.read(ctx, func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, dead)
		if err != nil {
			return err
		}
		for bytes := 0; next < len(sequences) && bytes < buryBytes; next++ {
			lane, record, err := s.recordOf(b, dead, sequences[next])
			if err != nil {
				return err
			}
			if record == nil {
				answers[next] = spool.ErrNoMessage
				continue
			}
			living, m, err := spool.Requeued(record)
			if err != nil {
				answers[next] = fmt.Errorf("%w: %w", message.ErrCorrupt, err)
				continue
			}
			bytes += len(record)
			found = append(found, &revived{index: next, from: sequences[next], lane: lane, bytes: len(record), staged: staged{
				key:    s.hasher.Key(queue, m.EndToEnd()),
				alias:  s.alias(queue, m.EndToEnd()),
				sum:    m.ContentSum(),
				record: living,
			}})
		}
		return nil
	})
	return found, next, err
}

// recordOf finds a live message by its sequence alone; the record is nil if there is none.
func (s *Store) recordOf(b *buckets, queue string, sequence uint64) (lane uint8, record []byte, err error) {
	for lane := range uint8(lanes) {
		g, bl, err := s.groupAt(b, queue, lane, sequence)
		if err != nil {
			return 0, nil, err
		}
		if i, in := bl.index(sequence); g != nil && in && !g.settled.has(i) {
			return lane, slices.Clone(bl.record(i)), nil
		}
	}
	return 0, nil, nil
}

func (s *Store) requeue(ctx context.Context, queue string, found []*revived, answers []error) error {
	bytes := 0
	for _, r := range found {
		bytes += r.bytes
	}
	refused := make([]error, len(found)) // the committer's own: the caller may have gone
	err := s.commit(ctx, bytes, func(t *txn) error {
		q, dead := t.mem.queues[queue], t.mem.queues[message.DeadQueue(queue)]
		for i, r := range found {
			var err error
			if refused[i], err = t.take(dead, r.lane, r.from, r.bytes); err != nil {
				return err
			}
			if refused[i] == nil {
				t.stage(q, r.lane, &r.staged)
				q.counts.requeued++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range found {
		answers[r.index] = refused[i]
	}
	return nil
}

// take ends a message that nobody has leased, without an ack, or says why not.
func (t *txn) take(q *queue, lane uint8, sequence uint64, bytes int) (refusal, err error) {
	refusal = spool.ErrNoMessage
	err = t.walk(q, lane, sequence, sequence, func(g *group) error {
		i := int(sequence - g.first)
		switch l := g.leases[i]; {
		case sequence-g.first >= uint64(g.count) || g.settled.has(i):
		case l != nil && l.place > 0 && l.nonce != (nonce{}):
			refusal = spool.ErrLeased
		case q.marks.owner(lane, sequence) != "":
			refusal = spool.ErrRouted // a route has shipped it: only the far side's answer ends it
		default:
			q.settle(t, g, i, bytes)
			refusal = nil
		}
		return nil
	})
	return refusal, err
}

// Purge implements spool.Local.
func (s *Store) Purge(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	options, configured := s.options.Queues[queue]
	switch {
	case !configured:
		return nil, fmt.Errorf("purge queue %q: %w", queue, spool.ErrNoQueue)
	case options.Route != "":
		return nil, fmt.Errorf("purge queue %q: %w", queue, spool.ErrRouted)
	}
	sequences = slices.Clone(sequences)
	answers := make([]error, len(sequences))
	err := s.commit(ctx, 0, func(t *txn) error {
		for i, sequence := range sequences {
			var err error
			if answers[i], err = t.purge(t.mem.queues[queue], sequence); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("purge %d messages of queue %q: %w", len(sequences), queue, err)
	}
	return answers, nil
}

func (t *txn) purge(q *queue, sequence uint64) (refusal, err error) {
	b, err := t.open(q)
	if err != nil {
		return nil, err
	}
	for lane := range uint8(lanes) {
		g, bl, err := t.store.groupAt(b, q.name, lane, sequence)
		if err != nil {
			return nil, err
		}
		i, in := bl.index(sequence)
		if g == nil || !in {
			continue
		}
		refusal, err := t.take(q, lane, sequence, bl.size(i))
		if refusal == nil && err == nil {
			q.counts.purged++
		}
		return refusal, err
	}
	return spool.ErrNoMessage, nil
}
