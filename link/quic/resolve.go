package quic

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// resolver turns host:port into a UDP address. A name with several addresses, one of which may not be reachable from here,
// is walked through: each attempt takes the next address until one has worked, which is then kept to.
type resolver struct {
	network string // "ip", or "ip4" or "ip6" for a socket bound to an address of that kind

	mu   sync.Mutex
	turn map[string]int // by host:port; addresses come from the configuration, so they are few
}

func newResolver(local net.Addr) *resolver {
	network := "ip"
	if udp, ok := local.(*net.UDPAddr); ok {
		switch {
		case udp.IP.To4() != nil:
			network = "ip4"
		case !udp.IP.IsUnspecified():
			network = "ip6"
		}
	}
	return &resolver{network: network, turn: make(map[string]int)}
}

// next asks the resolver of the host anew, as addresses change while a link is down. The turn it returns goes to worked.
func (r *resolver) next(ctx context.Context, addr string) (_ *net.UDPAddr, turn int, err error) {
	if literal, err := netip.ParseAddrPort(addr); err == nil {
		return net.UDPAddrFromAddrPort(netip.AddrPortFrom(literal.Addr().Unmap(), literal.Port())), 0, nil
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, 0, fmt.Errorf("port %q: want a number up to 65535", portText)
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, r.network, host)
	if err != nil {
		return nil, 0, err
	}
	if len(found) == 0 {
		return nil, 0, fmt.Errorf("name %s has no address", host)
	}
	turn = r.take(addr)
	ip := found[turn%len(found)].Unmap()
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, uint16(port))), turn, nil
}

func (r *resolver) take(addr string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	turn := r.turn[addr]
	r.turn[addr] = turn + 1
	return turn
}

// worked makes later attempts start with the address of turn.
func (r *resolver) worked(addr string, turn int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, named := r.turn[addr]; named {
		r.turn[addr] = turn
	}
}
