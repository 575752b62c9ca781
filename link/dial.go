package link

import (
	"context"
	"errors"
	"time"
)

// handshakeTimeout bounds how long a connection that the peer has dialled may take to say its first words.
const handshakeTimeout = 10 * time.Second

// race dials until one connection stands and returns it. Attempts overlap: each begins at its own moment, whatever became
// of those before, because an attempt that fell into an outage is of no use when the outage ends. An error of identity ends
// the race as a refusal, which the caller waits out slowly. Any other failure is noted and the race goes on; it ends
// without a connection only with ctx, or when the session in force is heard again.
func (l *Link) race(ctx context.Context) (Conn, error) {
	dialing, cancel := context.WithCancel(ctx)
	type result struct {
		conn Conn
		err  error
	}
	results := make(chan result)
	running := 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			if r := <-results; r.conn != nil {
				r.conn.Close(closeCode(superseded), "another connection was faster")
			}
		}
	}()
	next := time.NewTimer(0)
	defer next.Stop()
	for attempt := 0; ; {
		_, changed := l.current()
		select {
		case <-next.C:
			addr := l.o.Addresses[attempt%len(l.o.Addresses)]
			attempt++
			running++
			l.dials()
			go func() {
				conn, err := l.dialer.Dial(dialing, addr, l.o.Pins)
				results <- result{conn, err}
			}()
			next.Reset(l.redial.NextBackOff())
		case r := <-results:
			running--
			if r.err == nil {
				return r.conn, nil
			}
			if dialing.Err() == nil {
				l.note(r.err)
			}
			if errors.Is(r.err, ErrIdentity) {
				next.Reset(l.slow.NextBackOff())
			}
		case <-changed:
			if s, _ := l.current(); s != nil && !s.stalled.Load() {
				return nil, errNotNeeded
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errNotNeeded is returned by race when a session is in force again before a dial succeeded.
var errNotNeeded = errors.New("the link is up")

// backOff is the wait after a failed handshake: short after an accident, long after a refusal.
func (l *Link) backOff(err error) time.Duration {
	if isRefusal(err) {
		return l.slow.NextBackOff()
	}
	return l.redial.NextBackOff()
}
