package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"drawbridge/message"
	"drawbridge/protocol"
)

// peer is what the other side said of itself in Hello or Welcome.
type peer struct {
	agent  string
	spool  message.SpoolID
	epoch  message.Epoch
	limits protocol.Limits
}

// refusedError is a refusal that the peer has sent in place of a Welcome.
type refusedError struct {
	code protocol.Code
	text string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the peer refuses: %s (%s)", e.text, e.code)
}

// errVersion is wrapped when this side refuses the peer for the version it speaks.
var errVersion = errors.New("refused here")

// hello brings a session about on a connection that this side has dialled: Hello, Welcome, and the Use of whoever of the
// two has the smaller key hash. It returns when the session is in force and runs, or with what stood in the way.
func (l *Link) hello(ctx context.Context, conn Conn, g *errgroup.Group) (err error) {
	defer func() {
		if err != nil {
			conn.Close(closeCode(protocol.CodeMalformed), err.Error())
		}
	}()
	// Short, because the path has just answered: if it has broken since, a new dial finds out sooner when it is back.
	limit, cancel := context.WithTimeout(ctx, 2*time.Second+6*conn.Stats().RTT)
	defer cancel()
	stream, err := conn.OpenStream(limit)
	if err != nil {
		return fmt.Errorf("open the control stream to %s: %w", conn.RemoteAddr(), err)
	}
	defer context.AfterFunc(limit, stream.Reset)()
	own := l.store.Identity()
	fence, err := l.store.Meta(l.fenceKey())
	if err != nil {
		return fmt.Errorf("read the fence of the last session: %w", err)
	}
	h := &protocol.Hello{
		Versions: protocol.VersionRange{Min: protocol.MinVersion, Max: protocol.MaxVersion},
		Agent:    l.o.Agent,
		Spool:    own.Spool,
		Epochs:   epochs(own),
		Limits:   l.limits(),
	}
	copy(h.Fence[:], fence)
	if _, err := stream.Write(protocol.Append(nil, h)); err != nil {
		return fmt.Errorf("say hello to %s: %w", conn.RemoteAddr(), err)
	}
	frames := protocol.NewReader(stream, l.o.MaxMessageBytes)
	f, err := frames.Next()
	if err != nil {
		return fmt.Errorf("wait for the welcome of %s: %w", conn.RemoteAddr(), err)
	}
	switch w := f.(type) {
	case *protocol.Refused:
		return &refusedError{w.Code, w.Text}
	case *protocol.Welcome:
		if w.Version < protocol.MinVersion || w.Version > protocol.MaxVersion {
			return fmt.Errorf("%w: %s welcomes with version %d, which was not offered", errVersion, conn.RemoteAddr(), w.Version)
		}
		if err := l.o.pass(HookWelcomed); err != nil {
			return err
		}
		// The fence must be durable before the first Ship: a copy of this spool that presents an older one is found out.
		if err := l.store.SetMeta(limit, l.fenceKey(), w.Fence[:]); err != nil {
			return fmt.Errorf("store the fence of the new session: %w", err)
		}
		if err := l.o.pass(HookFenceStored); err != nil {
			return err
		}
		s := newSession(ctx, l, sessionSetup{
			id: w.Session, own: own, conn: conn, stream: stream, frames: frames, dialled: true,
			peer: peer{w.Agent, w.Spool, w.Epochs[0], w.Limits},
		})
		if err := l.agreeOnUse(s); err != nil {
			s.end(err)
			return err
		}
		g.Go(func() error { s.run(); return nil })
		return nil
	default:
		return fmt.Errorf("%s answered Hello with %s", conn.RemoteAddr(), f.Type())
	}
}

// welcome takes a connection that the peer has dialled and returns when it is no longer needed.
func (l *Link) welcome(ctx context.Context, conn Conn) {
	if l.greetings.Add(1) > maxGreetings {
		l.greetings.Add(-1)
		conn.Close(closeCode(protocol.CodeBusy), "too many handshakes at once")
		return
	}
	serve := l.greet(ctx, conn)
	l.greetings.Add(-1)
	if serve != nil {
		serve()
	}
}

// greet answers a Hello with a session, or adds a data connection to the session it names. It returns what is to be done with
// the connection, nil if it was closed.
func (l *Link) greet(ctx context.Context, conn Conn) (serve func()) {
	limit, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	stream, err := conn.AcceptStream(limit)
	if err != nil {
		conn.Close(closeCode(protocol.CodeMalformed), "no control stream")
		return nil
	}
	defer context.AfterFunc(limit, stream.Reset)()
	frames := protocol.NewReader(stream, l.o.MaxMessageBytes)
	f, err := frames.Next()
	if err != nil {
		conn.Close(closeCode(protocol.CodeMalformed), "no Hello: "+err.Error())
		return nil
	}
	h, ok := f.(*protocol.Hello)
	if !ok {
		conn.Close(closeCode(protocol.CodeMalformed), "the first frame is not Hello")
		return nil
	}
	version, err := protocol.Negotiate(h.Versions)
	if err != nil {
		refuse(limit, conn, stream, protocol.CodeVersion, err.Error())
		l.note(fmt.Errorf("%w: %w", errVersion, err))
		return nil
	}
	if h.Joins != (message.SessionID{}) {
		if s := l.waitForSession(limit, h.Joins); s != nil {
			return func() { s.carry(conn) }
		}
		conn.Close(closeCode(superseded), "that session is not in force")
		return nil
	}
	own := l.store.Identity()
	w := &protocol.Welcome{
		Version: version,
		Agent:   l.o.Agent,
		Spool:   own.Spool,
		Epochs:  epochs(own),
		Limits:  l.limits(),
		Session: message.NewSessionID(),
		Fence:   message.NewSessionID(),
	}
	s := newSession(ctx, l, sessionSetup{
		id: w.Session, own: own, conn: conn, stream: stream, frames: frames,
		peer: peer{h.Agent, h.Spool, h.Epochs[0], h.Limits},
	})
	if _, err := stream.Write(protocol.Append(nil, w)); err != nil {
		s.end(fmt.Errorf("say welcome to %s: %w", conn.RemoteAddr(), err))
		return nil
	}
	if err := l.agreeOnUse(s); err != nil {
		s.end(err)
		return nil
	}
	return s.run
}

// agreeOnUse puts s in force if the chooser says so. The agent with the smaller key hash chooses, so that two agents that
// dial each other at the same moment end up with the same session.
func (l *Link) agreeOnUse(s *session) error {
	if bytes.Compare(l.o.Self[:], pinBytes(s.conn)) < 0 {
		u := l.nextUse()
		if !l.install(s, u) {
			return errSuperseded
		}
		_, err := s.stream.Write(protocol.Append(nil, &protocol.Use{Session: s.id, Order: u.order}))
		if err != nil {
			l.retire(s, err)
			return fmt.Errorf("say use to %s: %w", s.conn.RemoteAddr(), err)
		}
		return nil
	}
	f, err := s.frames.Next()
	if err != nil {
		return fmt.Errorf("wait for %s to put the session to use: %w", s.conn.RemoteAddr(), err)
	}
	u, ok := f.(*protocol.Use)
	if !ok || u.Session != s.id {
		return fmt.Errorf("%s sent %s where Use was due", s.conn.RemoteAddr(), f.Type())
	}
	if !l.install(s, useOrder{chooser: s.peer.epoch, order: u.Order}) {
		return errSuperseded
	}
	return nil
}

// waitForSession returns the session of that id once it is in force: a data connection may overtake the Use.
func (l *Link) waitForSession(ctx context.Context, id message.SessionID) *session {
	for {
		s, changed := l.current()
		if s != nil && s.id == id {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *Link) fenceKey() string { return "link/" + l.o.Name + "/fence" }

func (l *Link) limits() protocol.Limits {
	return protocol.Limits{MaxMessageBytes: l.o.MaxMessageBytes, CreditBytes: l.o.CreditBytes, CreditMessages: l.o.CreditMessages}
}

// refuse says no in words before it closes. The peer closes first when it has read them; the limit is for one that does not.
func refuse(limit context.Context, conn Conn, stream Stream, code protocol.Code, text string) {
	_, _ = stream.Write(protocol.Append(nil, &protocol.Refused{Scope: protocol.ScopeSession, Code: code, Text: text}))
	_ = stream.Close()
	select {
	case <-conn.Done():
	case <-limit.Done():
	}
	conn.Close(closeCode(code), text)
}
