package flow

import (
	"math"
	"time"

	"drawbridge/message"
)

const (
	// maxAhead bounds how many unshipped items a lane wants loaded.
	maxAhead = 8192
	// maxUnanswered bounds what a lane ships without an answer, whatever the peer grants: a peer that grants everything and
	// answers nothing must not make the lane grow without end.
	maxUnanswered = 1 << 16
)

// Item is a message that the loader read from the spool.
type Item struct {
	message.Place
	// Bytes is the size of its record, at most 4 GiB.
	Bytes int
	// Until is when the message is not to be shipped any more but to be closed, for Cause; the zero time means never.
	Until time.Time
	Cause message.Reason
}

// Grant is what may be unanswered before the first Credit of a session.
type Grant struct {
	Bytes    uint64
	Messages uint64
}

// Lane decides for one lane of one route: what to ship next, what to ship again, what to close in place of shipping it, and when
// to ask again. Messages leave in the order of their numbers. It is not safe for concurrent use: its owner guards it.
//
// A session begins with Begin; before the first one nothing is shipped. The owner then asks Next until it says no, and again
// after each other call and at Wake.
type Lane struct {
	options Options
	ring    ring
	streams streams
	causes  causes
	zero    time.Time // from which entries count their until

	// last is the highest number offered, held the entries that are not gone.
	last uint64
	held int

	// Positions: below fresh everything was shipped in this session or is gone; below ever it was shipped at some time.
	// Between again and fresh lie all entries that wait to be shipped again.
	fresh, ever, again uint64

	begun bool
	began time.Time
	grant Grant
	// bytes is how many bytes may be unanswered now; share is what the other lanes of the route leave.
	bytes uint64
	share Grant

	unanswered      int
	unansweredBytes uint64

	// quiet is when the lowest message was shipped or anything was answered, whichever is later.
	quiet  time.Time
	resend wait

	// underWay counts the entries on a connection. After a route's hold at most ramp of them may be; 0 means no bound.
	underWay, ramp int

	// route holds all of the lane; refusal holds it at the entry refusedAt.
	route, refusal hold
	refusedAt      uint64

	batch  uint32
	picked []uint64 // positions; reused by each Next
	stats  Stats
}

// NewLane returns an empty lane that waits for its first session.
func NewLane(o Options) *Lane {
	o = o.withDefaults()
	return &Lane{
		options: o,
		share:   Grant{Bytes: math.MaxUint64, Messages: math.MaxUint64},
		resend:  wait{base: o.ResendAfter, max: o.ResendMax},
		picked:  make([]uint64, 0, o.BatchMessages),
	}
}

// Offer appends what the loader read from the spool and whose shipped mark is durable. Numbers rise and are above Last;
// an item that is not above it is known already and ignored.
func (l *Lane) Offer(items []Item) {
	var slot uint32
	for i := range items {
		it := &items[i]
		if it.Number <= l.last {
			continue
		}
		if i == 0 || it.Stream != items[i-1].Stream || l.streams[slot].id != it.Stream {
			slot = l.streams.need(it.Stream)
		}
		l.streams[slot].held++
		e := entry{number: it.Number, until: math.MaxInt64, bytes: uint32(it.Bytes), stream: slot, via: waiting}
		if !it.Until.IsZero() {
			e.until, e.cause = l.since(it.Until), l.causes.slot(it.Cause)
		}
		l.ring.push(e)
		l.last = it.Number
		l.held++
		l.stats.Offered++
	}
}

// Last returns the highest number offered, 0 if none.
func (l *Lane) Last() uint64 { return l.last }

// Room returns how many more items the lane wants to be offered: two windows ahead of what is shipped.
func (l *Lane) Room() int {
	ahead := 2 * uint64(l.options.BatchMessages)
	if l.grant.Messages > ahead/2 {
		ahead = 2 * min(l.grant.Messages, maxAhead)
	}
	return max(0, int(min(ahead, maxAhead))-(l.held-l.unanswered))
}

// Begin starts a session: everything unanswered is to be shipped anew, in order and before anything new, credit is back at
// grant, and holds end.
func (l *Lane) Begin(now time.Time, grant Grant) {
	for p := l.ring.head; p < l.fresh; p++ {
		if e := l.ring.at(p); e.via != gone {
			e.via = waiting
		}
	}
	l.begun, l.began = true, now
	l.grant, l.bytes = grant, grant.Bytes
	l.streams.forgetCredit()
	l.fresh, l.again = l.ring.head, l.ring.head
	l.unanswered, l.unansweredBytes = 0, 0
	l.underWay, l.ramp = 0, 0
	l.quiet, l.resend.tries = now, 0
	l.route, l.refusal = hold{}, hold{}
}

// Credit says that numbers of stream up to through may be shipped, and that at most bytes may be unanswered in the lane.
// Both are absolute; the latest counts. A stream without a Credit goes by Grant.Messages. Whatever the credit, one message of
// the lane may always be unanswered: numbers have gaps, so the next may lie beyond any through that the peer can guess.
func (l *Lane) Credit(stream message.StreamID, through uint64, bytes uint64) {
	l.streams.credit(stream, through)
	l.bytes = bytes
}

// Share bounds the lane by what the other lanes of its route leave of the route's credit; without it, each lane would take
// all of that for itself. One message may be unanswered all the same.
func (l *Lane) Share(left Grant) { l.share = left }

// Lost says that connection via has gone: what it carried unanswered goes first on another.
func (l *Lane) Lost(via int) {
	l.shipAgain(l.ring.head, func(e *entry) bool { return e.via == int32(via) })
}

// shipAgain makes entries wait that were shipped at or above position from.
func (l *Lane) shipAgain(from uint64, which func(*entry) bool) {
	for p := from; p < l.fresh; p++ {
		if e := l.ring.at(p); e.via >= 0 && which(e) {
			e.via = waiting
			l.underWay--
			l.again = min(l.again, p)
		}
	}
}

// Unanswered returns what was shipped in this session and is not answered, and when the oldest of it was first shipped; the
// zero time if there is none.
func (l *Lane) Unanswered() (messages int, bytes int, oldest time.Time) {
	if l.unanswered > 0 {
		oldest = l.began.Add(time.Duration(l.ring.at(l.ring.head).first))
	}
	return l.unanswered, int(l.unansweredBytes), oldest
}

// Stats counts since NewLane.
type Stats struct {
	// Offered messages; Shipped counts every shipment of one, Resent those that were not its first.
	Offered, Shipped, Resent uint64
	// Closed counts, of the shipments, those as a Close.
	Closed uint64
	// Answered messages have ended.
	Answered uint64
	// Timeouts counts batches shipped again because no answer came, Probes the tries of a held lane.
	Timeouts, Probes uint64
}

// Stats returns the counters.
func (l *Lane) Stats() Stats { return l.stats }
