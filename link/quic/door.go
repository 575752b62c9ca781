package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
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
)

var errCrowded = errors.New("too many handshakes in progress")

// door counts the peers that have come in and have not yet proved a key that is allowed.
type door struct{ waiting atomic.Int64 }

type visitKey struct{}

// visit is one of those peers; it leaves once, by being let in or by giving up.
type visit struct {
	door *door
	once sync.Once
}

func (v *visit) leave() { v.once.Do(func() { v.door.waiting.Add(-1) }) }

// enter is called for each new connection with a context that ends with it.
func (d *door) enter(ctx context.Context, _ *quicgo.ClientInfo) (context.Context, error) {
	if d.waiting.Add(1) > maxHandshakes {
		d.waiting.Add(-1)
		return nil, errCrowded
	}
	v := &visit{door: d}
	context.AfterFunc(ctx, v.leave)
	return context.WithValue(ctx, visitKey{}, v), nil
}

func (d *door) mustProveAddress(net.Addr) bool { return d.waiting.Load() >= proveAddressAbove }

// letIn ends the visit of the peer that sent hello.
func letIn(hello *tls.ClientHelloInfo) {
	if v, ok := hello.Context().Value(visitKey{}).(*visit); ok {
		v.leave()
	}
}
