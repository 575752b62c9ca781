package localapi

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// maxConns is how many clients may be connected at once. Each may hold two buffers and as much as maxHeaderBytes.
const maxConns = 512

// fullAnswer is what a client is told for whom there is no room. Its request has not been looked at.
const fullAnswer = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" +
	`{"title":"too many connections","status":429,"code":"busy","detail":"All connections that the agent takes are in use. Nothing was changed; repeat the call."}` + "\n"

// bounded is a listener that never has more than maxConns connections open. A newcomer gets the place of the connection that
// has been without a request for longest, so that clients who only hold connections, or dribble the first lines of a request,
// cannot keep out those who ask for something. Only if every place serves a request is it turned away.
type bounded struct {
	net.Listener
	log hclog.Logger

	mu     sync.Mutex             // guards what follows; never held over I/O
	idle   map[net.Conn]time.Time // without a request since
	busy   map[net.Conn]struct{}
	told   time.Time // when the log was last told that all are busy
	ending sync.WaitGroup
}

func newBounded(l net.Listener, log hclog.Logger) *bounded {
	return &bounded{Listener: l, log: log, idle: make(map[net.Conn]time.Time), busy: make(map[net.Conn]struct{})}
}

// Accept returns the next connection there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.admit(c) {
			return c, nil
		}
		_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // it fits into the empty buffer of any socket
		_, _ = io.WriteString(c, fullAnswer)
		_ = c.Close()
	}
}

func (b *bounded) admit(c net.Conn) bool {
	now := time.Now()
	b.mu.Lock()
	var leaves net.Conn
	tell := false
	full := len(b.idle)+len(b.busy) >= maxConns
	if full {
		leaves = b.longestIdleLocked()
		delete(b.idle, leaves)
		if tell = leaves == nil && now.Sub(b.told) > time.Minute; tell {
			b.told = now
		}
	}
	admitted := !full || leaves != nil
	if admitted {
		b.idle[c] = now
		b.ending.Add(1)
	}
	b.mu.Unlock()
	if leaves != nil {
		_ = leaves.Close()
	}
	if tell {
		b.log.Warn("clients are turned away: every connection serves a request", "count", maxConns)
	}
	return admitted
}

func (b *bounded) longestIdleLocked() (longest net.Conn) {
	for c, since := range b.idle {
		if longest == nil || since.Before(b.idle[longest]) {
			longest = c
		}
	}
	return longest
}

// note is told of each change of a connection.
func (b *bounded) note(c net.Conn, state http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch state {
	case http.StateActive:
		delete(b.idle, c)
		b.busy[c] = struct{}{}
	case http.StateIdle:
		delete(b.busy, c)
		b.idle[c] = time.Now()
	case http.StateClosed:
		delete(b.idle, c)
		delete(b.busy, c)
		b.ending.Done()
	}
}

// wait returns when every connection that was admitted has ended.
func (b *bounded) wait() { b.ending.Wait() }
