package bolt

import (
	"context"
	"fmt"
	"iter"
	"slices"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message"
	"drawbridge/spool"
)

// stored is a live message in the file. The record is good as long as the transaction.
type stored struct {
	sequence uint64
	lane     uint8
	record   []byte
	// deliveries counts the handings-out; leased says that the last one still runs, waiting that it was given back and is not ready.
	deliveries      uint32
	leased, waiting bool
}

// Peek implements spool.Local.
func (s *Store) Peek(ctx context.Context, queue string, from uint64, max int) ([]spool.Peeked, error) {
	view := s.view.Load().queue(queue)
	if view == nil {
		return nil, fmt.Errorf("peek into queue %q: %w", queue, spool.ErrNoQueue)
	}
	for {
		found, err := s.copyLive(ctx, queue, from, max)
		if err != nil {
			return nil, fmt.Errorf("peek into queue %q: %w", queue, err)
		}
		peeked := s.parseLive(view, queue, found)
		if len(peeked) > 0 || len(found) == 0 {
			return peeked, nil
		}
		// All of it is unreadable, but something readable may lie behind it.
		from = found[len(found)-1].sequence + 1
	}
}

// copyLive copies up to max live messages, unverified, and stops at spool.PeekBytes.
func (s *Store) copyLive(ctx context.Context, queue string, from uint64, max int) (found []stored, err error) {
	err = s.readers.read(ctx, func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, queue)
		if err != nil {
			return err
		}
		bytes := 0
		for m := range s.bySequence(b, queue, from) {
			if len(found) >= max || bytes >= spool.PeekBytes {
				break
			}
			m.record = slices.Clone(m.record)
			bytes += len(m.record)
			found = append(found, m)
		}
		return nil
	})
	return found, err
}

// parseLive verifies what was copied, and leaves out and reports what is unreadable.
func (s *Store) parseLive(view *queueView, queue string, found []stored) []spool.Peeked {
	peeked := make([]spool.Peeked, 0, len(found))
	for _, m := range found {
		parsed, err := message.ParseRecord(m.record)
		if err != nil {
			s.damage.report(queue, m.sequence, err)
			continue
		}
		parsed.Deliveries = m.deliveries
		peeked = append(peeked, spool.Peeked{
			Message:  parsed,
			Sequence: m.sequence,
			Leased:   m.leased,
			Waiting:  m.waiting,
			InDoubt:  view.marks.owner(m.lane, m.sequence) != "",
		})
	}
	return peeked
}

// bySequence yields the live messages of all lanes from a sequence on, merged in their order.
func (s *Store) bySequence(b *buckets, queue string, from uint64) iter.Seq[stored] {
	return func(yield func(stored) bool) {
		var pulls [lanes]func() (stored, bool)
		var heads [lanes]*stored
		for lane := range uint8(lanes) {
			next, stop := iter.Pull(s.inLane(b, queue, lane, from))
			defer stop()
			pulls[lane] = next
			heads[lane] = pull(next)
		}
		for {
			first := -1
			for lane, m := range heads {
				if m != nil && (first < 0 || m.sequence < heads[first].sequence) {
					first = lane
				}
			}
			if first < 0 || !yield(*heads[first]) {
				return
			}
			heads[first] = pull(pulls[first])
		}
	}
}

func pull(next func() (stored, bool)) *stored {
	if m, ok := next(); ok {
		return &m
	}
	return nil
}

// inLane yields the live messages of one lane from a sequence on.
func (s *Store) inLane(b *buckets, queue string, lane uint8, from uint64) iter.Seq[stored] {
	now := s.clock.now()
	return func(yield func(stored) bool) {
		for id, err := range groupsFrom(b.groups, lane, from) {
			if err != nil {
				s.damage.report(queue, id.first, err)
				return
			}
			g, bl, err := loadGroup(b, id)
			if err != nil {
				s.damage.report(queue, id.first, err)
				continue
			}
			for i := range g.count {
				n := g.first + uint64(i)
				if n < from || g.settled.has(i) {
					continue
				}
				m := stored{sequence: n, lane: lane, record: bl.record(i)}
				if l := g.leases[i]; l != nil {
					runs, given := l.deadline > now, l.nonce != nonce{}
					m.deliveries, m.leased, m.waiting = l.deliveries, runs && given, runs && !given
				}
				if !yield(m) {
					return
				}
			}
		}
	}
}
