package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"drawbridge/message"
	"drawbridge/spool"
)

// Lanes implements spool.Outgoing. A lane of which the route turns out to hold nothing may be among them.
func (s *Store) Lanes(route spool.Route) (found []uint8) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[route.Queue]
	if q == nil {
		return nil
	}
	for lane := lanes - 1; lane >= 0; lane-- {
		l := &q.lanes[lane]
		if _, shipped := l.through[route.Name]; l.live > 0 && (shipped || q.stats.Route == route.Name) {
			found = append(found, uint8(lane))
		}
	}
	return found
}

// MarkOf implements spool.Outgoing.
func (s *Store) MarkOf(route spool.Route, lane uint8) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[route.Queue]; q != nil && lane < lanes {
		return q.lanes[lane].through[route.Name]
	}
	return 0
}

// LowestHeld implements spool.Outgoing.
func (s *Store) LowestHeld(queue string, lane uint8) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[queue]
	if q == nil || lane >= lanes {
		return 0
	}
	if entries := q.lanes[lane].entries; len(entries) > 0 {
		return entries[0].sequence
	}
	return q.next
}

// Held implements spool.Outgoing.
func (s *Store) Held(_ context.Context, route spool.Route, lane uint8, after uint64, max int) ([]spool.Held, error) {
	if err := s.known(route.Queue); err != nil {
		return nil, err
	}
	var held []spool.Held
	err := s.look(func(now int64) {
		q := s.queues[route.Queue]
		if lane >= lanes {
			return
		}
		l := &q.lanes[lane]
		for _, e := range l.from(after + 1) {
			mine := cmp.Or(e.owner, q.stats.Route) == route.Name
			if e.settled || !mine || e.sequence <= after {
				continue
			}
			if len(held) == max {
				return
			}
			held = append(held, spool.Held{
				Place: message.Place{Stream: l.stream, Number: e.sequence},
				Bytes: len(e.record),
				Age:   e.age(route.Name, now),
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list what route %q holds of queue %q: %w", route.Name, route.Queue, err)
	}
	return held, nil
}

// Fetch implements spool.Outgoing.
func (s *Store) Fetch(_ context.Context, route spool.Route, lane uint8, numbers []uint64) ([]spool.Record, error) {
	if err := s.known(route.Queue); err != nil {
		return nil, err
	}
	records := make([]spool.Record, 0, len(numbers))
	err := s.look(func(now int64) {
		if lane >= lanes {
			return
		}
		l := &s.queues[route.Queue].lanes[lane]
		for _, n := range numbers {
			if e := l.at(n); e != nil {
				place := message.Place{Stream: l.stream, Number: n}
				records = append(records, spool.Record{Place: place, Bytes: e.record, Age: e.age(route.Name, now)})
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %d messages of queue %q: %w", len(numbers), route.Queue, err)
	}
	for i := range records {
		records[i].Bytes = slices.Clone(records[i].Bytes)
	}
	return records, nil
}

// Mark implements spool.Outgoing.
func (s *Store) Mark(ctx context.Context, route spool.Route, lane uint8, through uint64) error {
	if err := s.known(route.Queue); err != nil {
		return err
	}
	if lane >= lanes || route.Name == "" {
		return fmt.Errorf("mark priority %d of route %q: %w", lane, route.Name, spool.ErrMalformed)
	}
	err := s.change(ctx, func(now int64) {
		q := s.queues[route.Queue]
		q.mark(&q.lanes[lane], route.Name, through, now)
	})
	if err != nil {
		return fmt.Errorf("mark queue %q as shipped through %d on route %q: %w", route.Queue, through, route.Name, err)
	}
	return nil
}

// mark raises the mark of a route. What is above every mark of the lane so far becomes the route's.
func (q *queue) mark(l *lane, route string, through uint64, now int64) {
	if through <= l.through[route] {
		return
	}
	highest := uint64(0)
	for _, n := range l.through {
		highest = max(highest, n)
	}
	l.through[route] = through
	if highest >= through {
		return
	}
	if n := len(l.segments); n > 0 && l.segments[n-1].route == route {
		l.segments[n-1].through = through
	} else {
		l.segments = append(l.segments, segment{route, highest, through})
	}
	for _, e := range l.from(highest + 1) {
		if e.sequence > through {
			break
		}
		if !e.settled {
			q.own(e, route, now)
		}
	}
}

// SettleRoute implements spool.Outgoing.
func (s *Store) SettleRoute(ctx context.Context, route spool.Route, lane uint8, settled []message.Range) error {
	err := s.change(ctx, func(int64) {
		q := s.queues[route.Queue]
		if q == nil || lane >= lanes {
			return
		}
		l := &q.lanes[lane]
		for _, r := range settled {
			r.Last = min(r.Last, l.through[route.Name])
			var ended []*entry
			for _, e := range l.from(r.First) {
				if e.sequence > r.Last {
					break
				}
				if !e.settled && e.owner == route.Name {
					ended = append(ended, e)
				}
			}
			for _, e := range ended {
				s.end(e)
				q.stats.Settled++
			}
		}
	})
	if err != nil {
		return fmt.Errorf("settle on route %q of queue %q: %w", route.Name, route.Queue, err)
	}
	return s.known(route.Queue)
}
