package bolt

import (
	"context"
	"fmt"
	"slices"

	"drawbridge/message"
	"drawbridge/spool"
)

// Ack implements spool.Local.
func (s *Store) Ack(ctx context.Context, receipts []spool.Receipt) ([]error, error) {
	id := s.Identity().Spool
	answers := make([]error, len(receipts))
	parsed := make([]receipt, len(receipts))
	any := false
	for i, token := range receipts {
		r, ok := parseReceipt(id, token)
		if !ok {
			answers[i] = spool.ErrBadReceipt
			continue
		}
		parsed[i], any = r, true
	}
	if !any {
		return answers, nil
	}
	err := s.commit(ctx, 0, func(t *txn) error {
		for i, r := range parsed {
			if answers[i] != nil {
				continue
			}
			var err error
			if answers[i], err = t.ack(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ack %d receipts: %w", len(receipts), err)
	}
	return answers, nil
}

// ack ends the delivery behind r. Only a lease that runs can be acked: after it has run out the message may be another's.
func (t *txn) ack(r receipt) (answer, err error) {
	q := t.mem.queues[r.queue]
	if q == nil {
		return spool.ErrBadReceipt, nil
	}
	g := q.lanes[r.lane].containing(r.sequence)
	if g == nil {
		return spool.ErrStaleReceipt, nil // a group with leases is in memory
	}
	i := int(r.sequence - g.first)
	l := g.leases[i]
	if l == nil || l.place == 0 || l.deadline <= t.now || l.nonce != r.nonce {
		return spool.ErrStaleReceipt, nil
	}
	if q.marks.owner(r.lane, r.sequence) != "" {
		return spool.ErrStaleReceipt, nil // a route has shipped it since: only the far side's answer ends it
	}
	b, err := t.open(q)
	if err != nil {
		return nil, err
	}
	bl, err := b.blob(groupKey(g.lane, g.first))
	if err != nil {
		return nil, err
	}
	if q.settle(t, g, i, bl.size(i)) {
		q.counts.acked++
	}
	return nil, nil
}

// SettleRoute implements spool.Outgoing.
func (s *Store) SettleRoute(ctx context.Context, route spool.Route, lane uint8, settled []message.Range) error {
	settled = slices.Clone(settled)
	err := s.commit(ctx, 0, func(t *txn) error {
		q := t.mem.queues[route.Queue]
		if q == nil {
			return nil // told by known, below
		}
		m := q.marks.find(lane, route.Name)
		if m == nil {
			return nil // nothing was ever shipped
		}
		for _, r := range settled {
			for _, owned := range m.segments {
				if err := t.settleRange(q, lane, max(r.First, owned.after+1), min(r.Last, owned.through)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settle on route %q of queue %q: %w", route.Name, route.Queue, err)
	}
	return s.known(route.Queue)
}

// settleRange ends the messages of a lane from first to last, which one route has shipped.
func (t *txn) settleRange(q *queue, lane uint8, first, last uint64) error {
	if first > last {
		return nil
	}
	b, err := t.open(q)
	if err != nil {
		return err
	}
	return t.walk(q, lane, first, last, func(g *group) error {
		bl, err := b.blob(groupKey(g.lane, g.first))
		if err != nil {
			return err
		}
		from, to := max(first, g.first), min(last, bl.last())
		for n := from; n <= to; n++ {
			i := int(n - g.first)
			if q.settle(t, g, i, bl.size(i)) {
				q.counts.settled++
			}
		}
		return nil
	})
}

// known returns spool.ErrNoQueue for a queue that is not in the file.
func (s *Store) known(queue string) error {
	if s.view.Load().queue(queue) == nil {
		return fmt.Errorf("queue %q: %w", queue, spool.ErrNoQueue)
	}
	return nil
}
