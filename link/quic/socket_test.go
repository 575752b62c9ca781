package quic_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link/quic"
)

// brokenUDP fails every send with an error number, as the kernel does while an interface or a route is away.
type brokenUDP struct {
	*net.UDPConn
	errno  atomic.Int64 // 0: works
	failed atomic.Int64
}

func (c *brokenUDP) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (int, int, error) {
	if errno := syscall.Errno(c.errno.Load()); errno != 0 {
		c.failed.Add(1)
		return 0, 0, &net.OpError{Op: "write", Err: os.NewSyscallError("sendmsg", errno)}
	}
	return c.UDPConn.WriteMsgUDP(b, oob, addr)
}

func newBrokenUDP(t *testing.T) *brokenUDP {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &brokenUDP{UDPConn: c}
}

func TestPassingSendErrorsCountAsLoss(t *testing.T) {
	c := newBrokenUDP(t)
	s := quic.NewSocket(c)
	to := c.LocalAddr().(*net.UDPAddr)
	for _, errno := range []syscall.Errno{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENOBUFS,
		syscall.EPERM, syscall.EADDRNOTAVAIL, syscall.ECONNREFUSED,
	} {
		c.errno.Store(int64(errno))
		if n, _, err := s.WriteMsgUDP([]byte("lost"), nil, to); n != 4 || err != nil {
			t.Errorf("%v: wrote %d, %v; want the packet taken", errno, n, err)
		}
	}
	for _, errno := range []syscall.Errno{syscall.EMSGSIZE, syscall.EIO, syscall.EBADF} {
		c.errno.Store(int64(errno))
		if _, _, err := s.WriteMsgUDP([]byte("refused"), nil, to); !errors.Is(err, errno) {
			t.Errorf("%v came back as %v", errno, err)
		}
	}
}

func TestConnectionSurvivesSendErrors(t *testing.T) {
	idA, idB := newIdentity(t), newIdentity(t)
	c := newBrokenUDP(t)
	a := listenOn(t, quic.NewSocket(c), idA, only(idB.Pin()))
	b := listen(t, "127.0.0.1:0", idB, only(idA.Pin()))
	dialled, accepted := connect(t, a, b)
	say(t, dialled, accepted, "before")

	c.errno.Store(int64(syscall.ENETUNREACH))
	restored := time.AfterFunc(50*time.Millisecond, func() { c.errno.Store(0) })
	defer restored.Stop()
	ship(t, dialled, accepted, bytes.Repeat([]byte("x"), 100<<10))
	if c.failed.Load() == 0 {
		t.Error("no send failed")
	}
}

// Without these methods quic-go would send packet by packet, at half the rate.
func TestSocketKeepsFastPaths(t *testing.T) {
	socket, err := quic.ListenUDP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := socket.(quicgo.OOBCapablePacketConn); !ok {
		t.Errorf("%T is no OOBCapablePacketConn", socket)
	}
	listenOn(t, socket, newIdentity(t), only())
	receive, send, err := socket.(*quic.Socket).BufferBytes()
	if err != nil || receive < 64<<10 || send < 64<<10 {
		t.Errorf("buffers of %d and %d bytes (%v)", receive, send, err)
	}
	t.Logf("buffers: receive %d, send %d bytes", receive, send)
}

func TestListenUDPNamesTheAddress(t *testing.T) {
	socket, err := quic.ListenUDP("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if ip := socket.LocalAddr().(*net.UDPAddr).IP; ip.To4() == nil {
		t.Errorf("0.0.0.0 became %v", ip)
	}
	if _, err := quic.ListenUDP("203.0.113.1:4747"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("listen on an address that is not ours: %v", err)
	}
}
