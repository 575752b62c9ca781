package bolt

import (
	"context"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/spool"
)

// Lanes implements spool.Outgoing. A lane of which the route turns out to hold nothing may be among them.
func (s *Store) Lanes(route spool.Route) []uint8 {
	v := s.view.Load().queue(route.Queue)
	if v == nil {
		return nil
	}
	var found []uint8
	for lane := lanes - 1; lane >= 0; lane-- {
		if v.live[lane] > 0 && (v.stats.Route == route.Name || v.marks.find(uint8(lane), route.Name) != nil) {
			found = append(found, uint8(lane))
		}
	}
	return found
}

// MarkOf implements spool.Outgoing.
func (s *Store) MarkOf(route spool.Route, lane uint8) uint64 {
	v := s.view.Load().queue(route.Queue)
	if v == nil {
		return 0
	}
	return v.marks.through(lane, route.Name)
}

// LowestHeld implements spool.Outgoing.
func (s *Store) LowestHeld(queue string, lane uint8) uint64 {
	v := s.view.Load().queue(queue)
	if v == nil || lane >= lanes {
		return 0
	}
	return v.lowest[lane]
}

// owned tells whether message n of a lane is the route's to ship: it was shipped there, or nowhere and the queue leaves by
// this route.
func (v *queueView) owned(route spool.Route, lane uint8, n uint64) bool {
	if len(v.marks) > 0 {
		if owner := v.marks.owner(lane, n); owner != "" {
			return owner == route.Name
		}
	}
	return v.stats.Route == route.Name
}

// Held implements spool.Outgoing.
func (s *Store) Held(ctx context.Context, route spool.Route, lane uint8, after uint64, max int) ([]spool.Held, error) {
	v := s.view.Load().queue(route.Queue)
	if v == nil {
		return nil, fmt.Errorf("queue %q: %w", route.Queue, spool.ErrNoQueue)
	}
	var held []spool.Held
	err := s.readers.read(ctx, func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, route.Queue)
		if err != nil {
			return err
		}
		streams := streamsOf{b: b, lane: lane}
		mark, now := v.marks.find(lane, route.Name), s.clock.now()
		for id, err := range groupsFrom(b.groups, lane, after+1) {
			if err != nil {
				return err
			}
			g, bl, err := loadGroup(b, id)
			if err != nil {
				s.damage.report(route.Queue, id.first, err)
				continue
			}
			stream, err := streams.id(bl.epoch)
			if err != nil {
				return err
			}
			// A message that a local consumer still has from before the queue got its route is held like any other: were it left
			// out now and shipped later, its number would be below the far side's frontier.
			for i := range g.count {
				n := g.first + uint64(i)
				if n <= after || g.settled.has(i) || !v.owned(route, lane, n) {
					continue
				}
				if len(held) == max {
					return nil
				}
				held = append(held, spool.Held{
					Place: message.Place{Stream: stream, Number: n},
					Bytes: bl.size(i),
					Age:   shippable(mark.since(n), bl.at, now),
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list what route %q holds of queue %q: %w", route.Name, route.Queue, err)
	}
	return held, nil
}

// shippable is for how long a message that came at cameAt may have been shipped, if its mark stands since marked.
func shippable(marked, cameAt, now int64) time.Duration {
	if marked == 0 {
		return 0
	}
	return duration(max(0, now-max(marked, cameAt)))
}

// Fetch implements spool.Outgoing.
func (s *Store) Fetch(ctx context.Context, route spool.Route, lane uint8, numbers []uint64) ([]spool.Record, error) {
	if err := s.known(route.Queue); err != nil {
		return nil, err
	}
	var records []spool.Record
	err := s.readers.read(ctx, func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, route.Queue)
		if err != nil {
			return err
		}
		records, err = s.fetch(b, route, lane, numbers)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %d messages of queue %q: %w", len(numbers), route.Queue, err)
	}
	return records, nil
}

func (s *Store) fetch(b *buckets, route spool.Route, lane uint8, numbers []uint64) ([]spool.Record, error) {
	mark := s.view.Load().queue(route.Queue).marks.find(lane, route.Name)
	records := make([]spool.Record, 0, len(numbers))
	streams := streamsOf{b: b, lane: lane}
	now, bytes := s.clock.now(), 0
	var g *group
	var bl blob
	for _, n := range numbers {
		if _, in := bl.index(n); g == nil || !in {
			var err error
			if g, bl, err = s.groupAt(b, route.Queue, lane, n); err != nil {
				return nil, err
			}
		}
		i, in := bl.index(n)
		if g == nil || !in || g.settled.has(i) {
			continue
		}
		stream, err := streams.id(bl.epoch)
		if err != nil {
			return nil, err
		}
		r := bl.record(i)
		if len(r) == 0 {
			s.damage.report(route.Queue, n, pack.ErrTruncated)
			continue
		}
		bytes += len(r)
		records = append(records, spool.Record{
			Place: message.Place{Stream: stream, Number: n},
			Bytes: r,
			Age:   shippable(mark.since(n), bl.at, now),
		})
	}
	// What was found lies in the file's mapping, which is only there as long as the transaction. One block takes it all.
	block := make([]byte, 0, bytes)
	for i := range records {
		start := len(block)
		block = append(block, records[i].Bytes...)
		records[i].Bytes = block[start:len(block):len(block)]
	}
	return records, nil
}

// groupAt returns the group that contains sequence n, nil if there is none that is readable.
func (s *Store) groupAt(b *buckets, queue string, lane uint8, n uint64) (*group, blob, error) {
	for id, err := range groupsFrom(b.groups, lane, n) {
		if err != nil {
			return nil, blob{}, err
		}
		if id.first > n {
			break
		}
		g, bl, err := loadGroup(b, id)
		if err != nil {
			s.damage.report(queue, id.first, err)
			break
		}
		return g, bl, nil
	}
	return nil, blob{}, nil
}

// streamsOf finds the stream of a lane in an epoch, which is mostly the same as the one before.
type streamsOf struct {
	b     *buckets
	lane  uint8
	epoch uint64
	last  message.StreamID
}

func (s *streamsOf) id(epoch uint64) (message.StreamID, error) {
	if epoch != s.epoch {
		v := s.b.streams.Get(streamKey(s.lane, epoch))
		if len(v) != len(s.last) {
			return s.last, fmt.Errorf("stream of priority %d in epoch %d: %w", s.lane, epoch, pack.ErrTruncated)
		}
		s.epoch, s.last = epoch, message.StreamID(v)
	}
	return s.last, nil
}

// Mark implements spool.Outgoing.
func (s *Store) Mark(ctx context.Context, route spool.Route, lane uint8, through uint64) error {
	if err := s.known(route.Queue); err != nil {
		return err
	}
	if lane > message.MaxPriority || route.Name == "" {
		return fmt.Errorf("mark priority %d of route %q: %w", lane, route.Name, spool.ErrMalformed)
	}
	err := s.commit(ctx, 0, func(t *txn) error {
		return t.mark(t.mem.queues[route.Queue], route.Name, lane, through)
	})
	if err != nil {
		return fmt.Errorf("mark queue %q as shipped through %d on route %q: %w", route.Queue, through, route.Name, err)
	}
	return nil
}

func (t *txn) mark(q *queue, route string, lane uint8, through uint64) error {
	if through <= q.marks.through(lane, route) {
		return nil
	}
	live := q.next
	if h := q.lanes[lane].head; h.ok {
		live = h.first
	}
	raised, added := q.marks.raise(lane, route, through, t.now, live)
	q.marks = raised
	t.changed = true
	b, err := t.open(q)
	if err != nil {
		return err
	}
	if err := b.marks.Put(markKey(lane, route), raised.find(lane, route).append(nil)); err != nil {
		return err
	}
	return t.walk(q, lane, added.after+1, added.through, func(g *group) error {
		q.inDoubt += g.liveIf(func(n uint64) bool { return added.after < n && n <= added.through })
		return nil
	})
}
