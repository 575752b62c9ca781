package link

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"drawbridge/message"
	"drawbridge/protocol"
)

// State is one word for how a link is. The same words stand in API, command line and log.
type State string

const (
	// Connecting: no session is in force, or the one in force was not answered yet.
	Connecting State = "connecting"
	// Up: answers come back.
	Up State = "up"
	// Stalled: a session is in force, something waits for an answer, and nothing is heard.
	Stalled State = "stalled"
	// RemoteFull: the peer has no room for a route's messages.
	RemoteFull State = "remote-full"
	// LedgerFull: the peer's ledger of ids has no room for a route's messages.
	LedgerFull State = "ledger-full"
	// Refused: one of both sides refuses the other: wrong key or wrong version.
	Refused State = "refused"
	// Draining: the agent is shutting down.
	Draining State = "draining"
)

// Status is a link as of now, for people and their tools.
type Status struct {
	Name   string
	State  State
	Reason string
	Since  time.Time
	// Peer is the pin that the peer proved, or must prove; PeerAgent its name once it has said so.
	Peer      Pin
	PeerAgent string
	Address   string
	Session   string
	RTT       time.Duration
	// Connections counts those of the session, control included; the packet counts are sums over them.
	Connections              int
	PacketsSent, PacketsLost uint64
	LastError                string
	LastErrorAt              time.Time
	Sends                    []SendStatus
	Receives                 []ReceiveStatus
}

// SendStatus is one route out.
type SendStatus struct {
	Send
	// Held says why nothing is shipped although the link is up; empty if nothing hinders.
	Held             string
	Unanswered       int
	UnansweredBytes  int
	OldestUnanswered time.Duration
	// Settled messages were brought over, Buried ones became dead letters.
	Settled, Buried, Resent uint64
}

// ReceiveStatus is one route in, counted since the agent started.
type ReceiveStatus struct {
	Receive
	// Horizon is the longest the peer may retry a message, as it has announced; 0 for without end or not yet announced.
	Horizon time.Duration
	// Refusal says why nothing is taken on the route; empty if all is well.
	Refusal                               string
	Accepted, Duplicates, Closed, Refused uint64
}

// tally counts what a route has done since the agent started, over all sessions.
type tally struct {
	settled, buried, resent               atomic.Uint64
	horizon                               atomic.Int64           // nanoseconds, of a route in
	refusal                               atomic.Pointer[string] // of a route in; nil if it is taken
	accepted, duplicates, closed, refused atomic.Uint64
}

// refuse notes why a route in is not taken, nil if it is, and reports whether that is news.
func (t *tally) refuse(refusal error) (changed bool) {
	if refusal == nil {
		return t.refusal.Swap(nil) != nil
	}
	text := refusal.Error()
	before := t.refusal.Swap(&text)
	return before == nil || *before != text
}

// status is what a link last said of itself.
type status struct {
	mu          sync.Mutex
	state       State
	reason      string
	since       time.Time
	downSince   time.Time
	attempts    int
	upSession   message.SessionID // the session that was last up
	sessionAt   time.Time         // when the last session began
	peerAgent   string
	address     string
	lastError   string
	lastErrorAt time.Time
}

func newStatus(now time.Time) *status {
	return &status{state: Connecting, reason: "no session yet", since: now, downSince: now}
}

// set changes state and reason and reports whether the state is another one now.
func (s *status) set(state State, reason string, now time.Time) (was State, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.state
	if was == Draining {
		return was, false // the last word
	}
	if was != state {
		s.since = now
	}
	s.state, s.reason = state, reason
	return was, was != state
}

// Status returns the link as of now. It does not block.
func (l *Link) Status() Status {
	now := time.Now()
	st := Status{Name: l.o.Name, Peer: l.o.Pins[0]}
	s, _ := l.current()
	l.status.mu.Lock()
	st.State, st.Reason, st.Since = l.status.state, l.status.reason, l.status.since
	if st.State == Connecting {
		st.Reason += l.status.soFar(now)
	}
	st.PeerAgent, st.Address = l.status.peerAgent, l.status.address
	st.LastError, st.LastErrorAt = l.status.lastError, l.status.lastErrorAt
	l.status.mu.Unlock()
	if s != nil {
		st.Peer, st.Session = s.conn.Peer(), s.id.String()
		st.Connections, st.RTT, st.PacketsSent, st.PacketsLost = s.transport()
	}
	for _, send := range l.o.Sends {
		t := l.tallies["send "+send.Name]
		row := SendStatus{Send: send, Settled: t.settled.Load(), Buried: t.buried.Load(), Resent: t.resent.Load()}
		if s != nil {
			s.describe(&row, now)
		}
		st.Sends = append(st.Sends, row)
	}
	for _, r := range l.o.Receives {
		t := l.tallies["receive "+r.To]
		row := ReceiveStatus{
			Receive: r, Horizon: time.Duration(t.horizon.Load()),
			Accepted: t.accepted.Load(), Duplicates: t.duplicates.Load(), Closed: t.closed.Load(), Refused: t.refused.Load(),
		}
		if refusal := t.refusal.Load(); refusal != nil {
			row.Refusal = *refusal
		}
		st.Receives = append(st.Receives, row)
	}
	if st.State == Up {
		for _, row := range st.Sends {
			switch holdCode(row.Held) {
			case protocol.CodeRemoteFull:
				st.State, st.Reason = RemoteFull, fmt.Sprintf("queue %q: %s", row.To, row.Held)
			case protocol.CodeLedgerFull:
				st.State, st.Reason = LedgerFull, fmt.Sprintf("queue %q: %s", row.To, row.Held)
			}
		}
	}
	return st
}

// up notes that the session's answers come back.
func (l *Link) up(s *session) {
	if inForce, _ := l.current(); inForce != s {
		return
	}
	now := time.Now()
	l.status.mu.Lock()
	downFor, attempts, again := now.Sub(l.status.downSince), l.status.attempts, l.status.upSession == s.id
	l.status.attempts, l.status.upSession = 0, s.id
	l.status.mu.Unlock()
	if _, changed := l.status.set(Up, "answers come back", now); !changed && again {
		return
	}
	l.wasUp.Store(true)
	if again {
		l.log.Info("link heard again", "peer", s.peer.agent, "address", s.conn.RemoteAddr())
		return
	}
	l.log.Info("link up", "peer", s.peer.agent, "address", s.conn.RemoteAddr(), "session", s.id, "down_for", downFor.Round(time.Millisecond), "attempts", attempts)
}

// down notes that the session has ended.
func (l *Link) down(cause error) {
	now := time.Now()
	l.status.mu.Lock()
	if l.status.state == Up {
		l.status.downSince = now
	}
	l.status.lastError, l.status.lastErrorAt = cause.Error(), now
	l.status.mu.Unlock()
	if isRefusal(cause) {
		l.refused(cause, now)
		return
	}
	reason := "the session has ended: " + cause.Error()
	if len(l.o.Addresses) == 0 {
		reason += "; waiting for the peer to dial: no addresses are configured here"
	}
	if _, changed := l.status.set(Connecting, reason, now); changed {
		l.log.Warn("link down", "peer", l.peerAgent(), "error", cause)
	}
}

// stall notes that nothing is heard though something waits for an answer.
func (l *Link) stall(s *session, silent time.Duration, unanswered int) {
	now := time.Now()
	reason := fmt.Sprintf("nothing heard from %s for %s", s.conn.RemoteAddr(), silent.Round(100*time.Millisecond))
	if unanswered > 0 {
		reason += fmt.Sprintf(" while %d messages wait for an answer", unanswered)
	}
	if len(l.o.Addresses) > 0 {
		reason += "; dialling anew"
	} else {
		reason += "; waiting for the peer to dial: no addresses are configured here"
	}
	l.status.mu.Lock()
	refused := l.status.state == Refused
	if l.status.state == Up {
		l.status.downSince = now.Add(-silent)
	}
	l.status.mu.Unlock()
	if refused {
		return // by whoever answers the dials now, which says more than the silence of the old connection
	}
	if _, changed := l.status.set(Stalled, reason, now); changed {
		l.log.Warn("link stalled", "peer", s.peer.agent, "address", s.conn.RemoteAddr(), "silent", silent.Round(time.Millisecond), "unanswered", unanswered)
	}
}

// dials counts a dial that has begun.
func (l *Link) dials() {
	l.status.mu.Lock()
	l.status.attempts++
	l.status.mu.Unlock()
}

// note keeps an error of a dial or a handshake. It logs only when the state changes: a link that is down for a week writes
// one line, not two million.
func (l *Link) note(err error) {
	now := time.Now()
	l.status.mu.Lock()
	first := l.status.lastError == ""
	l.status.lastError, l.status.lastErrorAt = err.Error(), now
	state := l.status.state
	l.status.mu.Unlock()
	if s, _ := l.current(); s != nil && !s.stalled.Load() {
		return // a connection that came to nothing beside one that stands
	}
	if isRefusal(err) {
		l.refused(err, now)
		return
	}
	if state == Refused {
		l.status.set(Connecting, "the peer refused this side before", now)
	}
	if state == Refused || state == Connecting && first {
		l.log.Warn("link connecting", "error", err)
	}
}

func (l *Link) refused(err error, now time.Time) {
	if _, changed := l.status.set(Refused, err.Error(), now); changed {
		l.log.Error("link refused", "error", err)
	}
}

// soFar says how the dialling goes, for as long as a link is down.
func (s *status) soFar(now time.Time) string {
	if s.attempts == 0 {
		return ""
	}
	text := fmt.Sprintf("; no answer for %s, %d dials", now.Sub(s.downSince).Round(time.Second), s.attempts)
	if s.lastErrorAt.After(s.downSince) {
		text += "; last error: " + s.lastError
	}
	return text
}

// noteSession keeps who and where the peer is, for as long as the link is down too.
func (l *Link) noteSession(s *session) {
	now := time.Now()
	l.status.mu.Lock()
	defer l.status.mu.Unlock()
	l.status.peerAgent, l.status.address, l.status.sessionAt = s.peer.agent, s.conn.RemoteAddr(), now
	if l.status.state == Refused {
		l.status.state, l.status.since = Connecting, now
	}
	if l.status.state == Connecting {
		l.status.reason = "a session stands, its first answer is awaited"
	}
}

// began returns when the last session began, the zero time if there was none.
func (s *status) began() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionAt
}

func (l *Link) peerAgent() string {
	l.status.mu.Lock()
	defer l.status.mu.Unlock()
	return l.status.peerAgent
}

// isRefusal tells errors that only an operator can mend from those that time mends.
func isRefusal(err error) bool {
	var refused *refusedError
	return errors.Is(err, ErrIdentity) || errors.Is(err, errVersion) || errors.As(err, &refused)
}
