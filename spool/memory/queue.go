package memory

import (
	"cmp"
	"slices"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// lanes is how many priorities there are.
const lanes = message.MaxPriority + 1

// entry is one message in its place.
type entry struct {
	queue    *queue
	lane     uint8
	sequence uint64
	// record is never written to again, so readers may share it.
	record []byte
	at     int64 // spool time
	// owner is the route under whose mark the message fell first; empty if none.
	owner string
	// shippable is since when it may have been shipped there, in spool time.
	shippable int64
	settled   bool

	deliveries uint32
	// delivery is the number of the delivery whose lease runs; 0 if none does.
	delivery uint64
	// held says that a lease runs, or, without a delivery, that the message was given back and waits, until deadline.
	held     bool
	deadline int64
	place    int // in due, if held
}

// queue is one queue. Its stats are kept up to date but for OldestAge.
type queue struct {
	stats   spool.QueueStats
	options spool.QueueOptions
	byIDs   bool
	next    uint64
	lanes   [lanes]lane
	ended   ended
}

// lane is the messages of one priority. The first entry is always live.
type lane struct {
	stream  message.StreamID
	entries []*entry
	live    int
	// readyFrom is a sequence below which nothing is ready.
	readyFrom uint64
	// through is the shipped mark of each route, and segments say whose each number at or below the highest mark is.
	through  map[string]uint64
	segments []segment
}

// segment is the numbers above after, up to and including through, which fell under the mark of one route first.
type segment struct {
	route          string
	after, through uint64
}

func newQueue(name string, o spool.QueueOptions) *queue {
	q := &queue{stats: spool.QueueStats{Name: name, Route: o.Route}, options: o, byIDs: o.ByIDs, next: 1}
	for i := range q.lanes {
		q.lanes[i].stream = message.NewStreamID()
		q.lanes[i].through = make(map[string]uint64)
	}
	return q
}

// add puts e at the tail.
func (q *queue) add(e *entry, now int64) {
	l := &q.lanes[e.lane]
	e.queue, e.sequence, e.at = q, q.next, now
	q.next++
	for _, s := range l.segments {
		if s.after < e.sequence && e.sequence <= s.through {
			q.own(e, s.route, now) // the mark was written ahead
		}
	}
	l.entries = append(l.entries, e)
	l.live++
	q.stats.Messages++
	q.stats.Bytes += uint64(len(e.record))
}

// own makes a message that is live a route's, from now on.
func (q *queue) own(e *entry, route string, now int64) {
	e.owner, e.shippable = route, now
	q.stats.InDoubt++
}

// age is for how long a message may have been shipped on a route, which must own it; 0 if it may not yet.
func (e *entry) age(route string, now int64) time.Duration {
	if e.owner == "" || e.owner != route {
		return 0
	}
	return duration(now - e.shippable)
}

// end takes a live message out of its queue.
func (s *Store) end(e *entry) {
	q, l := e.queue, &e.queue.lanes[e.lane]
	s.due.remove(e)
	e.settled = true
	l.live--
	q.stats.Messages--
	q.stats.Bytes -= uint64(len(e.record))
	if e.owner != "" {
		q.stats.InDoubt--
	}
	e.record = nil
	l.tidy()
}

// tidy drops settled entries at the head, and all of them once they are most.
func (l *lane) tidy() {
	n := 0
	for n < len(l.entries) && l.entries[n].settled {
		l.entries[n] = nil
		n++
	}
	l.entries = l.entries[n:]
	if len(l.entries) > 2*l.live {
		l.entries = slices.DeleteFunc(l.entries, func(e *entry) bool { return e.settled })
	}
}

// from returns the entries at or above a sequence, settled ones among them. They are good until the next change.
func (l *lane) from(sequence uint64) []*entry {
	i, _ := slices.BinarySearchFunc(l.entries, sequence, func(e *entry, n uint64) int { return cmp.Compare(e.sequence, n) })
	return l.entries[i:]
}

// at returns the live message with a sequence, nil if there is none.
func (l *lane) at(sequence uint64) *entry {
	if rest := l.from(sequence); len(rest) > 0 && rest[0].sequence == sequence && !rest[0].settled {
		return rest[0]
	}
	return nil
}

// oldest returns when the oldest live message came, 0 if there is none.
func (q *queue) oldest() (at int64) {
	for i := range q.lanes {
		if entries := q.lanes[i].entries; len(entries) > 0 && (at == 0 || entries[0].at < at) {
			at = entries[0].at
		}
	}
	return at
}
