package flow

import (
	"math"
	"slices"
	"time"

	"drawbridge/message"
)

// Close begins to end messages of stream: from now on a Close leaves in the place of each, and what is under way of them
// leaves so again at once. Only an answer ends them, and a new session takes nothing back. One that is being closed already,
// or is past its Until, keeps its first cause; a number that the lane does not hold is ignored. A message with an Until begins
// to be closed when its turn to leave comes after it; no timer is needed, since what does not leave need not be closed.
func (l *Lane) Close(now time.Time, stream message.StreamID, r message.Range, cause message.Reason) {
	slot := l.causes.slot(cause)
	for p := range l.heldIn(stream, r) {
		e := l.ring.at(p)
		if !l.closes(now, e) {
			e.closing = slot
		}
		if p < l.fresh && e.via >= 0 && !e.closed {
			e.via = waiting
			l.underWay--
			l.again = min(l.again, p)
		}
	}
}

// HeldIn returns the numbers of stream in r that an Answered would end, in order: what was never shipped is not among them.
func (l *Lane) HeldIn(stream message.StreamID, r message.Range) (numbers []uint64) {
	for p := range l.heldIn(stream, r) {
		if p >= l.ever {
			break
		}
		numbers = append(numbers, l.ring.at(p).number)
	}
	return numbers
}

// heldIn yields the positions of what is held of stream in r.
func (l *Lane) heldIn(stream message.StreamID, r message.Range) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		slot, ok := l.streams.find(stream)
		if !ok {
			return
		}
		for p := l.ring.search(r.First); p < l.ring.tail; p++ {
			e := l.ring.at(p)
			if e.number > r.Last || e.via != gone && e.stream == slot && !yield(p) {
				return
			}
		}
	}
}

// closes tells whether e leaves as a Close at now. The clock is read only for what has an Until: most have none.
func (l *Lane) closes(now time.Time, e *entry) bool {
	return e.closing > 0 || e.until < math.MaxInt64 && l.falls(now, e)
}

// falls begins to close e if its Until has come.
func (l *Lane) falls(now time.Time, e *entry) bool {
	if l.since(now) < e.until {
		return false
	}
	e.closing = e.cause
	return true
}

// since counts from the zero of the lane, which is the first instant that it hears of.
func (l *Lane) since(t time.Time) int64 {
	if l.zero.IsZero() {
		l.zero = t
	}
	return int64(t.Sub(l.zero))
}

// causes are the reasons that entries name by their slot, counted from 1. There are as many as this program has words for.
type causes []message.Reason

func (c *causes) slot(cause message.Reason) uint8 {
	i := slices.Index(*c, cause)
	if i < 0 {
		i = len(*c)
		*c = append(*c, cause)
	}
	return uint8(i + 1)
}
