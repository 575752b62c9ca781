package flow

import (
	"time"

	"drawbridge/message"
)

// Answered ends messages of stream: the peer has answered accepted, duplicate or below for ranges. It returns the numbers
// that the spool shall settle, as ranges over this lane; a range may span numbers that the lane never held or that ended
// before, but none that it still holds. Numbers that are gone, or that this lane never shipped, are ignored: a peer cannot
// end what it was not given. An answer that ends something ends a Hold.
func (l *Lane) Answered(now time.Time, stream message.StreamID, ranges []message.Range) (settle []message.Range) {
	slot, ok := l.streams.find(stream)
	if !ok {
		return nil
	}
	before := l.held
	for _, r := range ranges {
		settle = l.end(slot, r, settle)
	}
	if len(settle) == 0 {
		return nil
	}
	l.quiet, l.resend.tries = now, 0
	l.growRamp(before - l.held)
	l.route = hold{}
	if l.refusal.on && l.ring.at(l.refusedAt).via == gone {
		l.refusal = hold{}
	}
	l.ring.dropGone()
	l.fresh = max(l.fresh, l.ring.head)
	l.again = max(l.again, l.ring.head)
	return settle
}

// end marks the entries in r as gone and appends their numbers to settle, one range for each run without a held entry.
func (l *Lane) end(slot uint32, r message.Range, settle []message.Range) []message.Range {
	joins := false
	for p := l.ring.search(r.First); p < l.ever; p++ {
		e := l.ring.at(p)
		if e.number > r.Last {
			break
		}
		switch {
		case e.via == gone:
			continue
		case e.stream != slot:
			joins = false
			continue
		}
		if joins {
			settle[len(settle)-1].Last = e.number
		} else {
			settle = append(settle, message.Range{First: e.number, Last: e.number})
		}
		joins = true
		l.gone(p, e)
	}
	return settle
}

func (l *Lane) gone(position uint64, e *entry) {
	if e.via != waiting {
		l.underWay--
	}
	e.via = gone
	l.held--
	l.streams[e.stream].held--
	l.stats.Answered++
	if position < l.fresh {
		l.unanswered--
		l.unansweredBytes -= uint64(e.bytes)
	}
}

// growRamp lets one more message be under way for each that was answered, from the answer on that ends a route's hold. A
// peer that is full again after a few messages has then dropped about as many as it took, not a whole window each second.
func (l *Lane) growRamp(answered int) {
	if l.route.on {
		l.ramp = 1
	}
	if l.ramp > 0 {
		l.ramp += answered
	}
}
