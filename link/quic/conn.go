package quic

import (
	"context"
	"strings"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
)

// maxCloseTextBytes fits into one packet beside everything else.
const maxCloseTextBytes = 256

// conn is a link.Conn.
type conn struct {
	quic *quicgo.Conn
	peer link.Pin
	own  link.Pin
}

// newConn takes over a connection whose handshake is complete: its peer has proved a key that was checked.
func newConn(q *quicgo.Conn, own link.Pin) *conn {
	return &conn{quic: q, own: own, peer: pinOf(q.ConnectionState().TLS.PeerCertificates[0])}
}

func (c *conn) Peer() link.Pin     { return c.peer }
func (c *conn) RemoteAddr() string { return c.quic.RemoteAddr().String() }

func (c *conn) OpenStream(ctx context.Context) (link.Stream, error) {
	s, err := c.quic.OpenStreamSync(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	return &stream{s, c}, nil
}

func (c *conn) AcceptStream(ctx context.Context) (link.Stream, error) {
	s, err := c.quic.AcceptStream(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	return &stream{s, c}, nil
}

func (c *conn) OpenUniStream(ctx context.Context) (link.SendStream, error) {
	s, err := c.quic.OpenUniStreamSync(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	return &sendStream{s, c}, nil
}

func (c *conn) AcceptUniStream(ctx context.Context) (link.ReceiveStream, error) {
	s, err := c.quic.AcceptUniStream(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	return &receiveStream{s, c}, nil
}

func (c *conn) Stats() link.ConnStats {
	s := c.quic.ConnectionStats()
	return link.ConnStats{
		RTT:         s.SmoothedRTT.Round(time.Microsecond),
		PacketsSent: s.PacketsSent,
		PacketsLost: s.PacketsLost,
	}
}

func (c *conn) Close(code uint64, text string) {
	if len(text) > maxCloseTextBytes {
		text = strings.ToValidUTF8(text[:maxCloseTextBytes], "")
	}
	c.quic.CloseWithError(quicgo.ApplicationErrorCode(code), text)
}

func (c *conn) Done() <-chan struct{} { return c.quic.Context().Done() }

// Err is nil until Done is closed.
func (c *conn) Err() error { return c.explain(context.Cause(c.quic.Context())) }

func (c *conn) explain(err error) error { return explain(err, c.own) }

// stream, sendStream and receiveStream differ from quic-go's only in that they give no reason for giving up, and explain
// why their connection ended.
type stream struct {
	quic *quicgo.Stream
	conn *conn
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.quic.Read(b)
	return n, s.conn.explain(err)
}

func (s *stream) Write(b []byte) (int, error) {
	n, err := s.quic.Write(b)
	return n, s.conn.explain(err)
}

func (s *stream) Close() error { return s.conn.explain(s.quic.Close()) }

func (s *stream) Reset() {
	s.quic.CancelRead(0)
	s.quic.CancelWrite(0)
}

type sendStream struct {
	quic *quicgo.SendStream
	conn *conn
}

func (s *sendStream) Write(b []byte) (int, error) {
	n, err := s.quic.Write(b)
	return n, s.conn.explain(err)
}

func (s *sendStream) Close() error { return s.conn.explain(s.quic.Close()) }
func (s *sendStream) Reset()       { s.quic.CancelWrite(0) }

type receiveStream struct {
	quic *quicgo.ReceiveStream
	conn *conn
}

func (s *receiveStream) Read(b []byte) (int, error) {
	n, err := s.quic.Read(b)
	return n, s.conn.explain(err)
}

func (s *receiveStream) Stop() { s.quic.CancelRead(0) }
