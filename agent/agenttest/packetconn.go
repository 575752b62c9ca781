package agenttest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// packetConn is a socket of a Network. The network's mutex guards it.
type packetConn struct {
	network *Network
	local   netip.AddrPort

	changed  *sync.Cond // there is something to read, or the reader has to give up
	unread   []packet
	deadline time.Time
	alarm    *time.Timer // wakes the reader at deadline; nil without one
	closed   bool
}

type packet struct {
	from netip.AddrPort
	data []byte
}

var _ net.PacketConn = (*packetConn)(nil)

func newPacketConn(n *Network, local netip.AddrPort) *packetConn {
	return &packetConn{network: n, local: local, changed: sync.NewCond(&n.mu)}
}

// put needs the network's mutex. It tells whether there was room.
func (c *packetConn) put(from netip.AddrPort, data []byte) bool {
	if len(c.unread) == maxUnread {
		return false
	}
	c.unread = append(c.unread, packet{from, data})
	c.changed.Broadcast()
	return true
}

// ReadFrom cuts off what does not fit into b, like UDP.
func (c *packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, nil, c.opError("read", net.ErrClosed)
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, nil, c.opError("read", os.ErrDeadlineExceeded)
		case len(c.unread) > 0:
			p := c.unread[0]
			c.unread = c.unread[1:]
			return copy(b, p.data), net.UDPAddrFromAddrPort(p.from), nil
		}
		c.changed.Wait()
	}
}

// WriteTo never blocks, and never tells that a packet is lost.
func (c *packetConn) WriteTo(b []byte, to net.Addr) (int, error) {
	udp, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, c.opError("write", fmt.Errorf("address %v: want a *net.UDPAddr", to))
	}
	dst := udp.AddrPort()
	dst = netip.AddrPortFrom(dst.Addr().Unmap(), dst.Port())
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if c.closed {
		return 0, c.opError("write", net.ErrClosed)
	}
	c.network.send(route{c.local, dst}, b)
	return len(b), nil
}

// Close frees the address. What was not read is gone.
func (c *packetConn) Close() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.closed = true
	c.unread = nil
	delete(c.network.sockets, c.local)
	c.stopAlarm()
	c.changed.Broadcast()
	return nil
}

func (c *packetConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

func (c *packetConn) SetReadDeadline(t time.Time) error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.stopAlarm()
	c.deadline = t
	if !t.IsZero() && !c.closed {
		c.alarm = time.AfterFunc(time.Until(t), func() {
			c.network.mu.Lock()
			defer c.network.mu.Unlock()
			c.changed.Broadcast()
		})
	}
	c.changed.Broadcast()
	return nil
}

func (c *packetConn) stopAlarm() {
	if c.alarm != nil {
		c.alarm.Stop()
		c.alarm = nil
	}
}

// SetWriteDeadline has nothing to do, as no write waits.
func (c *packetConn) SetWriteDeadline(time.Time) error { return nil }

func (c *packetConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadBuffer and SetWriteBuffer keep quic-go from complaining about buffers that it cannot enlarge.
func (c *packetConn) SetReadBuffer(int) error  { return nil }
func (c *packetConn) SetWriteBuffer(int) error { return nil }

func (c *packetConn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "udp", Addr: net.UDPAddrFromAddrPort(c.local), Err: err}
}
