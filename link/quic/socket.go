package quic

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	quicgo "github.com/quic-go/quic-go"
)

// Socket is a UDP socket that treats a send that fails for a passing reason as a packet lost on the way. quic-go ends a
// connection at the first send error, so without it an interface that is down for a second would cut every link, and a
// missing route would be an error where an outage is normal.
//
// The methods it embeds keep the fast paths of quic-go: segmentation offload, batched reads and ECN.
type Socket struct{ UDPConn }

// UDPConn is what a Socket needs of a *net.UDPConn.
type UDPConn interface {
	net.Conn
	quicgo.OOBCapablePacketConn
	SetWriteBuffer(bytes int) error
}

// ListenUDP binds a Socket to addr (host:port). The address [::] or none takes IPv4 and IPv6, as far as the host has them,
// and survives a change of the host's addresses. Large buffers are asked for when an Endpoint takes the socket over.
func ListenUDP(addr string) (net.PacketConn, error) {
	local, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	network := "udp"
	switch {
	case local.IP.To4() != nil:
		network = "udp4" // otherwise 0.0.0.0 would mean IPv6 as well
	case local.IP.IsUnspecified():
		local.IP = nil // lets a host without IPv6 listen on [::] all the same
	}
	c, err := net.ListenUDP(network, local)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return NewSocket(c), nil
}

// NewSocket wraps c, which then belongs to the Socket.
func NewSocket(c UDPConn) *Socket { return &Socket{c} }

// WriteMsgUDP is how quic-go sends.
func (s *Socket) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, oobn, err = s.UDPConn.WriteMsgUDP(b, oob, addr)
	if errors.Is(err, syscall.EPERM) {
		// Linux sometimes fails the first send of a new socket this way (golang.org/issue/63322).
		n, oobn, err = s.UDPConn.WriteMsgUDP(b, oob, addr)
	}
	if passing(err) {
		return len(b), len(oob), nil
	}
	return n, oobn, err
}

// WriteTo has the same forgiveness.
func (s *Socket) WriteTo(b []byte, addr net.Addr) (int, error) {
	n, err := s.UDPConn.WriteTo(b, addr)
	if passing(err) {
		return len(b), nil
	}
	return n, err
}

// passing tells errors that a changed route, interface or firewall rule heals from those of a socket that is of no use any
// more. "Message too long" is neither: quic-go learns the path's packet size from it.
func passing(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return false
	}
	switch errno {
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENOBUFS,
		syscall.EPERM, syscall.EADDRNOTAVAIL, syscall.ECONNREFUSED:
		return true
	}
	return false
}

// BufferBytes are the sizes of the socket's buffers as the kernel grants them. Below some 2 MB a link loses packets at a few
// hundred Mbit/s; net.core.rmem_max and net.core.wmem_max are the limits.
func (s *Socket) BufferBytes() (receive, send int, err error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, 0, fmt.Errorf("read buffer sizes: %w", err)
	}
	var receiveErr, sendErr error
	err = raw.Control(func(fd uintptr) {
		receive, receiveErr = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		send, sendErr = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	})
	if err := errors.Join(err, receiveErr, sendErr); err != nil {
		return 0, 0, fmt.Errorf("read buffer sizes: %w", err)
	}
	return receive, send, nil
}
