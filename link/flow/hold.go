package flow

import (
	"time"

	"drawbridge/message"
)

// hold is why nothing but a probe of the lowest message is shipped, and when the next probe is.
type hold struct {
	on     bool
	reason string
	next   time.Time
	wait   wait
}

func (l *Lane) newHold(now time.Time, reason string) hold {
	w := wait{base: l.options.Probe, max: l.options.ProbeMax}
	return hold{on: true, reason: reason, next: now.Add(w.now()), wait: w}
}

func (h *hold) due(now time.Time) bool { return !now.Before(h.next) }

func (h *hold) probed(now time.Time) {
	h.wait.grow()
	h.next = now.Add(h.wait.now())
}

// Hold says that the route is refused or the peer is full: until an answer ends a message or a session begins, only the
// lowest message is tried, alone, with growing waits. What is under way counts as dropped by the peer and is shipped again
// afterwards, two messages at first and one more for each answer. A Hold while it lasts changes only the reason: each of many refused batches says it.
func (l *Lane) Hold(now time.Time, reason string) {
	if !l.route.on {
		l.route = l.newHold(now, reason)
		l.shipAgain(l.ring.head, func(*entry) bool { return true })
	}
	l.route.reason = reason
}

// HoldAt says that a message can neither be shipped nor be closed: nobody can read here what it is. The lane holds at it:
// lower messages go on, nothing at or above it is shipped but itself, alone, with growing waits once it is the lowest; what
// was under way above it is shipped again afterwards. Its own answer ends the hold. A number that is not under way in this
// session is ignored.
func (l *Lane) HoldAt(now time.Time, stream message.StreamID, number uint64, reason string) {
	at, ok := l.shipped(stream, number)
	if !ok || l.refusal.on && l.refusedAt < at {
		return
	}
	if !l.refusal.on || l.refusedAt != at {
		l.refusal, l.refusedAt = l.newHold(now, reason), at
		l.shipAgain(at, func(*entry) bool { return true })
	}
	l.refusal.reason = reason
}

// shipped returns the position of a message that is under way in this session.
func (l *Lane) shipped(stream message.StreamID, number uint64) (position uint64, ok bool) {
	slot, ok := l.streams.find(stream)
	p := l.ring.search(number)
	if !ok || p >= l.fresh {
		return 0, false
	}
	e := l.ring.at(p)
	return p, e.number == number && e.stream == slot && e.via != gone
}

// Held says why the lane ships nothing but probes, if so: the route's reason, else that of the message that cannot be read.
func (l *Lane) Held() (reason string, ok bool) {
	if l.route.on {
		return l.route.reason, true
	}
	return l.refusal.reason, l.refusal.on
}

// holding returns the hold under which only the lowest message may leave, nil if there is none.
func (l *Lane) holding() *hold {
	switch {
	case l.route.on:
		return &l.route
	case l.refusal.on && l.refusedAt == l.ring.head:
		return &l.refusal
	}
	return nil
}
