// Package agenttest is what tests of whole agents stand on: a network in memory whose faults are set and counted, on which
// real QUIC runs in virtual time.
package agenttest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Faults say what happens to the packets of one direction. The zero value is a perfect wire.
type Faults struct {
	// Loss, Duplication and Reordering are probabilities for each packet, 0 to 1.
	Loss, Duplication, Reordering float64
	// Delay is the way from one side to the other. Up to Jitter is added to it, without changing the order of packets.
	Delay, Jitter time.Duration
	// Lag is how much longer than the others a reordered packet, or the second copy of a duplicated one, may take.
	Lag time.Duration
}

// Counters count the packets of one direction since the network was made. Offered and Duplicated packets end as Delivered or
// Dropped, if they are not under way.
type Counters struct {
	Offered, Delivered, Dropped, Duplicated, Reordered int
}

// bounds in packets: what is above is dropped, so that an outage of any length needs constant memory.
const (
	maxUnderWay = 4096 // in one direction
	maxUnread   = 1024 // at one socket
)

// Network carries packets between sockets that exist only in memory, with faults that can be changed while it runs. It is
// made for testing/synctest: it waits only for timers, and no two packets arrive at the same instant, so that a run with the
// same seed repeats as far as the scheduler allows (fully with GOMAXPROCS=1 and cryptotest.SetGlobalRandom).
//
// All methods are safe for concurrent use.
type Network struct {
	seed   uint64
	faults Faults

	mu       sync.Mutex
	closed   bool
	sockets  map[netip.AddrPort]*packetConn
	routes   map[route]*direction
	dice     map[netip.AddrPort]*rand.Rand // one for each sender: what others send does not change its luck
	arrivals map[int64]struct{}            // instants at which a packet arrives
}

type route struct{ from, to netip.AddrPort }

type direction struct {
	faults   Faults
	cut      bool
	underWay int
	last     time.Time // arrival of the last packet in order
	counters Counters
}

// NewNetwork returns a network all of whose directions start with faults.
func NewNetwork(seed uint64, faults Faults) *Network {
	return &Network{
		seed:     seed,
		faults:   faults,
		sockets:  make(map[netip.AddrPort]*packetConn),
		routes:   make(map[route]*direction),
		dice:     make(map[netip.AddrPort]*rand.Rand),
		arrivals: make(map[int64]struct{}),
	}
}

// Listen opens a socket at addr, such as "10.0.0.1:4747". When it is closed, the address can be used again.
func (n *Network) Listen(addr string) (net.PacketConn, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, fmt.Errorf("listen on %s: %w", addr, net.ErrClosed)
	}
	if n.sockets[at] != nil {
		return nil, fmt.Errorf("listen on %s: address in use", addr)
	}
	c := newPacketConn(n, at)
	n.sockets[at] = c
	return c, nil
}

// Crash closes the socket at addr under whoever uses it. Its peers hear nothing, as when a process is killed.
func (n *Network) Crash(addr string) {
	n.mu.Lock()
	c := n.sockets[netip.MustParseAddrPort(addr)]
	n.mu.Unlock()
	if c != nil {
		c.Close()
	}
}

// SetFaults changes what happens to packets that are sent from now on.
func (n *Network) SetFaults(from, to string, f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.direction(parseRoute(from, to)).faults = f
}

// Cut drops all that is sent from from to to from now on; the other way stays as it is.
func (n *Network) Cut(from, to string) { n.setCut(from, to, true) }

// Heal ends a Cut.
func (n *Network) Heal(from, to string) { n.setCut(from, to, false) }

// CutBoth is Cut for both ways.
func (n *Network) CutBoth(a, b string) {
	n.setCut(a, b, true)
	n.setCut(b, a, true)
}

// HealBoth ends both Cuts.
func (n *Network) HealBoth(a, b string) {
	n.setCut(a, b, false)
	n.setCut(b, a, false)
}

func (n *Network) setCut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.direction(parseRoute(from, to)).cut = cut
}

// Counters returns those of the packets sent from from to to.
func (n *Network) Counters(from, to string) Counters {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.direction(parseRoute(from, to)).counters
}

// Close closes all sockets. Packets under way are forgotten.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	var open []*packetConn
	for _, c := range n.sockets {
		open = append(open, c)
	}
	n.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

// parseRoute panics on an address that is none: it comes from a test.
func parseRoute(from, to string) route {
	return route{netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)}
}

// direction needs n.mu, like all below.
func (n *Network) direction(r route) *direction {
	d := n.routes[r]
	if d == nil {
		d = &direction{faults: n.faults}
		n.routes[r] = d
	}
	return d
}

func (n *Network) diceOf(sender netip.AddrPort) *rand.Rand {
	dice := n.dice[sender]
	if dice == nil {
		h := fnv.New64a()
		h.Write([]byte(sender.String()))
		dice = rand.New(rand.NewPCG(n.seed, h.Sum64()))
		n.dice[sender] = dice
	}
	return dice
}

// fate is what the dice say about one packet. All of it is drawn for each packet, needed or not, so that changing one fault
// does not shift the luck of the packets after it.
type fate struct {
	lost, doubled, late    bool
	jitter, lag, secondLag time.Duration
}

func drawFate(dice *rand.Rand, f Faults) fate {
	return fate{
		lost:      dice.Float64() < f.Loss,
		doubled:   dice.Float64() < f.Duplication,
		late:      dice.Float64() < f.Reordering,
		jitter:    time.Duration(dice.Float64() * float64(f.Jitter)),
		lag:       time.Duration(dice.Float64() * float64(f.Lag)),
		secondLag: time.Duration(dice.Float64() * float64(f.Lag)),
	}
}

// send decides what becomes of a packet. It keeps no part of data.
func (n *Network) send(r route, data []byte) {
	d := n.direction(r)
	fate := drawFate(n.diceOf(r.from), d.faults)
	d.counters.Offered++
	if d.cut || fate.lost {
		d.counters.Dropped++
		return
	}
	now := time.Now()
	at := now.Add(d.faults.Delay + fate.jitter)
	if fate.late {
		d.counters.Reordered++
		n.carry(r, d, data, now, at.Add(fate.lag))
	} else {
		if !at.After(d.last) {
			at = d.last.Add(1)
		}
		d.last = at
		n.carry(r, d, data, now, at)
	}
	if fate.doubled {
		d.counters.Duplicated++
		n.carry(r, d, data, now, at.Add(fate.secondLag))
	}
}

// carry lets a copy of data arrive at the first free instant not before at.
func (n *Network) carry(r route, d *direction, data []byte, now, at time.Time) {
	if d.underWay == maxUnderWay {
		d.counters.Dropped++
		return
	}
	d.underWay++
	instant := at.UnixNano()
	for n.taken(instant) {
		instant++
	}
	n.arrivals[instant] = struct{}{}
	packet := append([]byte(nil), data...)
	time.AfterFunc(time.Unix(0, instant).Sub(now), func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.arrivals, instant)
		d.underWay--
		n.arrive(r, d, packet)
	})
}

func (n *Network) taken(instant int64) bool {
	_, taken := n.arrivals[instant]
	return taken
}

// arrive hands a packet to whoever listens at its destination by now.
func (n *Network) arrive(r route, d *direction, packet []byte) {
	c := n.sockets[r.to]
	if c == nil || !c.put(r.from, packet) {
		d.counters.Dropped++
		return
	}
	d.counters.Delivered++
}
