package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	quicgo "github.com/quic-go/quic-go"
)

// A handshake costs memory before the peer has proved anything, for up to twice handshakeIdleTimeout.
const (
	// proveAddressAbove is the number of handshakes in progress from which on a newcomer must first answer from the address
	// it claims, which costs it a round trip and an attacker with forged addresses the attack.
	proveAddressAbove = 32
	// maxHandshakes is the number in progress at which newcomers are turned away. Whoever finishes makes room.
	maxHandshakes = 256
	// maxHandshakesOfOne is that number for one address, so that one does not keep out all others. It is above
	// proveAddressAbove: who forges the address of another cannot use up its number.
	maxHandshakesOfOne = 64
)

var errCrowded = errors.New("too many handshakes in progress")

// door counts the peers that have come in and have not yet proved a key that is allowed.
type door struct {
	waiting atomic.Int64

	mu   sync.Mutex           // guards from
	from map[netip.Prefix]int // waiting, by where they come from
}

type visitKey struct{}

// visit is one of those peers; it leaves once, by being let in or by giving up.
type visit struct {
	door *door
	from netip.Prefix
	once sync.Once
}

func (v *visit) leave() {
	v.once.Do(func() {
		v.door.waiting.Add(-1)
		v.door.mu.Lock()
		defer v.door.mu.Unlock()
		if v.door.from[v.from]--; v.door.from[v.from] == 0 {
			delete(v.door.from, v.from)
		}
	})
}

// enter is called for each new connection with a context that ends with it.
func (d *door) enter(ctx context.Context, info *quicgo.ClientInfo) (context.Context, error) {
	v := &visit{door: d, from: origin(info.RemoteAddr)}
	d.mu.Lock()
	crowded := d.from[v.from] >= maxHandshakesOfOne || d.waiting.Load() >= maxHandshakes
	if !crowded {
		if d.from == nil {
			d.from = make(map[netip.Prefix]int)
		}
		d.from[v.from]++
		d.waiting.Add(1)
	}
	d.mu.Unlock()
	if crowded {
		return nil, errCrowded
	}
	context.AfterFunc(ctx, v.leave)
	return context.WithValue(ctx, visitKey{}, v), nil
}

// origin is what stands for one sender: an address of IPv4, a network of IPv6, of which any host has as many addresses as it
// wants.
func origin(addr net.Addr) netip.Prefix {
	udp, ok := addr.(*net.UDPAddr)
	if !ok {
		return netip.Prefix{} // a network of a test
	}
	ip := udp.AddrPort().Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address at all
	}
	return prefix
}

func (d *door) mustProveAddress(net.Addr) bool { return d.waiting.Load() >= proveAddressAbove }

// letIn ends the visit of the peer that sent hello.
func letIn(hello *tls.ClientHelloInfo) {
	if v, ok := hello.Context().Value(visitKey{}).(*visit); ok {
		v.leave()
	}
}
