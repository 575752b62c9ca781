package flow_test

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// world is a lane, a far side, and a link between them that loses frames and answers, breaks, falls silent for weeks.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	events events
	calls  int // of Next
	wakes  int

	lane *flow.Lane
	far  far

	// The link. A session's frames and answers are worth nothing in the next.
	session  int
	up       bool // a session stands
	silent   bool // and yet nothing passes
	delay    time.Duration
	conns    [3]int // numbers of the connections that stand
	nextConn int
	broken   map[int]bool

	stock   []flow.Item // what the producer has stored and the loader has not read
	number  uint64
	stream  message.StreamID
	offered map[uint64]*sent
	open    []uint64 // offered and not answered, in order
	settled map[uint64]bool
	dead    map[uint64]message.Reason // what became a dead letter
	// unreadable says until when the record of a message cannot be read here.
	unreadable map[uint64]time.Time

	// What the lane may do, kept apart from the lane.
	grant      flow.Grant
	bytes      uint64
	through    map[message.StreamID]uint64
	high       uint64 // highest number shipped in this session
	unanswered int
	unbytes    uint64
	progress   time.Time
	held       time.Time // when the far side refused last
	resent     int
}

type sent struct {
	flow.Item
	session, via int
	at           time.Time
	// closing is why it is being closed, since when; closed says that it left as a Close last.
	closing message.Reason
	since   time.Time
	closed  bool
}

// cause is why the message is to be closed at now, empty if it is not.
func (it *sent) cause(now time.Time) message.Reason {
	if it.closing == "" && !it.Until.IsZero() && !now.Before(it.Until) {
		return it.Cause
	}
	return it.closing
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), now: start,
		lane:       flow.NewLane(flow.Options{}),
		broken:     map[int]bool{},
		offered:    map[uint64]*sent{},
		settled:    map[uint64]bool{},
		dead:       map[uint64]message.Reason{},
		unreadable: map[uint64]time.Time{},
		stream:     message.StreamID{1},
		far: far{
			frontier: map[message.StreamID]uint64{},
			ledger:   map[uint64]bool{},
			closed:   map[uint64]message.Reason{},
			waiting:  map[uint64]arrival{},
		},
	}
}

// about returns a time around d, from a hundredth to a few times d.
func (w *world) about(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.01 + w.rng.ExpFloat64()))
}

func (w *world) in(d time.Duration, do func()) {
	heap.Push(&w.events, event{w.now.Add(d), do})
}

// run lets time pass until the deadline. The lane is asked after each event and when it wakes, as its owner would.
func (w *world) run(deadline time.Time, done func() bool) {
	w.load()
	w.pump()
	for !done() {
		wake := w.lane.Wake()
		asleep := wake.IsZero() || !w.up
		switch {
		case !asleep && (len(w.events) == 0 || wake.Before(w.events[0].at)):
			if wake.Before(w.now) {
				w.t.Fatalf("wakes in the past, %v ago", w.now.Sub(wake))
			}
			w.now = wake
			w.wakes++
			if w.pump() == 0 {
				w.t.Fatalf("woke after %v to ship nothing", w.now.Sub(start))
			}
		case len(w.events) == 0:
			w.t.Fatalf("stands still after %v with %d messages open", w.now.Sub(start), len(w.open))
		default:
			e := heap.Pop(&w.events).(event)
			w.now = e.at
			e.do()
			w.load()
			w.pump()
		}
		if w.now.After(deadline) {
			w.t.Fatalf("not done after %v: %d messages open, %d in stock", w.now.Sub(start), len(w.open), len(w.stock))
		}
	}
}

func (w *world) load() {
	n := min(w.lane.Room(), len(w.stock))
	w.lane.Offer(w.stock[:n])
	for _, it := range w.stock[:n] {
		w.offered[it.Number] = &sent{Item: it, via: -1}
		w.open = append(w.open, it.Number)
	}
	w.stock = w.stock[n:]
}

func (w *world) pump() (batches int) {
	for w.up {
		w.calls++
		via := w.conns[w.rng.IntN(len(w.conns))]
		b, ok := w.lane.Next(w.now, via)
		if !ok {
			if wake := w.lane.Wake(); !wake.IsZero() && !wake.After(w.now) {
				w.t.Fatalf("nothing to ship, yet to be asked again %v ago", w.now.Sub(wake))
			}
			return batches
		}
		batches++
		w.check(b, via)
		w.carry(b, via)
	}
	return batches
}

// carry takes a batch over the link, perhaps twice: or loses it, with its connection or alone.
func (w *world) carry(b flow.Batch, via int) {
	b.Items = w.readable(b)
	if w.rng.IntN(100) == 0 || len(b.Items) == 0 {
		return
	}
	for range 1 + w.rng.IntN(100)/98 {
		w.pass(w.delay+w.about(20*time.Millisecond), func() {
			if w.broken[via] {
				return
			}
			a := w.far.receive(b)
			if w.rng.IntN(100) == 0 {
				return // the answer is lost
			}
			w.pass(w.delay, func() { w.answer(a) })
		})
	}
}

// pass does something at the other side after a time, if the link passes anything now and then.
func (w *world) pass(d time.Duration, do func()) {
	session := w.session
	passes := func() bool { return session == w.session && w.up && !w.silent }
	if !passes() {
		return
	}
	w.in(d, func() {
		if passes() {
			do()
		}
	})
}

// readable returns what of the batch can leave: some records cannot be read for some hours.
func (w *world) readable(b flow.Batch) []flow.Shipment {
	for i, s := range b.Items {
		if s.Number%1499 != 0 {
			continue
		}
		if w.unreadable[s.Number].IsZero() {
			w.unreadable[s.Number] = w.now.Add(w.about(2 * time.Hour))
		}
		if w.now.Before(w.unreadable[s.Number]) {
			w.held = w.now
			w.lane.HoldAt(w.now, b.Stream, s.Number, "corrupt")
			return b.Items[:i]
		}
	}
	return b.Items
}

func (w *world) answer(a answer) {
	for _, e := range a.ended {
		w.ended(e)
	}
	for _, p := range a.refused {
		w.close(p.Stream, message.Range{First: p.Number, Last: p.Number}, message.ReasonTooLarge)
	}
	if a.full {
		w.held = w.now
		w.lane.Hold(w.now, "full")
	}
	if len(a.ended) > 0 {
		w.credit(a.ended[len(a.ended)-1].Stream)
	}
}

// ended ends a message that is open, once and by its first verdict.
func (w *world) ended(e ending) {
	r := message.Range{First: e.Number, Last: e.Number}
	at, isOpen := slices.BinarySearch(w.open, e.Number)
	if held := w.lane.HeldIn(e.Stream, r); isOpen != (len(held) == 1) {
		w.t.Fatalf("%d is open: %v, held: %v", e.Number, isOpen, held)
	}
	if settle := w.lane.Answered(w.now, e.Stream, []message.Range{r}); isOpen != (len(settle) == 1) {
		w.t.Fatalf("answer to %d settles %v", e.Number, settle)
	}
	if !isOpen {
		return
	}
	w.open = slices.Delete(w.open, at, at+1)
	w.progress = w.now
	it := w.offered[e.Number]
	if it.session == w.session {
		w.unanswered--
		w.unbytes -= uint64(it.Bytes)
	}
	if e.verdict != message.Closed {
		w.settled[e.Number] = true
		return
	}
	if e.reason != it.cause(w.now) {
		w.t.Fatalf("%d was closed for %q, want %q", e.Number, e.reason, it.cause(w.now))
	}
	w.dead[e.Number] = e.reason
}

// close begins to close what is open of stream in r.
func (w *world) close(stream message.StreamID, r message.Range, cause message.Reason) {
	for _, n := range w.open {
		if it := w.offered[n]; it.Stream == stream && r.First <= n && n <= r.Last {
			it.since = w.now
			if it.closing = it.cause(w.now); it.closing == "" {
				it.closing = cause
			}
		}
	}
	w.lane.Close(w.now, stream, r, cause)
}

// credit lets stream go on, or closes it for a while.
func (w *world) credit(id message.StreamID) {
	closed := w.rng.IntN(50) == 0
	w.bytes, w.through[id] = uint64(w.rng.IntN(256<<10)), w.far.frontier[id]+uint64(w.rng.IntN(400))
	if closed {
		w.bytes, w.through[id] = 0, 0
	}
	if closed || w.through[id] <= w.far.frontier[id] {
		session := w.session
		w.in(w.about(time.Minute), func() {
			if w.up && session == w.session {
				w.credit(id)
			}
		})
	}
	w.lane.Credit(id, w.through[id], w.bytes)
}

func (w *world) begin() {
	w.session++
	w.up, w.silent = true, false
	w.delay = time.Duration(1+w.rng.IntN(300)) * time.Millisecond
	w.grant = flow.Grant{Bytes: 64 << 10, Messages: 64}
	w.bytes, w.through = w.grant.Bytes, map[message.StreamID]uint64{}
	w.high, w.unanswered, w.unbytes, w.progress = 0, 0, 0, w.now
	clear(w.far.waiting)
	for i := range w.conns {
		w.conns[i] = w.connect()
	}
	w.lane.Begin(w.now, w.grant)
	if w.rng.IntN(3) == 0 { // the spool was opened anew meanwhile
		w.stream[0]++
	}
}

func (w *world) connect() int { w.nextConn++; return w.nextConn }

func (w *world) lose(i int) {
	w.broken[w.conns[i]] = true
	w.lane.Lost(w.conns[i])
	w.conns[i] = w.connect()
}

type event struct {
	at time.Time
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}
