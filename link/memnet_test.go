package link_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"drawbridge/link"
)

// windowBytes is what one direction of a stream holds before its writer waits.
const windowBytes = 256 << 10

// network connects dialers with listeners in memory. Safe for concurrent use.
type network struct {
	delay time.Duration // one way; set before the first dial

	mu        sync.Mutex
	listeners map[string]listener
	pairs     []*pair
	dials     []time.Time
}

type listener struct {
	pin    link.Pin
	accept func(*conn)
}

func newNetwork() *network { return &network{listeners: make(map[string]listener)} }

func (n *network) listen(addr string, pin link.Pin, accept func(*conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[addr] = listener{pin, accept}
}

// deaf makes an address unreachable until heal is called.
func (n *network) deaf(addr string) (heal func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[addr]
	delete(n.listeners, addr)
	return func() { n.listen(addr, l.pin, l.accept) }
}

// made returns all connections made so far.
func (n *network) made() []*pair {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.pairs)
}

// dialled counts the dials from since on.
func (n *network) dialled(since time.Time) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, at := range n.dials {
		if !at.Before(since) {
			count++
		}
	}
	return count
}

func (n *network) connect(dialler, answerer link.Pin, addr string) *pair {
	p := &pair{delay: n.delay}
	p.cond.L = &p.mu
	for i, peer := range []link.Pin{answerer, dialler} {
		p.ends[i] = &conn{pair: p, peer: peer, addr: addr, done: make(chan struct{})}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pairs = append(n.pairs, p)
	return p
}

// dialer is a link.Dialer whose owner proves own.
type dialer struct {
	net *network
	own link.Pin
}

func (d dialer) Dial(ctx context.Context, addr string, pins []link.Pin) (link.Conn, error) {
	d.net.mu.Lock()
	d.net.dials = append(d.net.dials, time.Now())
	l, ok := d.net.listeners[addr]
	d.net.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("dial %s: nobody listens", addr)
	}
	if !slices.Contains(pins, l.pin) {
		return nil, fmt.Errorf("dial %s: %w", addr, link.ErrIdentity)
	}
	p := d.net.connect(d.own, l.pin, addr)
	go l.accept(p.ends[1])
	return p.ends[0], nil
}

// pair is one connection with both its ends. One mutex guards all of it.
type pair struct {
	delay time.Duration
	ends  [2]*conn // of the dialler, of the answerer

	mu     sync.Mutex
	cond   sync.Cond
	frozen bool
}

// freeze lets nothing pass until thaw; neither end notices.
func (p *pair) freeze() { p.set(func() { p.frozen = true }) }
func (p *pair) thaw()   { p.set(func() { p.frozen = false }) }

// cut ends the connection at both ends.
func (p *pair) cut() {
	p.set(func() {
		for _, e := range p.ends {
			e.end(errors.New("the connection was cut"))
		}
	})
}

func (p *pair) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.cond.Broadcast()
}

// await blocks until ready, or until the end e or ctx ends.
func (p *pair) await(ctx context.Context, e *conn, ready func() bool) error {
	defer context.AfterFunc(ctx, func() { p.set(func() {}) })()
	for {
		switch {
		case e.err != nil:
			return e.err
		case ready():
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		p.cond.Wait()
	}
}

// conn is one end: a link.Conn.
type conn struct {
	pair *pair
	peer link.Pin
	addr string
	done chan struct{}

	// Guarded by the pair.
	err    error
	opened []arrival[*stream]
	uni    []arrival[*half]
	sent   uint64
}

// arrival is what the other end has opened, and when it gets here.
type arrival[T any] struct {
	stream T
	at     time.Time
}

func (c *conn) other() *conn {
	if c.pair.ends[0] == c {
		return c.pair.ends[1]
	}
	return c.pair.ends[0]
}

func (c *conn) Peer() link.Pin        { return c.peer }
func (c *conn) RemoteAddr() string    { return c.addr }
func (c *conn) Done() <-chan struct{} { return c.done }

func (c *conn) Err() error {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	return c.err
}

func (c *conn) Stats() link.ConnStats {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	return link.ConnStats{RTT: 2 * c.pair.delay, PacketsSent: c.sent}
}

func (c *conn) Close(_ uint64, text string) {
	c.pair.set(func() {
		c.end(fmt.Errorf("closed here: %s", text))
		if !c.pair.frozen {
			c.other().end(fmt.Errorf("closed by peer: %s", text))
		}
	})
}

func (c *conn) end(err error) {
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

func (c *conn) OpenStream(ctx context.Context) (link.Stream, error) {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	if err := c.pair.await(ctx, c, func() bool { return true }); err != nil {
		return nil, err
	}
	o := c.other()
	there, back := &half{from: c, to: o}, &half{from: o, to: c}
	o.opened = append(o.opened, arrival[*stream]{&stream{in: there, out: back}, time.Now().Add(c.pair.delay)})
	c.pair.cond.Broadcast()
	return &stream{in: back, out: there}, nil
}

func (c *conn) AcceptStream(ctx context.Context) (link.Stream, error) {
	s, err := take(ctx, c, &c.opened)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *conn) OpenUniStream(ctx context.Context) (link.SendStream, error) {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	if err := c.pair.await(ctx, c, func() bool { return true }); err != nil {
		return nil, err
	}
	h := &half{from: c, to: c.other()}
	h.to.uni = append(h.to.uni, arrival[*half]{h, time.Now().Add(c.pair.delay)})
	c.pair.cond.Broadcast()
	return sending{h}, nil
}

func (c *conn) AcceptUniStream(ctx context.Context) (link.ReceiveStream, error) {
	h, err := take(ctx, c, &c.uni)
	if err != nil {
		return nil, err
	}
	return receiving{h}, nil
}

// take takes the first of what has arrived at c.
func take[T any](ctx context.Context, c *conn, queue *[]arrival[T]) (first T, err error) {
	c.pair.mu.Lock()
	defer c.pair.mu.Unlock()
	err = c.pair.await(ctx, c, func() bool { return len(*queue) > 0 && c.pair.arrived((*queue)[0].at) })
	if err == nil {
		first, *queue = (*queue)[0].stream, (*queue)[1:]
	}
	return first, err
}

// arrived says whether what was sent at an instant and arrives at at is there, and sees to it that it is asked again.
func (p *pair) arrived(at time.Time) bool {
	if p.frozen {
		return false
	}
	if wait := time.Until(at); wait > 0 {
		time.AfterFunc(wait, func() { p.set(func() {}) })
		return false
	}
	return true
}

// half is one direction of a stream. Guarded by the pair.
type half struct {
	from, to *conn
	chunks   []arrival[[]byte]
	bytes    int
	finished bool
	broken   bool // reset by the writer or stopped by the reader
	paused   bool
}

var errBroken = errors.New("the stream was given up")

func (h *half) Write(b []byte) (int, error) {
	p := h.from.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	for done := 0; done < len(b); {
		err := p.await(context.Background(), h.from, func() bool { return h.broken || h.bytes < windowBytes })
		if err == nil && h.broken {
			err = errBroken
		}
		if err != nil {
			return done, err
		}
		n := min(len(b)-done, windowBytes-h.bytes)
		h.chunks = append(h.chunks, arrival[[]byte]{slices.Clone(b[done : done+n]), time.Now().Add(p.delay)})
		h.bytes += n
		h.from.sent++
		done += n
		p.cond.Broadcast()
	}
	return len(b), nil
}

func (h *half) Read(b []byte) (int, error) {
	p := h.to.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.await(context.Background(), h.to, func() bool {
		return h.broken || !h.paused && (len(h.chunks) > 0 && p.arrived(h.chunks[0].at) || len(h.chunks) == 0 && h.finished && !p.frozen)
	})
	switch {
	case err != nil:
		return 0, err
	case h.broken:
		return 0, errBroken
	case len(h.chunks) == 0:
		return 0, io.EOF
	}
	n := copy(b, h.chunks[0].stream)
	h.bytes -= n
	if h.chunks[0].stream = h.chunks[0].stream[n:]; len(h.chunks[0].stream) == 0 {
		h.chunks = h.chunks[1:]
	}
	p.cond.Broadcast()
	return n, nil
}

func (h *half) finish() { h.from.pair.set(func() { h.finished = true }) }
func (h *half) giveUp() { h.from.pair.set(func() { h.broken = true }) }

type stream struct{ in, out *half }

func (s *stream) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *stream) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s *stream) Close() error                { s.out.finish(); return nil }
func (s *stream) Reset()                      { s.in.giveUp(); s.out.giveUp() }

type sending struct{ *half }

func (s sending) Close() error { s.finish(); return nil }
func (s sending) Reset()       { s.giveUp() }

type receiving struct{ *half }

func (r receiving) Stop() { r.giveUp() }

// pause keeps the reader from getting anything more of this direction.
func (h *half) pause() { h.to.pair.set(func() { h.paused = true }) }
