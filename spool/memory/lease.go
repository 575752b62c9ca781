package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// handout is a lease that was given, with what its delivery needs.
type handout struct {
	record     []byte
	sequence   uint64
	deliveries uint32
	receipt    spool.Receipt
}

// Lease implements spool.Local.
func (s *Store) Lease(ctx context.Context, req spool.LeaseRequest) ([]spool.Delivery, error) {
	deliveries, err := s.lease(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("lease from queue %q: %w", req.Queue, err)
	}
	return deliveries, nil
}

func (s *Store) lease(ctx context.Context, req spool.LeaseRequest) ([]spool.Delivery, error) {
	req, err := req.Complete(s.options.Queues)
	if err != nil {
		return nil, err
	}
	runs := milliseconds(req.Visibility)
	var given []handout
	at := s.options.Now()
	err = s.change(ctx, func(now int64) {
		given = s.handOut(s.queues[req.Queue], req, now, now+runs, at)
		s.setTimer(now)
	})
	if err != nil || len(given) == 0 {
		return nil, err
	}
	deliveries := make([]spool.Delivery, len(given))
	for i, h := range given {
		m, err := message.ParseRecord(slices.Clone(h.record))
		if err != nil {
			return nil, fmt.Errorf("%w: read what was leased: %w", spool.ErrUnknown, err)
		}
		m.Deliveries = h.deliveries
		deliveries[i] = spool.Delivery{Message: m, Sequence: h.sequence, Receipt: h.receipt, Deadline: duration(runs)}
	}
	return deliveries, nil
}

// handOut leases what is ready: the higher priority first, the older first within one. What was handed out often enough dies in
// place of being handed out once more.
func (s *Store) handOut(q *queue, req spool.LeaseRequest, now, deadline int64, at time.Time) (given []handout) {
	left := req.MaxBytes
	b := batch{store: s, now: now}
	defer b.finish()
	for lane := lanes - 1; lane >= 0; lane-- {
		l := &q.lanes[lane]
		for _, e := range slices.Clone(l.from(l.readyFrom)) { // a death tidies the lane
			if len(given) == req.Max || left <= 0 {
				return given
			}
			l.readyFrom = e.sequence + 1
			if e.settled || e.held || e.owner != "" {
				continue
			}
			if e.deliveries >= q.options.MaxDeliveries {
				b.die(e, message.ReasonMaxDeliveries, "its lease ran out the last time", at)
				continue
			}
			if e.deliveries < math.MaxUint32 {
				e.deliveries++
			}
			s.handed++
			e.delivery, e.deadline = s.handed, deadline
			s.due.add(e)
			given = append(given, handout{e.record, e.sequence, e.deliveries, s.receipt(e)})
			left -= len(e.record)
		}
	}
	return given
}

// Peek implements spool.Local.
func (s *Store) Peek(ctx context.Context, queue string, from uint64, max int) ([]spool.Peeked, error) {
	if err := s.known(queue); err != nil {
		return nil, fmt.Errorf("peek: %w", err)
	}
	var peeked []spool.Peeked
	var records [][]byte
	var deliveries []uint32
	err := s.look(func(int64) {
		bytes := 0
		for _, e := range s.queues[queue].inOrder(from, max) {
			if bytes >= spool.PeekBytes {
				return
			}
			bytes += len(e.record)
			records, deliveries = append(records, e.record), append(deliveries, e.deliveries)
			peeked = append(peeked, spool.Peeked{Sequence: e.sequence, Leased: e.delivery != 0, Waiting: e.held && e.delivery == 0, InDoubt: e.owner != ""})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("peek into queue %q: %w", queue, err)
	}
	for i, r := range records {
		if peeked[i].Message, err = message.ParseRecord(slices.Clone(r)); err != nil {
			return nil, fmt.Errorf("peek into queue %q: %w", queue, err)
		}
		peeked[i].Deliveries = deliveries[i]
	}
	return peeked, nil
}

// inOrder returns up to max live messages of all lanes from a sequence on, by their sequences.
func (q *queue) inOrder(from uint64, max int) (found []*entry) {
	var rest [lanes][]*entry
	for i := range q.lanes {
		rest[i] = q.lanes[i].from(from)
	}
	for len(found) < max {
		first := -1
		for i := range rest {
			for len(rest[i]) > 0 && rest[i][0].settled {
				rest[i] = rest[i][1:]
			}
			if len(rest[i]) > 0 && (first < 0 || rest[i][0].sequence < rest[first][0].sequence) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		found = append(found, rest[first][0])
		rest[first] = rest[first][1:]
	}
	return found
}
