package memory

import (
	"context"
	"fmt"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// Ack implements spool.Local.
func (s *Store) Ack(ctx context.Context, receipts []spool.Receipt) ([]error, error) {
	return spool.AckWith(ctx, receipts, s.Settle)
}

// Settle implements spool.Local.
func (s *Store) Settle(ctx context.Context, settlements []spool.Settlement) ([]spool.Settled, error) {
	results := make([]spool.Settled, len(settlements))
	at := s.options.Now()
	err := s.change(ctx, func(now int64) {
		b := batch{store: s, now: now}
		for i, w := range settlements {
			results[i] = b.settle(w, at)
		}
		b.finish()
		s.setTimer(now)
	})
	if err != nil {
		return nil, fmt.Errorf("settle %d deliveries: %w", len(settlements), err)
	}
	return results, nil
}

func (b *batch) settle(w spool.Settlement, at time.Time) (result spool.Settled) {
	s := b.store
	n, ok := s.parseReceipt(w.Receipt)
	if !ok {
		return spool.Settled{Err: spool.ErrBadReceipt}
	}
	if s.ended(n, b.now) {
		return spool.Settled{Err: spool.ErrAlreadySettled}
	}
	e := s.due.running[n]
	if e == nil || e.owner != "" {
		return spool.Settled{Err: spool.ErrStaleReceipt} // what a route has shipped since, only the far side's answer ends
	}
	q := e.queue
	switch w.Act {
	case spool.Extend:
		runs := w.After
		if runs <= 0 {
			runs = q.options.VisibilityTimeout
		}
		s.due.move(e, b.now+milliseconds(runs))
		result.Left = duration(e.deadline - b.now)
	case spool.Nack:
		if e.deliveries < q.options.MaxDeliveries {
			result.Left = b.giveBack(e, w.After)
			break
		}
		result.Died = true
		b.die(e, message.ReasonMaxDeliveries, w.Text, at)
	case spool.Bury:
		result.Died = true
		b.die(e, message.ReasonRejected, w.Text, at)
	default:
		q.stats.Acked++
		q.ended.add(n, b.now)
		s.end(e)
	}
	return result
}

// giveBack ends the delivery of e and has it wait, and returns for how long.
func (b *batch) giveBack(e *entry, after time.Duration) time.Duration {
	s, q := b.store, e.queue
	q.ended.add(e.delivery, b.now)
	s.due.remove(e)
	if after == 0 {
		after = q.options.Retry.Wait(e.deliveries)
	}
	if after <= 0 {
		l := &q.lanes[e.lane]
		l.readyFrom = min(l.readyFrom, e.sequence)
		s.wake(q.stats.Name)
		return 0
	}
	e.deadline = b.now + milliseconds(after)
	s.due.add(e)
	return after
}

// die ends e as a dead letter. One among the dead letters already stays there, and waits: it never dies twice.
func (b *batch) die(e *entry, reason message.Reason, text string, at time.Time) {
	q := e.queue
	q.ended.add(e.delivery, b.now)
	dead := b.store.queues[message.DeadQueue(q.stats.Name)]
	if dead == nil {
		b.giveBack(e, 0)
		return
	}
	// What is in memory is as it was written.
	_ = b.bury(e, dead, message.Death{
		Reason: reason, Text: text, Queue: q.stats.Name, Deliveries: e.deliveries, At: time.UnixMilli(at.UnixMilli()).UTC(),
	})
}

// ended remembers deliveries that were settled, for callers whose answer was lost.
type ended struct {
	at    map[uint64]int64 // spool time
	order []uint64         // oldest first
}

func (e *ended) add(delivery uint64, now int64) {
	if delivery == 0 {
		return
	}
	if e.at == nil {
		e.at = make(map[uint64]int64)
	}
	if _, known := e.at[delivery]; known {
		return
	}
	e.at[delivery] = now
	e.order = append(e.order, delivery)
	for len(e.order) > 0 && (len(e.order) > spool.SettledMost || now-e.at[e.order[0]] > spool.SettledKept.Milliseconds()) {
		delete(e.at, e.order[0])
		e.order = e.order[1:]
	}
}

// ended tells whether a delivery was settled not long ago, in whatever queue.
func (s *Store) ended(delivery uint64, now int64) bool {
	for _, q := range s.queues {
		if at, ok := q.ended.at[delivery]; ok {
			return now-at <= spool.SettledKept.Milliseconds()
		}
	}
	return false
}
