// Package quic carries links over QUIC: one UDP socket on which an agent both listens and dials, TLS 1.3 in which both sides
// prove the key the other expects, and connections that end with a reason an operator can read. It knows no frames and no
// peers; which keys are welcome it is told.
package quic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
)

// Options say whom an Endpoint lets in.
type Options struct {
	// Allow tells whether the holder of a key may connect to us. It is asked in each handshake and must not block. Without
	// it nobody may.
	Allow func(link.Pin) bool
	// Refused, if set, is told of each handshake that Allow ended: the key its peer proved and where it came from. It must
	// not block, and has to expect the same peer again and again.
	Refused func(pin link.Pin, addr string)
}

const (
	handshakeIdleTimeout = 5 * time.Second
	// idleTimeout only clears away what is dead; a link notices silence by its own heartbeats, much earlier.
	idleTimeout = 30 * time.Second
	// keepAlive keeps the address mappings of NAT routers, some of which last 15 s.
	keepAlive = 10 * time.Second

	// connectionIDBytes is twice quic-go's default. A stateless reset shows the token of any id that is not in use to
	// whoever asks, and as the key behind the tokens never changes, ids must be too many to collect.
	connectionIDBytes = 8
)

// config suits both sides of every connection.
func config() *quicgo.Config {
	return &quicgo.Config{
		HandshakeIdleTimeout: handshakeIdleTimeout,
		MaxIdleTimeout:       idleTimeout,
		KeepAlivePeriod:      keepAlive,
		// Paths with an MTU of 1228 to 1308 bytes would swallow the default first packet.
		InitialPacketSize: 1200,
		// A link may have 64 connections, and each may pin as much as its window while the disk is slow.
		InitialStreamReceiveWindow:     512 << 10,
		MaxStreamReceiveWindow:         2 << 20,
		InitialConnectionReceiveWindow: 768 << 10,
		MaxConnectionReceiveWindow:     3 << 20,
		MaxIncomingStreams:             16,
		MaxIncomingUniStreams:          1024,
	}
}

// Endpoint listens and dials on one socket. It implements link.Dialer, and may be shared.
type Endpoint struct {
	id        *Identity
	socket    net.PacketConn
	transport *quicgo.Transport
	listener  *quicgo.Listener
	names     *resolver

	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
}

var _ link.Dialer = (*Endpoint)(nil)

// Listen starts an endpoint on pc, which then belongs to it, also when Listen fails.
func Listen(pc net.PacketConn, id *Identity, o Options) (*Endpoint, error) {
	key, err := id.resetKey()
	if err != nil {
		return nil, errors.Join(err, pc.Close())
	}
	var door door
	transport := &quicgo.Transport{
		Conn:                pc,
		ConnectionIDLength:  connectionIDBytes,
		StatelessResetKey:   key,
		VerifySourceAddress: door.mustProveAddress,
		ConnContext:         door.enter,
	}
	listener, err := transport.Listen(id.listenTLS(o), config())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", pc.LocalAddr(), errors.Join(err, transport.Close(), pc.Close()))
	}
	return &Endpoint{
		id:        id,
		socket:    pc,
		transport: transport,
		listener:  listener,
		names:     newResolver(pc.LocalAddr()),
		open:      make(map[*conn]struct{}),
	}, nil
}

// Addr is where the endpoint listens.
func (e *Endpoint) Addr() net.Addr { return e.socket.LocalAddr() }

// Dial connects to addr (host:port). A name with several addresses is dialled at one of them, the next call takes the next.
//
// The peer looks at our key only after our side of the handshake is complete: a peer that does not know us ends the
// connection one round trip later, and then the connection's errors wrap link.ErrIdentity too.
func (e *Endpoint) Dial(ctx context.Context, addr string, pins []link.Pin) (link.Conn, error) {
	remote, turn, err := e.names.next(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	q, err := e.transport.Dial(ctx, remote, e.id.dialTLS(pins), config())
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", describe(addr, remote), explainDial(err, e.id.pin))
	}
	e.names.worked(addr, turn)
	c := newConn(q, e.id.pin)
	if !e.keep(c) {
		return nil, fmt.Errorf("dial %s: %w", addr, net.ErrClosed)
	}
	return c, nil
}

// describe tells which of the addresses of a name was meant.
func describe(addr string, remote *net.UDPAddr) string {
	if ip := remote.String(); ip != addr {
		return fmt.Sprintf("%s (%s)", addr, ip)
	}
	return addr
}

// Accept waits for a connection of a peer that Allow lets in. After Close its error wraps net.ErrClosed.
func (e *Endpoint) Accept(ctx context.Context) (link.Conn, error) {
	q, err := e.listener.Accept(ctx)
	if err != nil {
		return nil, fmt.Errorf("accept on %s: %w", e.Addr(), err)
	}
	c := newConn(q, e.id.pin)
	if !e.keep(c) {
		return nil, fmt.Errorf("accept on %s: %w", e.Addr(), net.ErrClosed)
	}
	return c, nil
}

// keep remembers c until it ends, for Close. It closes c and returns false if Close came first.
func (e *Endpoint) keep(c *conn) bool {
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.open[c] = struct{}{}
	}
	e.mu.Unlock()
	if closed {
		c.Close(0, "")
		return false
	}
	context.AfterFunc(c.quic.Context(), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, c)
	})
	return true
}

// Close ends what is still open, with code 0, and closes the socket. Connections that should end with a better reason are
// closed before. Closing twice is harmless.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	var open []*conn
	for c := range e.open {
		open = append(open, c)
	}
	e.mu.Unlock()

	err := e.listener.Close()
	for _, c := range open {
		c.Close(0, "")
	}
	err = errors.Join(err, e.transport.Close())
	// A socket that somebody else closed, as a test does that plays a crash, is closed all the same.
	if socketErr := e.socket.Close(); !errors.Is(socketErr, net.ErrClosed) {
		err = errors.Join(err, socketErr)
	}
	return err
}
