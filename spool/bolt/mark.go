package bolt

import (
	"slices"

	"drawbridge/message/pack"
)

// mark is the shipped mark of one lane on one route. A message belongs to the route under whose mark it fell first, until
// an answer; so when a queue has changed its route, the marks of both cut the lane into segments with one owner each.
type mark struct {
	lane     uint8
	route    string
	segments []segment
}

// segment is the numbers above after, up to and including through. They may be shipped since at, in spool time.
type segment struct {
	after, through uint64
	at             int64
}

// marks are those of one queue. They are never changed in place: readers of a snapshot share them.
type marks []mark

func (m *mark) through() uint64 { return m.segments[len(m.segments)-1].through }

func (ms marks) find(lane uint8, route string) *mark {
	for i := range ms {
		if ms[i].lane == lane && ms[i].route == route {
			return &ms[i]
		}
	}
	return nil
}

// through returns the mark of a route, 0 if it has none.
func (ms marks) through(lane uint8, route string) uint64 {
	if m := ms.find(lane, route); m != nil {
		return m.through()
	}
	return 0
}

// highest returns the highest mark of the lane on any route.
func (ms marks) highest(lane uint8) (n uint64) {
	for i := range ms {
		if ms[i].lane == lane {
			n = max(n, ms[i].through())
		}
	}
	return n
}

// owner returns the route under whose mark number n of the lane fell, empty if none.
func (ms marks) owner(lane uint8, n uint64) string {
	for i := range ms {
		if ms[i].lane != lane {
			continue
		}
		for _, s := range ms[i].segments {
			if s.after < n && n <= s.through {
				return ms[i].route
			}
		}
	}
	return ""
}

// since returns since when number n may be shipped on the route of m, which owns it, in spool time; 0 if it may not yet.
func (m *mark) since(n uint64) int64 {
	if m != nil {
		for _, s := range m.segments {
			if s.after < n && n <= s.through {
				return s.at
			}
		}
	}
	return 0
}

// raise returns the marks with that of route at through, which is above its present one, and the segment that is new in it.
// The segments of what is below live, the lowest number that the lane still holds, are forgotten: nobody asks for them.
func (ms marks) raise(lane uint8, route string, through uint64, now int64, live uint64) (marks, segment) {
	raised := slices.Clone(ms)
	m := raised.find(lane, route)
	if m == nil {
		raised = append(raised, mark{lane: lane, route: route})
		m = &raised[len(raised)-1]
	}
	added := segment{after: max(ms.highest(lane), ms.through(lane, route)), through: through, at: now}
	if added.after >= through {
		// All of it fell under another route's mark before. An empty segment makes the mark what was asked for.
		added.after = through
	}
	kept := make([]segment, 0, len(m.segments)+1)
	for _, s := range m.segments {
		if s.through >= live {
			kept = append(kept, s)
		}
	}
	m.segments = append(kept, added)
	return raised, added
}

func (m *mark) append(b []byte) []byte {
	for _, s := range m.segments {
		b = pack.AppendUint64(b, s.after)
		b = pack.AppendUint64(b, s.through)
		b = pack.AppendUint64(b, uint64(s.at))
	}
	return b
}

func parseMark(lane uint8, route string, b []byte) (mark, error) {
	m := mark{lane: lane, route: route}
	r := pack.NewReader(b)
	for len(r.Rest()) > 0 {
		m.segments = append(m.segments, segment{after: r.Uint64(), through: r.Uint64(), at: int64(r.Uint64())})
	}
	if len(m.segments) == 0 {
		r.Fail(pack.ErrTruncated)
	}
	return m, r.Finish()
}

// markKey is the key of a mark in its queue.
func markKey(lane uint8, route string) []byte { return append([]byte{lane}, route...) }
