package demo_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"drawbridge/cmd/drawbridge/demo"
)

// errDown is what a killed agent's callers get.
var errDown = errors.New("connection refused")

const (
	// syncTime is how long a simple agent takes to store, resendAfter how long it waits for an answer.
	syncTime    = time.Millisecond
	resendAfter = 15 * time.Millisecond
	visibility  = 100 * time.Millisecond
	inFlight    = 64
)

// process is the life of a simple agent: what it has stored outlives it.
type process struct {
	mu    sync.Mutex
	alive bool
	lives int
	conn  *net.UDPConn
	loops sync.WaitGroup
	ends  chan struct{} // closed by end; what a frozen process does waits for it
	cold  bool
}

// in returns the present life, or an error if the agent is down.
func (p *process) in() (life int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive {
		return 0, errDown
	}
	return p.lives, nil
}

// still says whether the life that a call began in goes on.
func (p *process) still(life int) error {
	p.mu.Lock()
	cold, ends := p.cold, p.ends
	p.mu.Unlock()
	if cold {
		<-ends
	}
	if now, err := p.in(); err != nil || now != life {
		return errDown
	}
	return nil
}

func (p *process) begin(conn *net.UDPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alive, p.conn, p.cold, p.ends = true, conn, false, make(chan struct{})
	p.lives++
}

func (p *process) end() {
	p.mu.Lock()
	if p.alive {
		close(p.ends)
	}
	p.alive = false
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
	p.loops.Wait()
}

// Freeze lets no call in progress be answered.
func (p *process) Freeze() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cold = true
	return nil
}

// simpleA is a sending agent over datagrams: it keeps what was put, ships it in order and again until it is answered.
type simpleA struct {
	process
	relay string

	mu      sync.Mutex
	ids     map[string]bool
	queue   []stored
	settled uint64
	shipped uint64
	// forgets is a message that A stores and never ships, if it is not zero: a lost one.
	forgets uint64
	// final is what the tenth put is answered with.
	final error
	// blind makes A claim that it waits for no answer.
	blind bool
}

type stored struct {
	id   string
	body []byte
}

func (a *simpleA) Put(ctx context.Context, id string, body []byte) error {
	life, err := a.in()
	if err != nil {
		return err
	}
	time.Sleep(syncTime / 2)
	if err := a.still(life); err != nil {
		return err
	}
	a.mu.Lock()
	if len(a.queue) == 10 && a.final != nil {
		a.mu.Unlock()
		return a.final
	}
	if !a.ids[id] {
		a.ids[id] = true
		a.queue = append(a.queue, stored{id, append([]byte(nil), body...)})
	}
	a.mu.Unlock()
	time.Sleep(syncTime / 2) // dead now, it has stored and not answered
	return a.still(life)
}

func (a *simpleA) Held(context.Context) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue) - int(a.settled), nil
}

func (a *simpleA) Unanswered(context.Context) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.blind {
		return 0, nil
	}
	return int(a.shipped - a.settled), nil
}

func (a *simpleA) Condition(context.Context) string               { return "stalled: no answers" }
func (a *simpleA) Lease(context.Context) ([]demo.Delivery, error) { return nil, errors.ErrUnsupported }
func (a *simpleA) Ack(context.Context, []string) ([]bool, error)  { return nil, errors.ErrUnsupported }
func (a *simpleA) Kill() error                                    { a.end(); return nil }

func (a *simpleA) Start(context.Context) error {
	to, err := net.ResolveUDPAddr("udp4", a.relay)
	if err != nil {
		return err
	}
	conn, err := net.DialUDP("udp4", nil, to)
	if err != nil {
		return err
	}
	a.begin(conn)
	a.loops.Go(func() { a.hear(conn) })
	a.loops.Go(func() { a.ship(conn) })
	return nil
}

// hear takes answers: each is the highest number that B has.
func (a *simpleA) hear(conn *net.UDPConn) {
	b := make([]byte, 8)
	for {
		if _, err := conn.Read(b); errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			continue
		}
		a.mu.Lock()
		a.settled = max(a.settled, binary.BigEndian.Uint64(b))
		a.mu.Unlock()
	}
}

// ship sends new messages at once, and all that is not answered again after a while.
func (a *simpleA) ship(conn *net.UDPConn) {
	resend := time.Now()
	next := uint64(0)
	for {
		a.mu.Lock()
		if time.Since(resend) > resendAfter {
			resend, next = time.Now(), a.settled
		}
		var packets [][]byte
		for next = max(next, a.settled); next < uint64(len(a.queue)) && next < a.settled+inFlight; {
			m := a.queue[next]
			next++
			if next == a.forgets {
				continue
			}
			p := binary.BigEndian.AppendUint64(nil, next)
			p = append(append(p, byte(len(m.id))), m.id...)
			packets = append(packets, append(p, m.body...))
		}
		a.shipped = max(a.shipped, next)
		a.mu.Unlock()
		for _, p := range packets {
			if _, err := conn.Write(p); errors.Is(err, net.ErrClosed) {
				return
			}
		}
		if _, err := conn.Write(nil); errors.Is(err, net.ErrClosed) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// simpleB is a receiving agent over datagrams: it admits messages in the order of numbers, each once.
type simpleB struct {
	process
	addr string

	mu       sync.Mutex
	frontier uint64
	queue    map[uint64]*waiting
	sequence uint64
	// amnesiac admits a message as often as it comes: an agent without dedupe.
	amnesiac bool
	// killFails is what Kill says besides killing.
	killFails error
}

type waiting struct {
	stored
	attempt uint32
	leased  time.Time
}

func (b *simpleB) Put(context.Context, string, []byte) error { return errors.ErrUnsupported }
func (b *simpleB) Unanswered(context.Context) (int, error)   { return 0, nil }
func (b *simpleB) Condition(context.Context) string          { return "up" }
func (b *simpleB) Kill() error                               { b.end(); return b.killFails }

func (b *simpleB) Held(context.Context) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue), nil
}

func (b *simpleB) Start(context.Context) error {
	at, err := net.ResolveUDPAddr("udp4", b.addr)
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp4", at)
	if err != nil {
		return err
	}
	b.addr = conn.LocalAddr().String()
	b.begin(conn)
	b.loops.Go(func() { b.hear(conn) })
	return nil
}

func (b *simpleB) hear(conn *net.UDPConn) {
	packet := make([]byte, 2048)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(packet)
		if err != nil {
			return
		}
		if n < 9 {
			continue
		}
		number, id := binary.BigEndian.Uint64(packet), string(packet[9:9+packet[8]])
		answer := b.admit(number, id, packet[9+packet[8]:n])
		_, _ = conn.WriteToUDPAddrPort(binary.BigEndian.AppendUint64(nil, answer), from)
	}
}

func (b *simpleB) admit(number uint64, id string, body []byte) (frontier uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number == b.frontier+1 || number <= b.frontier && b.amnesiac {
		b.frontier = max(b.frontier, number)
		b.sequence++
		b.queue[b.sequence] = &waiting{stored: stored{id, append([]byte(nil), body...)}}
	}
	return b.frontier
}

func (b *simpleB) Lease(context.Context) ([]demo.Delivery, error) {
	life, err := b.in()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	var out []demo.Delivery
	for sequence := uint64(1); sequence <= b.sequence && len(out) < 100; sequence++ {
		w := b.queue[sequence]
		if w == nil || time.Since(w.leased) < visibility {
			continue
		}
		w.leased = time.Now()
		w.attempt++
		out = append(out, demo.Delivery{ID: w.id, Sequence: sequence, Attempt: w.attempt, Receipt: fmt.Sprint(sequence, " ", w.attempt), Body: w.body})
	}
	b.mu.Unlock()
	time.Sleep(syncTime)
	return out, b.still(life)
}

func (b *simpleB) Ack(_ context.Context, receipts []string) ([]bool, error) {
	life, err := b.in()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	ended := make([]bool, len(receipts))
	for i, r := range receipts {
		var sequence uint64
		var attempt uint32
		_, _ = fmt.Sscan(r, &sequence, &attempt)
		if w := b.queue[sequence]; w != nil && w.attempt == attempt {
			delete(b.queue, sequence)
			ended[i] = true
		}
	}
	b.mu.Unlock()
	time.Sleep(syncTime)
	return ended, b.still(life)
}

// crossing is a crossing of two simple agents, whose events take tenths of a second.
func crossing(t *testing.T, spoil func(a *simpleA, b *simpleB)) *demo.Crossing {
	t.Helper()
	a := &simpleA{ids: map[string]bool{}}
	b := &simpleB{addr: "127.0.0.1:0", queue: map[uint64]*waiting{}}
	spoil(a, b)
	start := func(agent demo.Agent, end func()) {
		if err := agent.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
	}
	start(b, b.end)
	r := openRelay(t, demo.RelayOptions{Target: addrPort(t, b.addr), Loss: 0.05, Delay: time.Millisecond, Seed: 1})
	a.relay = r.Addr()
	start(a, a.end)
	return &demo.Crossing{
		A: a, B: b, Relay: r, Messages: 1000, Producers: 16, Ahead: 100,
		Outage: 50 * time.Millisecond, LongOutage: 150 * time.Millisecond, Patience: 5 * time.Second,
	}
}
