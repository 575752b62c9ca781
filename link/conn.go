package link

import (
	"context"
	"io"
	"time"
)

// Conn is one authenticated connection to the peer; link/quic makes them. All methods are safe for concurrent use. When the
// connection ends, for whatever reason, every blocked call returns an error and Done is closed.
type Conn interface {
	// Peer is the key hash the other side proved in the handshake.
	Peer() Pin
	// RemoteAddr is where the packets go, for logs and the links output.
	RemoteAddr() string
	// OpenStream and AcceptStream open and take a bidirectional stream: the control stream.
	OpenStream(ctx context.Context) (Stream, error)
	AcceptStream(ctx context.Context) (Stream, error)
	// OpenUniStream blocks while the peer's limit of open streams is reached. AcceptUniStream takes the next batch.
	OpenUniStream(ctx context.Context) (SendStream, error)
	AcceptUniStream(ctx context.Context) (ReceiveStream, error)
	// Stats are the connection's counters; it does not block.
	Stats() ConnStats
	// Close ends the connection and tells the peer code and text (at most 256 bytes of it). Closing twice is harmless.
	Close(code uint64, text string)
	// Done is closed when the connection has ended; Err then says why.
	Done() <-chan struct{}
	Err() error
}

// Stream is a bidirectional byte stream. Close ends the writing half; Reset gives up both halves at once.
type Stream interface {
	io.ReadWriteCloser
	Reset()
}

// SendStream carries one batch. Close says that it is whole; Reset that it is not.
type SendStream interface {
	io.WriteCloser
	Reset()
}

// ReceiveStream is the other end of a SendStream: it ends with io.EOF when the batch is whole. Stop tells the sender that
// nobody reads on.
type ReceiveStream interface {
	io.Reader
	Stop()
}

// ConnStats are counters of one connection since it was made.
type ConnStats struct {
	RTT         time.Duration
	PacketsSent uint64
	PacketsLost uint64
}

// Dialer makes connections to a peer that proves one of pins.
type Dialer interface {
	// Dial resolves addr (host:port) anew and returns when the handshake has succeeded. An error of the peer's identity
	// wraps ErrIdentity.
	Dial(ctx context.Context, addr string, pins []Pin) (Conn, error)
}
