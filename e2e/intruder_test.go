package e2e_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
)

// intruder is a peer with a key that an agent knows, or not, and no manners. It speaks QUIC by itself.
type intruder struct {
	t         *testing.T
	pin       link.Pin
	tls       *tls.Config
	addr      *net.UDPAddr
	transport *quicgo.Transport
	spool     message.SpoolID
	epoch     uint64
}

// newIntruder makes a key whose hash is below that of the agent at addr, so that the intruder is the one to say Use.
func newIntruder(t *testing.T, addr string, below link.Pin) *intruder {
	t.Helper()
	in := &intruder{t: t, spool: message.NewSpoolID()}
	for in.pin = below; bytes.Compare(in.pin[:], below[:]) >= 0; {
		in.pin, in.tls = selfSigned(t)
	}
	var err error
	in.addr, err = net.ResolveUDPAddr("udp", addr)
	must(t, err)
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	in.transport = &quicgo.Transport{Conn: socket}
	t.Cleanup(func() {
		_ = in.transport.Close()
		_ = socket.Close()
	})
	return in
}

func selfSigned(t *testing.T) (link.Pin, *tls.Config) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	must(t, err)
	spki, err := x509.MarshalPKIXPublicKey(public)
	must(t, err)
	return link.PinOf(spki), &tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		NextProtos:         []string{"drawbridge/1"},
		InsecureSkipVerify: true,
	}
}

// dial opens a connection; it ends with the test. While the agent has handshakes enough from this address, it tries again.
func (in *intruder) dial() *quicgo.Conn {
	in.t.Helper()
	ctx, end := context.WithTimeout(in.t.Context(), 2*upGrace)
	defer end()
	for {
		c, err := in.transport.Dial(ctx, in.addr, in.tls, &quicgo.Config{KeepAlivePeriod: time.Second})
		if err == nil {
			in.t.Cleanup(func() { _ = c.CloseWithError(0, "") })
			return c
		}
		var refused *quicgo.TransportError
		if !errors.As(err, &refused) || refused.ErrorCode != quicgo.ConnectionRefused {
			in.t.Fatal(err)
		}
		time.Sleep(pollEvery)
	}
}

func (in *intruder) hello(joins message.SessionID) *protocol.Hello {
	return &protocol.Hello{
		Versions: protocol.VersionRange{Min: protocol.MinVersion, Max: protocol.MaxVersion},
		Agent:    "evil",
		Spool:    in.spool,
		Epochs:   []message.Epoch{{Counter: in.epoch, Tag: 1}},
		Limits:   protocol.Limits{MaxMessageBytes: 1 << 20, CreditBytes: 1 << 20, CreditMessages: 100},
		Joins:    joins,
	}
}

// talk is a session that an intruder has brought about.
type talk struct {
	in      *intruder
	conn    *quicgo.Conn
	control *quicgo.Stream
	session message.SessionID
	welcome *protocol.Welcome
	// heard counts the frames that came.
	heard atomic.Int64
	// answers are the Accepted and Refused that came; what nobody takes is dropped.
	answers chan protocol.Frame
}

// meet brings a session about, as a peer does that keeps to the rules. Its own limits are for hello to say.
func (in *intruder) meet(change func(*protocol.Hello)) *talk {
	in.t.Helper()
	in.epoch++
	k := &talk{in: in, conn: in.dial(), answers: make(chan protocol.Frame, 1024)}
	var err error
	k.control, err = k.conn.OpenStreamSync(in.t.Context())
	must(in.t, err)
	hello := in.hello(message.SessionID{})
	if change != nil {
		change(hello)
	}
	k.say(hello)
	frames := protocol.NewReader(k.control, 1<<20)
	f, err := frames.Next()
	must(in.t, err)
	k.welcome = f.(*protocol.Welcome)
	k.session = k.welcome.Session
	k.say(&protocol.Use{Session: k.session, Order: 1})
	go func() {
		for {
			f, err := frames.Next()
			if err != nil {
				return
			}
			k.heard.Add(1)
			switch f.(type) {
			case *protocol.Accepted, *protocol.Refused:
				select {
				case k.answers <- f:
				default:
				}
			}
		}
	}()
	return k
}

// say writes frames on the control stream. That the agent has hung up is for the caller to find out.
func (k *talk) say(frames ...protocol.Frame) {
	var b []byte
	for _, f := range frames {
		b = protocol.Append(b, f)
	}
	_, _ = k.control.Write(b)
}

// announce says that a route leads into the queue, without which nothing is decided.
func (k *talk) announce(queue string) {
	k.say(&protocol.Resume{Session: k.session, Last: true, Routes: []protocol.ResumeRoute{{Name: "r", Queue: queue, Horizon: time.Hour}}})
}

// batch writes bytes on a stream of their own over c, and ends the stream if they are whole.
func (k *talk) batch(c *quicgo.Conn, b []byte, whole bool) error {
	ctx, end := context.WithTimeout(k.in.t.Context(), answerTimeout)
	defer end()
	s, err := c.OpenUniStreamSync(ctx)
	if err != nil {
		return err
	}
	_ = s.SetWriteDeadline(time.Now().Add(answerTimeout))
	if _, err := s.Write(b); err != nil || !whole {
		return err
	}
	_ = s.Close() // whoever has the whole frame may have stopped the stream
	return nil
}

// join adds a data connection.
func (k *talk) join() *quicgo.Conn {
	k.in.t.Helper()
	c := k.in.dial()
	s, err := c.OpenStreamSync(k.in.t.Context())
	must(k.in.t, err)
	_, err = s.Write(protocol.Append(nil, k.in.hello(k.session)))
	must(k.in.t, err)
	return c
}

// end returns why the agent has hung up, or nothing if it has not within the time given.
func (k *talk) end(within time.Duration) string {
	select {
	case <-k.conn.Context().Done():
		var closed *quicgo.ApplicationError
		if err := context.Cause(k.conn.Context()); !errors.As(err, &closed) || !closed.Remote {
			return "not by the agent: " + err.Error()
		}
		return strings.TrimSpace(context.Cause(k.conn.Context()).Error())
	case <-time.After(within):
		return ""
	}
}

// requireAlive requires that the session goes on: a heartbeat is echoed.
func (k *talk) requireAlive() {
	k.in.t.Helper()
	before := k.heard.Load()
	k.say(&protocol.Heartbeat{Seq: 7})
	eventually(k.in.t, answerTimeout, func() string {
		if k.heard.Load() > before {
			return ""
		}
		return "no frame comes any more: " + k.end(0)
	})
}
