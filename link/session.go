package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"drawbridge/link/flow"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
)

// Causes with which a session ends.
var (
	errSuperseded = errors.New("another session has taken over")
	errReopened   = errors.New("the spool was reopened")
)

// byeWait is how long a parting side waits for the peer to hang up.
const byeWait = 500 * time.Millisecond

// session is one agreement of two spools to exchange frames: what is shipped and answered counts only while it is in force.
// It owns its connections and every goroutine that serves them.
type session struct {
	sessionSetup
	link    *Link
	ctx     context.Context
	cancel  context.CancelCauseFunc
	out     *outbox
	stalled atomic.Bool

	senders   []*sender            // fixed after newSession
	receivers map[string]*receiver // by our queue; fixed after newSession
	shippers  *shippers
	unread    *semaphore.Weighted // bytes of memory for batches that have not come whole

	mu       sync.Mutex // guards what follows; never held over I/O
	live     *flow.Liveness
	heard    time.Time
	lastSeq  uint64
	progress chan struct{} // closed and replaced at each answer and each settle
}

// sessionSetup is what the handshake has agreed on.
type sessionSetup struct {
	id      message.SessionID
	own     spool.Identity // this side's spool as the handshake named it
	peer    peer
	conn    Conn
	stream  Stream
	frames  *protocol.Reader
	dialled bool
}

func newSession(ctx context.Context, l *Link, setup sessionSetup) *session {
	now := time.Now()
	s := &session{
		sessionSetup: setup,
		link:         l,
		out:          newOutbox(),
		receivers:    make(map[string]*receiver),
		live:         flow.NewLiveness(now, l.o.IdleHeartbeat),
		heard:        now,
		progress:     make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.shippers = newShippers(s)
	s.unread = semaphore.NewWeighted(unreadBytes(l.o.MaxMessageBytes))
	for _, send := range l.o.Sends {
		s.senders = append(s.senders, newSender(s, send))
	}
	for _, r := range l.o.Receives {
		s.receivers[r.To] = newReceiver(s, r)
	}
	return s
}

// run serves the session until it ends, and returns when all its goroutines have.
func (s *session) run() {
	l := s.link
	l.noteSession(s)
	g, ctx := errgroup.WithContext(s.ctx)
	if err := s.begin(ctx); err != nil {
		s.end(err)
	}
	g.Go(func() error { return s.readControl() })
	g.Go(func() error { return s.out.writeTo(ctx, s.stream) })
	g.Go(func() error { return s.keepAlive(ctx) })
	g.Go(func() error { s.carry(s.conn); return context.Cause(s.ctx) })
	if s.dialled {
		for range l.o.DataConns {
			g.Go(func() error { return s.dialData(ctx) })
		}
	}
	for _, snd := range s.senders {
		g.Go(func() error { return snd.load(ctx) })
		g.Go(func() error { return snd.settle(ctx) })
	}
	for _, r := range s.receivers {
		g.Go(func() error { return r.decide(ctx) })
	}
	// The first part that fails ends the session, and the end of the session unblocks the parts that wait on a connection.
	stop := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })
	_ = g.Wait()
	stop()
	s.end(errors.New("all parts have returned"))
	s.shippers.wait()
	l.retire(s, context.Cause(s.ctx))
}

// begin puts the session in force in the spool and announces what this side sends.
func (s *session) begin(ctx context.Context) error {
	id, err := s.link.store.BeginSession(ctx, s.link.o.Name, s.id)
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	if id != s.own {
		return errReopened
	}
	if err := s.pass(HookSessionBegun); err != nil {
		return err
	}
	for i, send := range s.link.o.Sends {
		page := &protocol.Resume{Session: s.id, Last: i == len(s.link.o.Sends)-1, Routes: []protocol.ResumeRoute{
			{Name: send.Name, Queue: send.To, Horizon: send.RetryFor},
		}}
		s.send(page)
	}
	s.beat(time.Now())
	return s.pass(HookResumed)
}

// end ends the session with a cause; the first one counts. It tells the peer why, and returns at once. What it closes it
// closes each time: the session's context may have ended before, with the link's.
func (s *session) end(cause error) {
	s.cancel(cause)
	cause = context.Cause(s.ctx)
	code := closeCode(byeCode(cause))
	s.shippers.closeAll(code, cause.Error())
	s.conn.Close(code, cause.Error())
}

// send puts a frame on the control stream. It does not block: a peer that lets frames pile up ends its session, because to
// drop an answer in silence would keep its sender waiting.
func (s *session) send(f protocol.Frame) {
	if !s.out.put(f) {
		s.end(errOutboxFull)
	}
}

// readControl obeys the frames of the control stream until it breaks.
func (s *session) readControl() error {
	for {
		f, err := s.frames.Next()
		if err != nil {
			if gone := s.conn.Err(); gone != nil {
				err = gone
			}
			return fmt.Errorf("control stream of %s: %w", s.conn.RemoteAddr(), err)
		}
		s.hear()
		if err := s.obey(f); err != nil {
			return err
		}
	}
}

func (s *session) obey(f protocol.Frame) error {
	switch f := f.(type) {
	case *protocol.Heartbeat:
		if f.Seq > 0 {
			s.send(&protocol.Heartbeat{Echo: f.Seq})
		}
		if f.Echo > 0 {
			s.link.up(s)
		}
	case *protocol.Resume:
		if f.Session == s.id {
			s.resume(f)
		}
	case *protocol.Accepted:
		if s.counts(f.Answer) {
			s.accepted(f)
		}
	case *protocol.Refused:
		if f.Scope == protocol.ScopeSession {
			return &refusedError{f.Code, f.Text}
		}
		if s.counts(f.Answer) {
			s.refused(f)
		}
	case *protocol.Credit:
		if f.Session == s.id {
			s.credit(f)
		}
	case *protocol.Floor:
		if r, ok := s.receivers[f.Queue]; ok && f.Session == s.id {
			r.floor(f.Stream, f.Floor)
		}
	case *protocol.Use:
		// A Use for the session in force changes nothing; one for another session stands on that one's own stream.
	case *protocol.Bye:
		return fmt.Errorf("the peer said bye: %s (%s)", f.Text, f.Code)
	default:
		return fmt.Errorf("%s sent %s on the control stream", s.conn.RemoteAddr(), f.Type())
	}
	return nil
}

// counts tells answers of the receiver's present opening from those of an earlier one, whose spool may have been put back
// since: believing those would lose messages.
func (s *session) counts(a protocol.Answer) bool {
	return a.Session == s.id && a.Spool == s.peer.spool && a.Epoch == s.peer.epoch
}

func (s *session) resume(f *protocol.Resume) {
	for _, route := range f.Routes {
		if r, ok := s.receivers[route.Queue]; ok {
			r.resume(route)
		}
	}
}

func (s *session) accepted(f *protocol.Accepted) {
	if s.pass(HookAnswered) != nil {
		return
	}
	now := time.Now()
	for _, snd := range s.senders {
		if snd.To == f.Queue {
			snd.accepted(now, f.Stream, f.Ranges)
		}
	}
	s.progressed()
	s.link.up(s)
	s.shippers.wake()
}

func (s *session) refused(f *protocol.Refused) {
	now := time.Now()
	for _, snd := range s.senders {
		if snd.To == f.Queue {
			snd.refused(now, f)
		}
	}
	s.progressed()
	s.link.up(s)
	s.shippers.wake()
}

func (s *session) credit(f *protocol.Credit) {
	for _, snd := range s.senders {
		if snd.To == f.Queue {
			snd.credit(f)
		}
	}
	s.shippers.wake()
}

// hear notes that the peer is alive.
func (s *session) hear() {
	now := time.Now()
	s.mu.Lock()
	before := s.heard
	s.heard = now
	s.live.Heard(now, s.conn.Stats().RTT)
	s.mu.Unlock()
	if s.stalled.CompareAndSwap(true, false) {
		s.shippers.renew(before)
		s.link.sessionChanged()
		s.link.up(s)
	}
}

// keepAlive sends heartbeats, and finds out when the peer has fallen silent.
func (s *session) keepAlive(ctx context.Context) error {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-s.shippers.shipped:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if s.link.store.Identity() != s.own {
			return errReopened
		}
		now := time.Now()
		unanswered := s.unanswered()
		s.mu.Lock()
		s.live.Waiting(now, unanswered > 0)
		due, stalled, silent := s.live.Due(now), s.live.Stalled(now), now.Sub(s.heard)
		wake := s.live.Wake(now)
		s.mu.Unlock()
		if due {
			s.beat(now)
		}
		if stalled {
			s.link.stall(s, silent, unanswered)
			if s.stalled.CompareAndSwap(false, true) {
				s.link.sessionChanged()
			}
		}
		t.Reset(max(wake.Sub(now), time.Millisecond))
	}
}

func (s *session) beat(now time.Time) {
	s.mu.Lock()
	s.lastSeq++
	seq := s.lastSeq
	s.mu.Unlock()
	s.send(&protocol.Heartbeat{Seq: seq})
}

func (s *session) unanswered() (n int) {
	for _, snd := range s.senders {
		n += snd.unanswered()
	}
	return n
}

// bye tells the peer that this side stops, and gives it a moment to hang up itself: a connection that is closed at once
// takes along what it has not sent.
func (s *session) bye() {
	s.send(&protocol.Bye{Code: protocol.CodeShutdown, Text: errShutdown.Error()})
	ctx, cancel := context.WithTimeout(s.ctx, byeWait)
	defer cancel()
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
	}
}

// waitSettled blocks until no answer is awaited or waits for its commit, or until ctx ends.
func (s *session) waitSettled(ctx context.Context) {
	for {
		s.mu.Lock()
		progress := s.progress
		s.mu.Unlock()
		if !slices.ContainsFunc(s.senders, (*sender).unfinished) {
			return
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return
		}
	}
}

// progressed wakes waitSettled.
func (s *session) progressed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.progress)
	s.progress = make(chan struct{})
}

// dialData keeps one data connection open beside the control connection, for as long as the session lasts.
func (s *session) dialData(ctx context.Context) error {
	l := s.link
	const least = 250 * time.Millisecond
	wait := least
	for {
		conn, err := l.dialer.Dial(ctx, s.conn.RemoteAddr(), l.o.Pins)
		if err == nil {
			began := time.Now()
			if err = s.join(ctx, conn); err == nil {
				s.carry(conn)
			}
			conn.Close(closeCode(superseded), "not needed")
			wait = least
			if time.Since(began) > time.Second && ctx.Err() == nil {
				continue
			}
		}
		if !pause(ctx, wait) {
			return context.Cause(ctx)
		}
		wait = min(2*wait, 5*time.Second)
	}
}

func (s *session) join(ctx context.Context, conn Conn) error {
	stream, err := conn.OpenStream(ctx)
	if err != nil {
		return err
	}
	h := &protocol.Hello{
		Versions: protocol.VersionRange{Min: protocol.MinVersion, Max: protocol.MaxVersion},
		Agent:    s.link.o.Agent,
		Spool:    s.own.Spool,
		Epochs:   epochs(s.own),
		Limits:   s.link.limits(),
		Joins:    s.id,
	}
	_, err = stream.Write(protocol.Append(nil, h))
	return err
}

// transport sums up the session's connections.
func (s *session) transport() (conns int, rtt time.Duration, sent, lost uint64) {
	all := s.shippers.conns()
	for _, c := range all {
		st := c.Stats()
		sent += st.PacketsSent
		lost += st.PacketsLost
	}
	return len(all), s.conn.Stats().RTT, sent, lost
}

func (s *session) describe(row *SendStatus, now time.Time) {
	for _, snd := range s.senders {
		if snd.Name == row.Name {
			snd.describe(row, now)
		}
	}
}

// epochs lists the present epoch and the one before, newest first.
func epochs(id spool.Identity) []message.Epoch {
	list := []message.Epoch{id.Epoch}
	if id.Previous != (message.Epoch{}) {
		list = append(list, id.Previous)
	}
	return list
}

func pinBytes(c Conn) []byte {
	p := c.Peer()
	return p[:]
}

const superseded = protocol.CodeSuperseded

// byeCode names the cause of an end for the peer.
func byeCode(cause error) protocol.Code {
	switch {
	case errors.Is(cause, errShutdown), errors.Is(cause, context.Canceled):
		return protocol.CodeShutdown
	case errors.Is(cause, errSuperseded):
		return protocol.CodeSuperseded
	case errors.Is(cause, errReopened), errors.Is(cause, spool.ErrUnknown):
		return protocol.CodeStorage
	}
	return protocol.CodeMalformed
}

// closeCode is the number under which a code closes a connection; only the text beside it is read by people.
func closeCode(c protocol.Code) uint64 {
	switch c {
	case protocol.CodeShutdown:
		return 1
	case protocol.CodeSuperseded:
		return 2
	case protocol.CodeStorage:
		return 3
	case protocol.CodeVersion, protocol.CodeIdentity:
		return 4
	}
	return 5
}
