package quic_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"drawbridge/link"
	"drawbridge/link/quic"
)

// host is an endpoint on a loopback socket.
type host struct {
	*quic.Endpoint
	id     *quic.Identity
	socket net.PacketConn
}

func (h host) addr() string { return h.Addr().String() }

func newIdentity(t testing.TB) *quic.Identity {
	t.Helper()
	return createIdentity(t, filepath.Join(t.TempDir(), "identity.pem"))
}

func listen(t testing.TB, addr string, id *quic.Identity, o quic.Options) host {
	t.Helper()
	socket, err := quic.ListenUDP(addr)
	if err != nil {
		t.Fatal(err)
	}
	return listenOn(t, socket, id, o)
}

func listenOn(t testing.TB, socket net.PacketConn, id *quic.Identity, o quic.Options) host {
	t.Helper()
	e, err := quic.Listen(socket, id, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close endpoint: %v", err)
		}
	})
	return host{e, id, socket}
}

func only(pins ...link.Pin) quic.Options {
	return quic.Options{Allow: func(p link.Pin) bool { return slices.Contains(pins, p) }}
}

// pair returns two hosts that know each other.
func pair(t testing.TB) (a, b host) {
	t.Helper()
	idA, idB := newIdentity(t), newIdentity(t)
	return listen(t, "127.0.0.1:0", idA, only(idB.Pin())), listen(t, "127.0.0.1:0", idB, only(idA.Pin()))
}

// connect returns both ends of a connection that from has dialled.
func connect(t testing.TB, from, to host) (dialled, accepted link.Conn) {
	t.Helper()
	dialled, err := from.Dial(t.Context(), to.addr(), []link.Pin{to.id.Pin()})
	if err != nil {
		t.Fatal(err)
	}
	accepted, err = to.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dialled, accepted
}

// say sends text on a control stream and requires the other end to answer it doubled.
func say(t *testing.T, from, to link.Conn, text string) {
	t.Helper()
	answered := make(chan error, 1)
	go func() {
		s, err := to.AcceptStream(t.Context())
		if err != nil {
			answered <- err
			return
		}
		heard, err := io.ReadAll(s)
		if err == nil {
			_, err = s.Write(append(heard, heard...))
		}
		answered <- errors.Join(err, s.Close())
	}()
	s, err := from.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(s, text); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); err != nil || string(got) != text+text {
		t.Fatalf("answer %q (%v), want %q", got, err, text+text)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

// ship sends a batch on a unidirectional stream and requires it to arrive whole.
func ship(t *testing.T, from, to link.Conn, batch []byte) {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		s, err := from.OpenUniStream(t.Context())
		if err == nil {
			_, err = s.Write(batch)
		}
		if err == nil {
			err = s.Close()
		}
		sent <- err
	}()
	s, err := to.AcceptUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, batch) {
		t.Fatalf("%d bytes arrived (%v), want the %d that were sent", len(got), err, len(batch))
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func waitDone(t *testing.T, c link.Conn) error {
	t.Helper()
	select {
	case <-c.Done():
		return c.Err()
	case <-time.After(10 * time.Second):
		t.Fatal("connection did not end")
		return nil
	}
}

func TestBothSidesDialAndBothSend(t *testing.T) {
	a, b := pair(t)
	for _, hosts := range [][2]host{{a, b}, {b, a}} {
		from, to := hosts[0], hosts[1]
		dialled, accepted := connect(t, from, to)
		if dialled.Peer() != to.id.Pin() || accepted.Peer() != from.id.Pin() {
			t.Fatalf("peers %s and %s, want %s and %s", dialled.Peer(), accepted.Peer(), to.id.Pin(), from.id.Pin())
		}
		if dialled.RemoteAddr() != to.addr() || accepted.RemoteAddr() != from.addr() {
			t.Errorf("addresses %s and %s, want %s and %s", dialled.RemoteAddr(), accepted.RemoteAddr(), to.addr(), from.addr())
		}
		say(t, dialled, accepted, "hello")
		say(t, accepted, dialled, "welcome")
		batch := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		ship(t, dialled, accepted, batch)
		ship(t, accepted, dialled, batch)
		if s := dialled.Stats(); s.RTT <= 0 || s.PacketsSent < 700 {
			t.Errorf("stats %+v after a megabyte", s)
		}
		if err := dialled.Err(); err != nil {
			t.Errorf("open connection has ended: %v", err)
		}
	}
}

func TestOneSocketOnWildcardReachesIPv4(t *testing.T) {
	idA, idB := newIdentity(t), newIdentity(t)
	a := listen(t, "[::]:0", idA, only(idB.Pin()))
	b := listen(t, "127.0.0.1:0", idB, only(idA.Pin()))
	dialled, accepted := connect(t, a, b)
	say(t, dialled, accepted, "mapped")
}

func TestDialResolvesNames(t *testing.T) {
	a, b := pair(t)
	_, port, err := net.SplitHostPort(b.addr())
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Dial(t.Context(), net.JoinHostPort("localhost", port), []link.Pin{b.id.Pin()})
	if err != nil {
		t.Fatal(err)
	}
	if c.RemoteAddr() != b.addr() {
		t.Errorf("reached %s, want %s", c.RemoteAddr(), b.addr())
	}
	for _, addr := range []string{"localhost", "localhost:https!", "localhost:70000"} {
		if _, err := a.Dial(t.Context(), addr, nil); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("dial %s: %v, want an error that names it", addr, err)
		}
	}
}

func TestResetStreamsEndWithAnErrorNotWithEOF(t *testing.T) {
	a, b := pair(t)
	dialled, accepted := connect(t, a, b)
	s, err := dialled.OpenUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(s, "half a batch"); err != nil {
		t.Fatal(err)
	}
	s.Reset()
	r, err := accepted.AcceptUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err == nil {
		t.Fatalf("a batch given up reads as whole: %q", got)
	}

	s, err = dialled.OpenUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(s, "unwanted"); err != nil {
		t.Fatal(err)
	}
	r, err = accepted.AcceptUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Stop()
	for err == nil {
		_, err = s.Write(make([]byte, 64<<10))
	}
	if dialled.Err() != nil {
		t.Errorf("a stopped stream ended the connection: %v", dialled.Err())
	}
}

func TestCloseReasonReachesThePeer(t *testing.T) {
	a, b := pair(t)
	dialled, accepted := connect(t, a, b)
	dialled.Close(7, "shutdown: "+strings.Repeat("é", 200))
	dialled.Close(8, "closing twice is harmless")

	var seen *quic.CloseError
	if err := waitDone(t, accepted); !errors.As(err, &seen) {
		t.Fatalf("peer saw %v, want a CloseError", err)
	}
	want := "shutdown: " + strings.Repeat("é", 123)
	if seen.Code != 7 || !seen.ByPeer || seen.Text != want {
		t.Errorf("peer saw %+v, want code 7 and the first 256 bytes of the text", seen)
	}
	if !strings.HasPrefix(seen.Error(), "closed by peer: shutdown: ") {
		t.Errorf("peer reads %q", seen)
	}
	if _, err := accepted.AcceptStream(t.Context()); !errors.As(err, &seen) {
		t.Errorf("a call after the end says %v, want the reason", err)
	}
	var own *quic.CloseError
	if err := waitDone(t, dialled); !errors.As(err, &own) || own.ByPeer || own.Code != 7 {
		t.Errorf("we see %v", err)
	}
}

func TestWordsOfAPeerCannotWriteOnATerminal(t *testing.T) {
	a, b := pair(t)
	dialled, accepted := connect(t, a, b)
	dialled.Close(7, "bye\x1b[2J\nlink up\x00\xff")
	var seen *quic.CloseError
	if err := waitDone(t, accepted); !errors.As(err, &seen) || seen.Text != "bye [2J link up  " {
		t.Errorf("peer saw %q", err)
	}
}

func TestCloseTellsPeersAndEndsEveryGoroutine(t *testing.T) {
	a, b := pair(t)
	dialled, accepted := connect(t, a, b)
	say(t, dialled, accepted, "hello")
	waiting := make(chan error, 1)
	go func() {
		_, err := a.Accept(context.WithoutCancel(t.Context()))
		waiting <- err
	}()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var seen *quic.CloseError
	if err := waitDone(t, accepted); !errors.As(err, &seen) || !seen.ByPeer {
		t.Errorf("peer saw %v, want a close by its peer", err)
	}
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v, want net.ErrClosed", err)
	}
	if _, err := a.Dial(t.Context(), b.addr(), []link.Pin{b.id.Pin()}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial: %v, want net.ErrClosed", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	requireNoGoroutines(t, "quic-go")
	again := listen(t, a.addr(), a.id, only())
	if again.addr() != a.addr() {
		t.Errorf("address is not free again")
	}
}

// requireNoGoroutines gives those that are on their last instructions a moment.
func requireNoGoroutines(t *testing.T, with string) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(5 * time.Second); ; {
		n := runtime.Stack(stacks, true)
		if !bytes.Contains(stacks[:n], []byte(with)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines left:\n%s", stacks[:n])
		}
		runtime.Gosched()
	}
}

func TestKilledAndRestartedEndpointEndsOldConnectionsAtOnce(t *testing.T) {
	for _, role := range []string{"acceptor", "dialler"} {
		t.Run(role+" is killed", func(t *testing.T) {
			a, b := pair(t)
			dialled, accepted := connect(t, a, b)
			say(t, dialled, accepted, "hello")
			killed, survivor := b, dialled
			if role == "dialler" {
				killed, survivor = a, accepted
			}
			addr := killed.addr()
			killed.socket.Close() // before the endpoint's: nothing is said to the peer
			killed.Close()
			listen(t, addr, killed.id, only())

			restarted := time.Now()
			if s, err := survivor.OpenStream(t.Context()); err == nil {
				s.Write(make([]byte, 20)) // much smaller packets are not answered by a reset (RFC 9000, section 10.3)
			}
			err := waitDone(t, survivor)
			if took := time.Since(restarted); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "restarted") {
				t.Errorf("survivor saw %v, want that its peer has restarted", err)
			}
			t.Logf("the old connection ended %v after the restart", time.Since(restarted).Round(time.Microsecond))
		})
	}
}

func BenchmarkGoodputOfOneConnection(b *testing.B) {
	from, to := pair(b)
	dialled, accepted := connect(b, from, to)
	chunk := make([]byte, 64<<10)
	b.SetBytes(int64(len(chunk)))
	received := make(chan error, 1)
	go func() {
		s, err := accepted.AcceptUniStream(b.Context())
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, s, make([]byte, 64<<10))
		}
		received <- err
	}()
	s, err := dialled.OpenUniStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
	if err := <-received; err != nil {
		b.Fatal(err)
	}
}
