package bolt

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message"
	"drawbridge/spool"
)

// handout is a lease that a commit has given.
type handout struct {
	lane       uint8
	first      uint64
	index      int
	deliveries uint32
	nonce      nonce
}

func (h *handout) sequence() uint64 { return h.first + uint64(h.index) }

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
	at := s.options.Now()
	for {
		var given []handout
		var deadline int64
		var full bool // of deaths
		err := s.commit(ctx, 0, func(t *txn) (err error) {
			deadline = t.now + milliseconds(req.Visibility)
			given, err = t.lease(t.mem.queues[req.Queue], req, deadline, at)
			full = t.deathBytes >= buryBytes
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(given) == 0 {
			if full {
				continue
			}
			return nil, nil
		}
		deliveries, corrupt, err := s.fetchDeliveries(ctx, req.Queue, given, deadline)
		if err != nil {
			// The leases are durable and run out by themselves.
			return nil, fmt.Errorf("%w: read what was leased: %w", spool.ErrUnknown, err)
		}
		if len(corrupt) > 0 {
			if err := s.setAside(ctx, req.Queue, corrupt); err != nil {
				return nil, err
			}
		}
		if len(deliveries) > 0 {
			return deliveries, nil
		}
		// All that was leased is unreadable. What lies behind it may be ready, and nobody would be woken for it.
	}
}

// lease hands out what is ready: the higher priority first, the older first within one. What was handed out often enough dies in
// place of being handed out once more.
func (t *txn) lease(q *queue, req spool.LeaseRequest, deadline int64, at time.Time) ([]handout, error) {
	var given []handout
	left := req.MaxBytes
	for lane := lanes - 1; lane >= 0; lane-- {
		for len(given) < req.Max && left > 0 {
			g, i, err := t.nextReady(q, uint8(lane))
			if err != nil {
				return nil, err
			}
			if g == nil {
				break
			}
			given, left, err = t.leaseFrom(q, g, i, given, req.Max, left, deadline, at)
			if err != nil {
				return nil, err
			}
		}
	}
	return given, nil
}

// leaseFrom hands out messages of one group from position i on, which is ready.
func (t *txn) leaseFrom(q *queue, g *group, i int, given []handout, most, left int, deadline int64, at time.Time) ([]handout, int, error) {
	b, err := t.open(q)
	if err != nil {
		return nil, 0, err
	}
	bl, err := b.blob(groupKey(g.lane, g.first))
	if err != nil {
		return nil, 0, err
	}
	t.dirty(q, g)
	for ; i < g.count && len(given) < most && left > 0; i++ {
		if !q.ready(g, i) {
			continue
		}
		if l := g.leases[i]; l != nil && l.deliveries >= q.mostDeliveries() {
			if t.deathBytes >= buryBytes {
				return given, 0, nil // the next commit goes on
			}
			if _, err := t.dieLocally(q, g, i, message.ReasonMaxDeliveries, "its lease ran out the last time", at); err != nil {
				return nil, 0, err
			}
			continue
		}
		l := t.handOut(q, g, i, deadline)
		given = append(given, handout{g.lane, g.first, i, l.deliveries, l.nonce})
		left -= bl.size(i)
		q.lanes[g.lane].readyFrom = g.first + uint64(i) + 1
	}
	return given, left, nil
}

func (t *txn) handOut(q *queue, g *group, i int, deadline int64) *lease {
	l := g.leases[i]
	if l == nil {
		l = &lease{}
		if g.leases == nil {
			g.leases = make(map[int]*lease)
		}
		g.leases[i] = l
	}
	if l.deliveries < math.MaxUint32 {
		l.deliveries++
	}
	l.deadline = deadline
	_, _ = rand.Read(l.nonce[:]) // ends the process rather than fail
	t.mem.due.add(holding{lease: l, queue: q, group: g, index: i})
	return l
}

// ready tells whether message i of g can be handed out.
func (q *queue) ready(g *group, i int) bool {
	if g.settled.has(i) || g.corrupt.has(i) {
		return false
	}
	if l := g.leases[i]; l != nil && l.place > 0 {
		return false
	}
	return len(q.marks) == 0 || q.marks.owner(g.lane, g.first+uint64(i)) == ""
}

// nextReady finds the first message of the lane that is ready, and loads groups until there is one or none are left.
func (t *txn) nextReady(q *queue, lane uint8) (*group, int, error) {
	l := &q.lanes[lane]
	for {
		at, ok := l.find(l.readyFrom)
		if !ok && at > 0 {
			at--
		}
		for ; at < len(l.groups); at++ {
			g := l.groups[at]
			if g.first > l.loadedTo && !l.complete {
				break // groups that are not loaded stand before this one
			}
			from := int(max(l.readyFrom, g.first) - g.first)
			for i := from; i < g.count; i++ {
				if q.ready(g, i) {
					return g, i, nil
				}
			}
			l.readyFrom = max(l.readyFrom, g.first+uint64(g.count))
		}
		if l.complete {
			return nil, 0, nil
		}
		if err := t.loadMore(q, lane); err != nil {
			return nil, 0, err
		}
	}
}

// loadMore loads the next groups of a lane.
func (t *txn) loadMore(q *queue, lane uint8) error {
	b, err := t.open(q)
	if err != nil {
		return err
	}
	l := &q.lanes[lane]
	loaded := 0
	for id, err := range groupsFrom(b.groups, lane, l.loadedTo+1) {
		if err != nil {
			return err
		}
		if id.first <= l.loadedTo {
			continue
		}
		if loaded == loadGroups {
			return nil
		}
		loaded++
		l.loadedTo = id.first
		if _, ok := l.find(id.first); ok {
			continue
		}
		g, _, err := loadGroup(b, id)
		if err != nil {
			t.store.damage.report(q.name, id.first, err)
			continue
		}
		q.hold(&t.mem.due, g, t.now)
		l.insert(g)
	}
	l.complete = true
	return nil
}

// fetchDeliveries reads and verifies what was leased. It returns the unreadable ones apart.
func (s *Store) fetchDeliveries(ctx context.Context, queue string, given []handout, deadline int64) (good []spool.Delivery, corrupt []handout, err error) {
	id := s.Identity().Spool
	records := make([][]byte, len(given))
	err = s.readers.read(ctx, func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, queue)
		if err != nil {
			return err
		}
		var bl blob
		for i := range given {
			h := &given[i]
			if bl.first != h.first || bl.lane != h.lane || bl.count == 0 {
				if bl, err = b.blob(groupKey(h.lane, h.first)); err != nil {
					bl = blob{}
					continue // unreadable or settled meanwhile
				}
			}
			if h.index < bl.count {
				records[i] = append(records[i], bl.record(h.index)...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	left := duration(max(0, deadline-s.clock.now()))
	for i := range given {
		h := &given[i]
		m, err := message.ParseRecord(records[i])
		if err != nil {
			s.damage.report(queue, h.sequence(), err)
			corrupt = append(corrupt, *h)
			continue
		}
		m.Deliveries = h.deliveries
		r := receipt{queue: queue, lane: h.lane, sequence: h.sequence(), nonce: h.nonce}
		good = append(good, spool.Delivery{Message: m, Sequence: h.sequence(), Receipt: r.token(id), Deadline: left})
	}
	return good, corrupt, nil
}

// setAside keeps unreadable messages from being leased again and again. It lasts as long as the store is open.
func (s *Store) setAside(ctx context.Context, queue string, corrupt []handout) error {
	return s.commit(ctx, 0, func(t *txn) error {
		q := t.mem.queues[queue]
		for _, h := range corrupt {
			if g := q.lanes[h.lane].containing(h.sequence()); g != nil {
				g.corrupt.add(h.index, g.count)
			}
		}
		return nil
	})
}
