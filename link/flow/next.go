package flow

import (
	"time"

	"drawbridge/message"
)

// Batch is what one Ship frame carries, or one Close frame.
type Batch struct {
	Stream message.StreamID
	// Closing says that all of the batch is to be closed; else all of it is to be shipped.
	Closing bool
	// Items rise in number. The slice is the caller's.
	Items []Shipment
	// Bytes is the sum over the records.
	Bytes int
	// Resent counts the items that were shipped before, in this session or an earlier one.
	Resent int
}

// Shipment is one message of a batch.
type Shipment struct {
	Number uint64
	// Prev is the nearest lower message of the lane, of any stream, that is not answered now; zero if there is none.
	Prev message.Place
	// Bytes is the size of the record.
	Bytes int
	// Cause is why the message is to be closed.
	Cause message.Reason
}

// Of a Close, the size of an item at most, and how many go into a batch.
const (
	closeBytes    = 300
	closeMessages = 128
)

// Next returns the next batch to ship over connection via, a number from 0 up; false means that nothing may be shipped now.
// The batch counts as shipped: if it did not leave, say Lost. It holds messages of one stream, lowest first. In turn: the
// probe of a held lane; what was lost with a connection; the lowest batch after a long silence; what is new, within credit.
func (l *Lane) Next(now time.Time, via int) (Batch, bool) {
	l.picked = l.picked[:0]
	switch h := l.holding(); {
	case !l.begun || l.held == 0:
	case h != nil:
		if h.due(now) {
			l.picked = append(l.picked, l.ring.head)
			h.probed(now)
			l.stats.Probes++
		}
	case l.pickLost(now):
	case l.pickSilent(now):
		l.resend.grow()
		l.stats.Timeouts++
	default:
		l.pickFresh(now)
	}
	if len(l.picked) == 0 {
		return Batch{}, false
	}
	return l.ship(now, int32(via)), true
}

// Wake returns when to call Next again, after it said no, though nothing else happens; the zero time means never.
func (l *Lane) Wake() time.Time {
	if !l.begun || l.held == 0 {
		return time.Time{}
	}
	if h := l.holding(); h != nil {
		return h.next
	}
	if l.lowestShipped() {
		return l.quiet.Add(l.resend.now())
	}
	return time.Time{}
}

// pickLost picks what waits to be shipped again. It was counted against credit when it was first shipped.
func (l *Lane) pickLost(now time.Time) bool {
	limit := l.fresh
	if l.refusal.on {
		limit = l.refusedAt
	}
	for l.again < limit && l.ring.at(l.again).via != waiting {
		l.again++
	}
	bytes := 0
	for p := l.again; p < limit; p++ {
		e := l.ring.at(p)
		if e.via != waiting {
			continue
		}
		size, ok := l.fits(now, e, bytes)
		if !ok || !l.ramps(p) {
			break
		}
		l.picked = append(l.picked, p)
		bytes += size
	}
	return len(l.picked) > 0
}

// pickSilent picks the lowest unanswered batch when nothing was answered for too long. Only that one: if the far side lacks
// it, it waits for it, and the rest is likely there.
func (l *Lane) pickSilent(now time.Time) bool {
	if !l.lowestShipped() || now.Before(l.quiet.Add(l.resend.now())) {
		return false
	}
	batch, bytes := l.ring.at(l.ring.head).batch, 0
	for p := l.ring.head; p < l.fresh; p++ {
		e := l.ring.at(p)
		if e.via < 0 || e.batch != batch {
			continue
		}
		size, ok := l.fits(now, e, bytes)
		if !ok {
			break // what of the batch is to be closed by now parts from the rest
		}
		l.picked = append(l.picked, p)
		bytes += size
	}
	return true
}

// pickFresh picks what was not shipped in this session, as far as credit goes. While the lane is held at a refused message
// there is nothing for it: that message was shipped, so all that is fresh lies above.
func (l *Lane) pickFresh(now time.Time) {
	if l.refusal.on {
		return
	}
	bytes, records := 0, 0
	for p := l.fresh; p < l.ring.tail; p++ {
		e := l.ring.at(p)
		if e.via == gone {
			continue
		}
		size, ok := l.fits(now, e, bytes)
		if !ok || !l.ramps(p) || !l.credits(e, records) {
			break
		}
		l.picked = append(l.picked, p)
		bytes += size
		records += int(e.bytes)
	}
}

// fits returns what e takes in a frame, and whether the batch that is being picked has room for it: what is shipped and what is
// closed do not mix.
func (l *Lane) fits(now time.Time, e *entry, bytes int) (size int, ok bool) {
	size, most := int(e.bytes), l.options.BatchMessages
	closing := l.closes(now, e)
	if closing {
		size, most = closeBytes, min(most, closeMessages)
	}
	if len(l.picked) == 0 {
		return size, true
	}
	first := l.ring.at(l.picked[0])
	return size, len(l.picked) < most && bytes+size <= l.options.BatchBytes &&
		e.stream == first.stream && closing == (first.closing > 0)
}

// credits says whether the peer lets e be shipped behind what is unanswered and picked. One message may always be unanswered:
// it may be larger than all credit, or its number lie beyond through because the numbers between were never this lane's.
func (l *Lane) credits(e *entry, bytes int) bool {
	messages := uint64(l.unanswered + len(l.picked))
	if messages == 0 {
		return true
	}
	if messages >= min(maxUnanswered, l.share.Messages) {
		return false
	}
	if s := &l.streams[e.stream]; s.credited {
		if e.number > s.through {
			return false
		}
	} else if messages >= l.grant.Messages {
		return false
	}
	return l.unansweredBytes+uint64(bytes)+uint64(e.bytes) <= min(l.bytes, l.share.Bytes)
}

// ramps says whether the entry at position may go though the route was held a moment ago. The lowest always may: the others
// can wait for it at the far side.
func (l *Lane) ramps(position uint64) bool {
	return l.ramp == 0 || position == l.ring.head || l.underWay+len(l.picked) < l.ramp
}

// lowestShipped says that the lowest message is under way.
func (l *Lane) lowestShipped() bool {
	return l.ring.head < l.fresh && l.ring.at(l.ring.head).via >= 0
}

// ship turns the picked entries into a batch under way.
func (l *Lane) ship(now time.Time, via int32) Batch {
	l.batch++
	if l.picked[0] == l.ring.head {
		l.quiet = now
	}
	first := l.ring.at(l.picked[0])
	b := Batch{
		Stream:  l.streams[first.stream].id,
		Closing: l.closes(now, first),
		Items:   make([]Shipment, len(l.picked)),
	}
	for i, p := range l.picked {
		e := l.ring.at(p)
		s := &b.Items[i]
		s.Number, s.Prev, s.Bytes = e.number, l.prev(p), int(e.bytes)
		if b.Closing {
			s.Cause = l.causes[e.closing-1]
		}
		b.Bytes += int(e.bytes)
		if p < l.ever {
			b.Resent++
		}
		if p >= l.fresh {
			e.first = int64(now.Sub(l.began))
			l.unanswered++
			l.unansweredBytes += uint64(e.bytes)
			l.fresh = p + 1
		}
		if e.via == waiting {
			l.underWay++
		}
		e.via, e.batch, e.closed = via, l.batch, b.Closing
	}
	l.ever = max(l.ever, l.fresh)
	l.stats.Shipped += uint64(len(b.Items))
	l.stats.Resent += uint64(b.Resent)
	if b.Closing {
		l.stats.Closed += uint64(len(b.Items))
	}
	return b
}

func (l *Lane) prev(position uint64) message.Place {
	p, ok := l.ring.below(position)
	if !ok {
		return message.Place{}
	}
	e := l.ring.at(p)
	return message.Place{Stream: l.streams[e.stream].id, Number: e.number}
}
