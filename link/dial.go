package link

import (
	"context"
	"errors"
	"time"
)

// handshakeTimeout bounds how long a connection that the peer has dialled may take to say its first words.
const handshakeTimeout = 10 * time.Second

// maxGreetings bounds the connections of one peer that have not said them yet.
const maxGreetings = 32

// race dials until one connection stands and returns it. Attempts overlap: each begins at its own moment, whatever became
// of those before, because an attempt that fell into an outage is of no use when the outage ends. An error of identity ends
// the race as a refusal, which the caller waits out slowly. Any other failure is noted and the race goes on; it ends
// without a connection only with ctx, or when the session in force is heard again. An address whose handshake fails is not
// tried again before the others.
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
	next := time.NewTimer(l.firstWait())
	defer next.Stop()
	for {
		_, changed := l.current()
		select {
		case <-next.C:
			addr := l.o.Addresses[l.attempt%len(l.o.Addresses)]
			l.attempt++
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

// firstWait is the wait before the first dial of a race: none when the link has just gone down, but a step of the redial
// when a handshake has failed, or when sessions end as soon as they begin and each of them costs both sides a commit.
func (l *Link) firstWait() time.Duration {
	wait := l.redial.NextBackOff()
	if young := time.Since(l.status.began()) < youngSession; wait == 0 && young {
		wait = l.redial.NextBackOff()
	}
	return wait
}

// youngSession is the age below which a session that ends is a sign of trouble that dialling at once does not mend.
const youngSession = time.Second
