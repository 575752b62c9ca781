package bolt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// Ack implements spool.Local.
func (s *Store) Ack(ctx context.Context, receipts []spool.Receipt) ([]error, error) {
	return spool.AckWith(ctx, receipts, s.Settle)
}

// settlement is a spool.Settlement on its way.
type settlement struct {
	spool.Settlement
	receipt
}

// Settle implements spool.Local. It commits after each few megabytes that die.
func (s *Store) Settle(ctx context.Context, settlements []spool.Settlement) ([]spool.Settled, error) {
	id := s.Identity().Spool
	results := make([]spool.Settled, len(settlements))
	wanted := make([]*settlement, len(settlements))
	any := false
	for i := range settlements {
		r, ok := parseReceipt(id, settlements[i].Receipt)
		if !ok {
			results[i].Err = spool.ErrBadReceipt
			continue
		}
		wanted[i], any = &settlement{settlements[i], r}, true
	}
	if !any {
		return results, nil
	}
	for next := 0; next < len(wanted); {
		first := next
		done, err := s.settleSome(ctx, wanted[first:], results[first:])
		if err != nil && first > 0 && !errors.Is(err, spool.ErrUnknown) {
			err = fmt.Errorf("%w: %w", spool.ErrUnknown, err) // the first part is done
		}
		if err != nil {
			return nil, fmt.Errorf("settle %d deliveries: %w", len(settlements), err)
		}
		next += copy(results[first:], done)
	}
	return results, nil
}

// settleSome settles the first few in one commit and returns what became of them.
func (s *Store) settleSome(ctx context.Context, wanted []*settlement, results []spool.Settled) ([]spool.Settled, error) {
	at := s.options.Now()
	done := slices.Clone(results) // the committer's own: the caller may have gone
	n := 0
	err := s.commit(ctx, 0, func(t *txn) error {
		for i, w := range wanted {
			if t.deathBytes >= buryBytes && i > 0 {
				break
			}
			n = i + 1
			if w == nil {
				continue
			}
			if err := t.settle(w, &done[i], at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return done[:n], nil
}

// settle does what is to be done with one delivery.
func (t *txn) settle(w *settlement, result *spool.Settled, at time.Time) error {
	q, g, i, err := t.running(w.receipt)
	if err != nil {
		result.Err = err
		return nil
	}
	l := g.leases[i]
	switch w.Act {
	case spool.Extend:
		runs := w.After
		if runs <= 0 {
			runs = q.options.VisibilityTimeout
		}
		t.mem.due.move(l, t.now+milliseconds(runs))
		t.dirty(q, g)
		result.Left = duration(l.deadline - t.now)
		return nil
	case spool.Nack:
		if l.deliveries < q.mostDeliveries() {
			result.Left = t.giveBack(q, g, i, w.After)
			return nil
		}
		result.Died, err = t.dieLocally(q, g, i, message.ReasonMaxDeliveries, w.Text, at)
		return err
	case spool.Bury:
		result.Died, err = t.dieLocally(q, g, i, message.ReasonRejected, w.Text, at)
		return err
	}
	b, err := t.open(q)
	if err != nil {
		return err
	}
	bl, err := b.blob(groupKey(g.lane, g.first))
	if err != nil {
		return err
	}
	q.ended.add(l.nonce, t.now)
	q.settle(t, g, i, bl.size(i))
	q.counts.acked++
	return nil
}

// running returns the message whose lease behind r runs, or why none does.
func (t *txn) running(r receipt) (*queue, *group, int, error) {
	q := t.mem.queues[r.queue]
	if q == nil {
		return nil, nil, 0, spool.ErrBadReceipt
	}
	if q.ended.has(r.nonce, t.now) {
		return nil, nil, 0, spool.ErrAlreadySettled
	}
	g := q.lanes[r.lane].containing(r.sequence)
	if g == nil {
		return nil, nil, 0, spool.ErrStaleReceipt // a group with leases is in memory
	}
	i := int(r.sequence - g.first)
	l := g.leases[i]
	switch {
	case l == nil || l.nonce == (nonce{}) || l.place == 0 || l.deadline <= t.now || l.nonce != r.nonce:
		return nil, nil, 0, spool.ErrStaleReceipt
	case q.marks.owner(r.lane, r.sequence) != "":
		return nil, nil, 0, spool.ErrStaleReceipt // a route has shipped it since: only the far side's answer ends it
	}
	return q, g, i, nil
}

// giveBack ends a delivery and has its message wait, and returns for how long.
func (t *txn) giveBack(q *queue, g *group, i int, after time.Duration) time.Duration {
	l := g.leases[i]
	q.ended.add(l.nonce, t.now)
	t.mem.due.remove(l)
	l.nonce = nonce{}
	t.dirty(q, g)
	if after == 0 {
		after = q.options.Retry.Wait(l.deliveries)
	}
	if after <= 0 {
		l.deadline = 0
		lane := &q.lanes[g.lane]
		lane.readyFrom = min(lane.readyFrom, g.first+uint64(i))
		t.ready[q.name] = struct{}{}
		return 0
	}
	l.deadline = t.now + milliseconds(after)
	t.mem.due.add(holding{lease: l, queue: q, group: g, index: i})
	return after
}

// dieLocally ends a message as a dead letter. One among the dead letters already stays there, and waits: it never dies twice. One
// that cannot be read stays too, and is set aside.
func (t *txn) dieLocally(q *queue, g *group, i int, reason message.Reason, text string, at time.Time) (died bool, err error) {
	if spool.IsDead(q.name) {
		t.giveBack(q, g, i, 0)
		return true, nil
	}
	b, err := t.open(q)
	if err != nil {
		return false, err
	}
	bl, err := b.blob(groupKey(g.lane, g.first))
	if err != nil {
		return false, err
	}
	death := message.Death{Reason: reason, Text: text, Queue: q.name, At: time.UnixMilli(at.UnixMilli()).UTC()}
	if l := g.leases[i]; l != nil {
		death.Deliveries = l.deliveries
		if l.place > 0 { // a lease that has run out was not settled: its receipt is stale
			q.ended.add(l.nonce, t.now)
		}
	}
	number := g.first + uint64(i)
	c, err := t.store.newCorpse(bl.record(i), number, g.lane, death)
	if err != nil {
		t.store.damage.report(q.name, number, err)
		g.corrupt.add(i, g.count)
		return false, nil
	}
	t.die(q, g, c)
	return true, nil
}

// mostDeliveries is how often a message of the queue is handed out.
func (q *queue) mostDeliveries() uint32 {
	if q.options.MaxDeliveries == 0 {
		return spool.UnlimitedDeliveries // a queue of the file that is not configured
	}
	return q.options.MaxDeliveries
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
