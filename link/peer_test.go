package link_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

const (
	nearAddr = "near:1"
	farAddr  = "far:1"
	// orders leave the near side, refunds enter it.
	orders  = "orders"
	refunds = "refunds"
	// soon bounds every wait for something that must happen.
	soon = 2 * time.Minute
)

// The near side has the smaller key hash: it is the chooser.
var nearPin, farPin = link.Pin{1}, link.Pin{2}

// host is a link with a store of its own. A host in a test is the near side unless it is one of two.
type host struct {
	t     *testing.T
	net   *network
	store *bolt.Store
	link  *link.Link
	log   logLines
	// fetched, if set, stands between the store and the link and damages what is read.
	fetched atomic.Pointer[func([]spool.Record) []spool.Record]

	stop context.CancelFunc
	done chan error
}

// setup changes what a host is made of.
type setup func(*link.Options, *bolt.Options)

// newHost opens a store and runs the near link over it. Both end with the test.
func newHost(t *testing.T, n *network, change ...setup) *host {
	t.Helper()
	o := link.Options{
		Name: "far", Agent: "near", Self: nearPin, Pins: []link.Pin{farPin},
		Sends:    []link.Send{{Name: orders, From: orders, To: orders}},
		Receives: []link.Receive{{To: refunds}},
	}
	b := bolt.Options{Agent: "near", LedgerMemoryBytes: 1 << 20, Queues: map[string]spool.QueueOptions{
		orders:  {Route: orders},
		refunds: {},
	}}
	return startHost(t, n, nearAddr, o, b, change...)
}

// newFarHost is the other one of two.
func newFarHost(t *testing.T, n *network, change ...setup) *host {
	t.Helper()
	o := link.Options{
		Name: "near", Agent: "far", Self: farPin, Pins: []link.Pin{nearPin},
		Sends:    []link.Send{{Name: refunds, From: refunds, To: refunds}},
		Receives: []link.Receive{{To: orders}},
	}
	b := bolt.Options{Agent: "far", LedgerMemoryBytes: 1 << 20, Queues: map[string]spool.QueueOptions{
		refunds: {Route: refunds},
		orders:  {},
	}}
	return startHost(t, n, farAddr, o, b, change...)
}

func dials(addr ...string) setup {
	return func(o *link.Options, _ *bolt.Options) { o.Addresses = addr }
}

func startHost(t *testing.T, n *network, addr string, o link.Options, b bolt.Options, change ...setup) *host {
	t.Helper()
	h := &host{t: t, net: n, done: make(chan error, 1)}
	o.Log = hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &h.log})
	for _, c := range change {
		c(&o, &b)
	}
	store, err := bolt.Open(t.TempDir(), b)
	if err != nil {
		t.Fatal(err)
	}
	h.store = store
	h.link = link.New(o, damaged{store, h}, dialer{n, o.Self})
	ctx, cancel := context.WithCancel(t.Context())
	h.stop = cancel
	n.listen(addr, o.Self, func(c *conn) { h.link.Accept(ctx, c) })
	go func() { h.done <- h.link.Run(ctx, 5*time.Second) }()
	t.Cleanup(func() {
		h.shutdown()
		if err := store.Close(); err != nil {
			t.Errorf("close the spool: %v", err)
		}
	})
	return h
}

// damaged is the host's store as the link sees it.
type damaged struct {
	*bolt.Store
	h *host
}

func (d damaged) Fetch(ctx context.Context, route spool.Route, lane uint8, numbers []uint64) ([]spool.Record, error) {
	records, err := d.Store.Fetch(ctx, route, lane, numbers)
	if damage := d.h.fetched.Load(); damage != nil {
		records = (*damage)(records)
	}
	return records, err
}

// shutdown ends Run and waits for it. Doing it twice is harmless.
func (h *host) shutdown() {
	h.stop()
	select {
	case err, first := <-h.done:
		if first && err != nil {
			h.t.Errorf("run: %v", err)
		}
		if first {
			close(h.done)
		}
	case <-time.After(soon):
		h.t.Error("Run does not return")
	}
}

// put stores messages with bodies of size bytes in the queue that leaves.
func (h *host) put(queue string, size int, ids ...string) {
	h.t.Helper()
	puts := make([]spool.Put, len(ids))
	for i, id := range ids {
		puts[i] = spool.Put{Queue: queue, ID: id, Priority: message.DefaultPriority, Body: bytes.Repeat([]byte{'x'}, size)}
	}
	results, err := h.store.Put(h.t.Context(), puts)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range results {
		if r.Status != spool.Stored {
			h.t.Fatalf("put %s: %v", r.ID, r.Err)
		}
	}
}

// ids returns what the queue holds, in order.
func (h *host) ids(queue string) (ids []string) {
	h.t.Helper()
	for from := uint64(0); ; {
		peeked, err := h.store.Peek(h.t.Context(), queue, from, 10_000)
		if err != nil {
			h.t.Fatal(err)
		}
		if len(peeked) == 0 {
			return ids
		}
		for _, p := range peeked {
			ids = append(ids, p.ID)
			from = p.Sequence + 1
		}
	}
}

func (h *host) state() link.State { return h.link.Status().State }

// eventually waits in virtual time until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", soon, what)
		}
	}
}

func (h *host) eventuallyState(want link.State) {
	h.t.Helper()
	eventually(h.t, "state "+string(want), func() bool { return h.state() == want })
}

// names returns n ids that sort in order.
func names(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return ids
}

// logLines is a log that a test reads.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	return len(b), nil
}

func (l *logLines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// peer speaks frames with a host's link as a test tells it to. It is the far side, without a spool.
type peer struct {
	t        *testing.T
	h        *host
	spool    message.SpoolID
	epoch    message.Epoch
	limits   protocol.Limits
	versions protocol.VersionRange
}

func newPeer(t *testing.T, h *host) *peer {
	return &peer{
		t: t, h: h,
		spool:    message.NewSpoolID(),
		epoch:    message.Epoch{Counter: 1, Tag: 1},
		limits:   protocol.Limits{MaxMessageBytes: 1 << 20, CreditBytes: 4 << 20, CreditMessages: 8192},
		versions: protocol.VersionRange{Min: 1, Max: 1},
	}
}

// connect dials the host and says nothing yet.
func (p *peer) connect() *conn {
	pair := p.h.net.connect(farPin, nearPin, farAddr)
	p.h.net.mu.Lock()
	l := p.h.net.listeners[nearAddr]
	p.h.net.mu.Unlock()
	go l.accept(pair.ends[1])
	return pair.ends[0]
}

func (p *peer) hello(joins message.SessionID) *protocol.Hello {
	return &protocol.Hello{Versions: p.versions, Agent: "far", Spool: p.spool, Epochs: []message.Epoch{p.epoch}, Limits: p.limits, Joins: joins}
}

// greet opens a control stream and says hello.
func (p *peer) greet() *talk {
	p.t.Helper()
	k := p.open(p.connect())
	k.say(p.hello(message.SessionID{}))
	return k
}

// meet brings a session about by dialling the host, announces the route into refunds and waits until the host says up.
func (p *peer) meet() *talk {
	p.t.Helper()
	k := p.greet()
	k.begin()
	p.h.eventuallyState(link.Up)
	return k
}

// begin hears Welcome and Use, and announces the route.
func (k *talk) begin() {
	k.t.Helper()
	k.welcomed(hear[*protocol.Welcome](k))
	if u := hear[*protocol.Use](k); u.Session != k.session {
		k.t.Fatalf("Use of %s in session %s", u.Session, k.session)
	}
	k.resume(refunds)
}

func (k *talk) welcomed(w *protocol.Welcome) {
	k.session, k.nearSpool, k.nearEpoch = w.Session, w.Spool, w.Epochs[0]
}

func (k *talk) resume(queue string) {
	k.say(&protocol.Resume{Session: k.session, Last: true, Routes: []protocol.ResumeRoute{{Name: "far-" + queue, Queue: queue, Horizon: time.Hour}}})
}

// join adds a data connection to the session of k.
func (p *peer) join(k *talk) *talk {
	p.t.Helper()
	d := p.open(p.connect())
	d.session, d.nearSpool, d.nearEpoch = k.session, k.nearSpool, k.nearEpoch
	d.say(p.hello(k.session))
	return d
}

// talk is one connection of a peer with its control stream. Heartbeats are echoed and batches kept as they come.
type talk struct {
	*peer
	conn   *conn
	stream link.Stream

	session   message.SessionID
	nearSpool message.SpoolID
	nearEpoch message.Epoch

	frames chan protocol.Frame
	ships  chan *protocol.Ship
	closes chan *protocol.Close

	mu     sync.Mutex
	mute   bool
	stops  int  // so many batches are stopped unread
	unread bool // batches are left where they are
	ended  error
}

// open opens the control stream of a connection and reads it.
func (p *peer) open(c *conn) *talk {
	p.t.Helper()
	s, err := c.OpenStream(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return p.over(c, s)
}

// answer listens in the far side's place and hands out what the host dials. Nothing was read of it yet.
func (p *peer) answer() <-chan *conn {
	dialled := make(chan *conn, 1000)
	p.h.net.listen(farAddr, farPin, func(c *conn) { dialled <- c })
	return dialled
}

// serve hands connections to handle, one after the other, until the test ends.
func serve(t *testing.T, dialled <-chan *conn, handle func(*conn)) {
	go func() {
		for {
			select {
			case c := <-dialled:
				handle(c)
			case <-t.Context().Done():
				return
			}
		}
	}()
}

// accept takes the control stream of a connection that the host has dialled, and the Hello on it.
func (p *peer) accept(c *conn) (*talk, *protocol.Hello) {
	p.t.Helper()
	s, err := c.AcceptStream(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	k := p.over(c, s)
	return k, hear[*protocol.Hello](k)
}

func (p *peer) over(c *conn, s link.Stream) *talk {
	k := &talk{peer: p, conn: c, stream: s, frames: make(chan protocol.Frame, 100_000), ships: make(chan *protocol.Ship, 10_000), closes: make(chan *protocol.Close, 10_000)}
	p.t.Cleanup(func() { c.Close(1, "the test is over") })
	go k.read()
	go k.receive()
	return k
}

func (k *talk) read() {
	defer close(k.frames)
	r := protocol.NewReader(k.stream, 1<<20)
	for {
		f, err := r.Next()
		if err != nil {
			k.mu.Lock()
			k.ended = errors.Join(err, k.conn.Err())
			k.mu.Unlock()
			return
		}
		b, heartbeat := f.(*protocol.Heartbeat)
		if !heartbeat {
			k.frames <- f
			continue
		}
		k.mu.Lock()
		mute := k.mute
		k.mu.Unlock()
		if b.Seq > 0 && !mute {
			k.say(&protocol.Heartbeat{Echo: b.Seq})
		}
	}
}

func (k *talk) receive() {
	for {
		s, err := k.conn.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		k.mu.Lock()
		stop, unread := k.stops > 0, k.unread
		k.stops--
		k.mu.Unlock()
		if stop {
			s.Stop()
		}
		if stop || unread {
			continue
		}
		f, err := protocol.NewReader(s, 1<<20).Next()
		if err != nil {
			continue
		}
		switch f := f.(type) {
		case *protocol.Ship:
			k.ships <- f
		case *protocol.Close:
			k.closes <- f
		}
	}
}

// silence keeps the peer from echoing heartbeats.
func (k *talk) silence(mute bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mute = mute
}

// stopStreams makes the peer stop the next n batches unread.
func (k *talk) stopStreams(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stops = n
}

// leaveStreams makes the peer read no batch on this connection.
func (k *talk) leaveStreams() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unread = true
}

// say writes a frame on the control stream. A connection that has ended swallows it.
func (k *talk) say(f protocol.Frame) { _, _ = k.stream.Write(protocol.Append(nil, f)) }

// sayBytes opens a unidirectional stream of its own for b.
func (k *talk) sayBytes(b []byte) {
	k.t.Helper()
	s, err := k.conn.OpenUniStream(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := s.Write(b); err != nil {
		k.t.Fatal(err)
	}
	s.Close()
}

// ship ships items as one batch.
func (k *talk) ship(queue string, stream message.StreamID, items ...protocol.Shipment) {
	k.t.Helper()
	k.sayBytes(protocol.Append(nil, &protocol.Ship{Session: k.session, Route: "far-" + queue, Queue: queue, Stream: stream, Items: items}))
}

// hear waits for the next frame of a type, past all others.
func hear[F protocol.Frame](k *talk) F {
	k.t.Helper()
	for deadline := time.After(soon); ; {
		select {
		case f, ok := <-k.frames:
			if !ok {
				k.t.Fatalf("the connection ended while %T was awaited: %v", *new(F), k.ended)
			}
			if wanted, ok := f.(F); ok {
				return wanted
			}
		case <-deadline:
			k.t.Fatalf("no %T came", *new(F))
		}
	}
}

// heard returns the frames of a type that have come, past all others.
func heard[F protocol.Frame](k *talk) (frames []F) {
	for {
		select {
		case f, ok := <-k.frames:
			if !ok {
				return frames
			}
			if wanted, ok := f.(F); ok {
				frames = append(frames, wanted)
			}
		default:
			return frames
		}
	}
}

// shipped waits for the next batch of the host.
func (k *talk) shipped() *protocol.Ship {
	k.t.Helper()
	select {
	case s := <-k.ships:
		return s
	case <-time.After(soon):
		k.t.Fatal("no batch came")
		return nil
	}
}

// closed waits for the next Close of the host.
func (k *talk) closed() *protocol.Close {
	k.t.Helper()
	select {
	case c := <-k.closes:
		return c
	case <-time.After(soon):
		k.t.Fatal("no Close came")
		return nil
	}
}

// decide answers one number of a stream that goes to queue.
func (k *talk) decide(queue string, stream message.StreamID, number uint64, verdict message.Verdict, reason message.Reason) {
	k.say(&protocol.Accepted{
		Answer: protocol.Answer{Session: k.session, Spool: k.spool, Epoch: k.epoch, Queue: queue, Stream: stream},
		Ranges: []protocol.AcceptedRange{{Range: message.Range{First: number, Last: number}, Verdict: verdict, Reason: reason}},
	})
}

// requireEnd waits until the host has hung up, for a reason that holds text.
func (k *talk) requireEnd(text string) {
	k.t.Helper()
	select {
	case <-k.conn.Done():
	case <-time.After(soon):
		k.t.Fatalf("the connection does not end, want %q", text)
	}
	if err := k.conn.Err(); !strings.Contains(err.Error(), text) {
		k.t.Errorf("the connection ended with %q, want %q in it", err, text)
	}
}

// answerTo says who answers about a queue's stream: this peer, in its session.
func (k *talk) answerTo(s *protocol.Ship) protocol.Answer {
	return protocol.Answer{Session: k.session, Spool: k.spool, Epoch: k.epoch, Queue: s.Queue, Stream: s.Stream}
}

// settle answers a whole batch as accepted.
func (k *talk) settle(s *protocol.Ship) { k.say(accepted(k.answerTo(s), s)) }

func accepted(a protocol.Answer, s *protocol.Ship) *protocol.Accepted {
	f := &protocol.Accepted{Answer: a}
	for _, item := range s.Items {
		f.Ranges = append(f.Ranges, protocol.AcceptedRange{Range: message.Range{First: item.Number, Last: item.Number}, Verdict: message.Accepted})
	}
	return f
}

// item is a message of the far side.
func item(number uint64, prev message.Place, id string, body []byte) protocol.Shipment {
	m := message.Message{Head: message.Head{ID: id, Origin: "far", Priority: message.DefaultPriority}, Body: body}
	m.Hops = []string{"far"}
	m.Seal()
	return protocol.Shipment{Number: number, Prev: prev, Record: message.AppendRecord(nil, &m)}
}

// chain is a run of messages numbered from 1, each with the one before as its prev.
func chain(stream message.StreamID, ids []string, size int) []protocol.Shipment {
	items := make([]protocol.Shipment, len(ids))
	var prev message.Place
	for i, id := range ids {
		items[i] = item(uint64(i+1), prev, id, make([]byte, size))
		prev = message.Place{Stream: stream, Number: uint64(i + 1)}
	}
	return items
}

// stopReading lets what the host says pile up.
func (k *talk) stopReading() { k.stream.(*stream).in.pause() }
