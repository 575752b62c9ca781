package flow

import "time"

const (
	defaultIdle = 2 * time.Second
	// busyHeartbeat is the time between heartbeats while something waits for an answer.
	busyHeartbeat = 250 * time.Millisecond
	// shortestStall is the least silence that counts as a stall: a scheduler or a lost packet can cost half a second.
	shortestStall = time.Second
	stallRTTs     = 4
	stallIdles    = 3
)

// Liveness decides from what was heard when to send a heartbeat and when the peer counts as stalled. Anything that arrives is
// heard, an echo no more than an answer.
type Liveness struct {
	idle time.Duration
	rtt  time.Duration
	// heard is when anything arrived last, beat when a heartbeat was due last.
	heard, beat time.Time
	waiting     bool
	since       time.Time
}

// NewLiveness begins at now as if the peer had just been heard. Idle is the time between heartbeats while nothing waits for
// an answer; 0 means 2s.
func NewLiveness(now time.Time, idle time.Duration) *Liveness {
	setDefault(&idle, defaultIdle)
	return &Liveness{idle: idle, heard: now, beat: now}
}

// Heard notes that something arrived. Rtt is the connection's smoothed round trip; 0 leaves the one known.
func (l *Liveness) Heard(now time.Time, rtt time.Duration) {
	l.heard = now
	if rtt > 0 {
		l.rtt = rtt
	}
}

// Waiting notes whether something waits for an answer. Saying the same again changes nothing.
func (l *Liveness) Waiting(now time.Time, unanswered bool) {
	if unanswered && !l.waiting {
		l.since = now
	}
	l.waiting = unanswered
}

// Due says that a heartbeat is to be sent now: at most once per period, which is 250 ms while something waits for an answer,
// else the idle time.
func (l *Liveness) Due(now time.Time) (heartbeat bool) {
	if now.Before(l.nextBeat()) {
		return false
	}
	l.beat = now
	return true
}

// nextBeat counts the short period from the moment the wait began: where answers come within it, data is heartbeat enough.
func (l *Liveness) nextBeat() time.Time {
	next := l.beat.Add(l.idle)
	if l.waiting {
		next = earlier(next, later(l.beat, l.since).Add(busyHeartbeat))
	}
	return next
}

// Stalled says that the peer is silent for too long: while something waits for an answer, max(1 s, 4 × RTT) since the last
// sound or since the wait began, whichever is later. An idle peer owes echoes of heartbeats: it is stalled after three idle
// times without a sound, and never sooner than a busy one.
func (l *Liveness) Stalled(now time.Time) bool { return !now.Before(l.stallsAt()) }

func (l *Liveness) stallsAt() time.Time {
	busy := max(shortestStall, stallRTTs*l.rtt)
	at := l.heard.Add(max(busy, stallIdles*l.idle))
	if l.waiting {
		at = earlier(at, later(l.heard, l.since).Add(busy))
	}
	return at
}

// Wake returns the next instant at which Due or Stalled may change if nothing else happens: not after now if Due was not
// asked yet though a heartbeat is due.
func (l *Liveness) Wake(now time.Time) time.Time {
	if stalls := l.stallsAt(); now.Before(stalls) {
		return earlier(stalls, l.nextBeat())
	}
	return l.nextBeat()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
