package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Relay is a bad road: it carries UDP packets between whoever sends to its address and one target, loses some, delays all,
// and can be cut. Each sender gets a socket of its own towards the target, so senders may come back on other ports and the
// target may restart on its own.
type Relay struct {
	front *net.UDPConn
	o     RelayOptions

	cutForth, cutBack atomic.Bool
	dropped, carried  atomic.Uint64

	// forth carries all that comes from senders; each road has its own lane back.
	forth   *lane
	readers sync.WaitGroup
	writers sync.WaitGroup

	mu sync.Mutex
	// roads are kept until the relay ends: a demo has few senders.
	roads  map[netip.AddrPort]*road
	closed bool
}

// RelayOptions describe the road.
type RelayOptions struct {
	// Target is where the packets go, an IP address with port.
	Target netip.AddrPort
	// Loss is the share of packets lost each way, 0 to 1.
	Loss float64
	// Delay is how long a packet takes each way.
	Delay time.Duration
	// Seed decides which packets are lost: the same ones in each run, counted per direction.
	Seed uint64
}

// Direction is a way through a relay. Both is the sum of the two.
type Direction uint8

const (
	// Forth leads from the senders to the target, Back from the target to the senders.
	Forth Direction = 1 << iota
	Back
	Both = Forth | Back
)

const (
	// packetBytes is more than any packet of QUIC over Ethernet; a longer one is dropped, as a narrow road would.
	packetBytes = 2048
	// lanePackets is what waits on one lane before the next is dropped: some MiB, far above a congestion window at this delay.
	lanePackets = 4096
	// socketBytes is what the kernel may hold for us while we are not scheduled.
	socketBytes = 4 << 20
)

// road is what one sender uses.
type road struct {
	up     *net.UDPConn
	sender netip.AddrPort
	back   *lane
}

// NewRelay opens a relay on a free port of 127.0.0.1. Run makes it work and closes it.
func NewRelay(o RelayOptions) (*Relay, error) {
	front, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		return nil, fmt.Errorf("open the relay: %w", err)
	}
	enlarge(front)
	r := &Relay{front: front, o: o, roads: map[netip.AddrPort]*road{}}
	r.forth = r.newLane(0, &r.cutForth)
	return r, nil
}

// loopback with port 0: any free port of this host alone.
var loopback = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)

// enlarge asks for roomy buffers; a kernel that grants less drops packets, which is what the relay is there for.
func enlarge(c *net.UDPConn) {
	_ = c.SetReadBuffer(socketBytes)
	_ = c.SetWriteBuffer(socketBytes)
}

// Addr is where senders reach the relay.
func (r *Relay) Addr() string { return r.front.LocalAddr().String() }

// Dropped counts the packets that did not get through, both ways, since the relay was opened; Carried those that did.
func (r *Relay) Dropped() uint64 { return r.dropped.Load() }

// Carried counts the packets that got through.
func (r *Relay) Carried() uint64 { return r.carried.Load() }

// Cut drops all packets of the given directions from now on, and lets the others pass.
func (r *Relay) Cut(d Direction) {
	r.cutForth.Store(d&Forth != 0)
	r.cutBack.Store(d&Back != 0)
}

// Heal ends a cut.
func (r *Relay) Heal() { r.Cut(0) }

// Run carries packets until ctx ends, and closes all sockets. It returns an error only if the relay's own socket fails.
func (r *Relay) Run(ctx context.Context) error {
	r.writers.Go(func() { r.forth.deliver() })
	stop := context.AfterFunc(ctx, r.close)
	defer stop()
	err := r.readFront()
	r.close()
	r.readers.Wait()
	close(r.forth.waiting)
	r.mu.Lock()
	for _, road := range r.roads {
		close(road.back.waiting)
	}
	r.mu.Unlock()
	r.writers.Wait()
	return err
}

// close wakes all readers; it may be called twice.
func (r *Relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	_ = r.front.Close()
	for _, road := range r.roads {
		_ = road.up.Close()
	}
}

// readFront takes packets of senders until the socket closes.
func (r *Relay) readFront() error {
	for {
		p := r.forth.packet()
		n, from, err := r.front.ReadFromUDPAddrPort(p.bytes[:])
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the relay's socket: %w", err)
		}
		road, err := r.roadOf(from)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		p.size, p.road = n, road
		r.forth.enter(p)
	}
}

// roadOf returns the sender's road, built at its first packet.
func (r *Relay) roadOf(sender netip.AddrPort) (*road, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.roads[sender]; found != nil {
		return found, nil
	}
	if r.closed {
		return nil, net.ErrClosed
	}
	up, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(r.o.Target))
	if err != nil {
		return nil, fmt.Errorf("open a relay's road to %s: %w", r.o.Target, err)
	}
	enlarge(up)
	built := &road{up: up, sender: sender, back: r.newLane(uint64(len(r.roads))+1, &r.cutBack)}
	r.roads[sender] = built
	r.readers.Go(func() { r.readBack(built) })
	r.writers.Go(func() { built.back.deliver() })
	return built, nil
}

// readBack takes packets of the target for one sender until the socket closes.
func (r *Relay) readBack(road *road) {
	for {
		p := road.back.packet()
		n, err := road.up.Read(p.bytes[:])
		switch {
		case err == nil:
			p.size, p.road = n, road
			road.back.enter(p)
		case errors.Is(err, syscall.ECONNREFUSED):
			// the target is down for a while: one such error for each packet that found nobody
		default:
			return
		}
	}
}

// lane is one direction of a road: it loses, it delays, it keeps the order.
type lane struct {
	relay   *Relay
	forth   bool
	losses  *rand.Rand
	cut     *atomic.Bool
	waiting chan *packet
	spare   sync.Pool
}

type packet struct {
	bytes [packetBytes]byte
	size  int
	road  *road
	due   time.Time
}

// newLane makes lane number n of the relay; each has its own source of losses, used by one reader.
func (r *Relay) newLane(n uint64, cut *atomic.Bool) *lane {
	return &lane{
		relay:   r,
		forth:   n == 0,
		losses:  rand.New(rand.NewPCG(r.o.Seed, n)),
		cut:     cut,
		waiting: make(chan *packet, lanePackets),
		spare:   sync.Pool{New: func() any { return new(packet) }},
	}
}

func (l *lane) packet() *packet { return l.spare.Get().(*packet) }

// enter decides about one packet. The dice are rolled for every packet, so that an outage does not change who is lost later.
func (l *lane) enter(p *packet) {
	lost := l.losses.Float64() < l.relay.o.Loss
	if lost || l.cut.Load() || p.size == packetBytes {
		l.drop(p)
		return
	}
	p.due = time.Now().Add(l.relay.o.Delay)
	select {
	case l.waiting <- p:
	default:
		l.drop(p)
	}
}

func (l *lane) drop(p *packet) {
	l.relay.dropped.Add(1)
	l.spare.Put(p)
}

// deliver hands packets on when they are due, until the lane is closed. A write that fails is a packet lost.
func (l *lane) deliver() {
	for p := range l.waiting {
		time.Sleep(time.Until(p.due))
		var err error
		if l.forth {
			_, err = p.road.up.Write(p.bytes[:p.size])
		} else {
			_, err = l.relay.front.WriteToUDPAddrPort(p.bytes[:p.size], p.road.sender)
		}
		if err != nil {
			l.drop(p)
			continue
		}
		l.relay.carried.Add(1)
		l.spare.Put(p)
	}
}
