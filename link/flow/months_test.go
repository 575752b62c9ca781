package flow_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

const day = 24 * time.Hour

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
	dead     map[int]bool

	stock   []flow.Item // what the producer has stored and the loader has not read
	number  uint64
	stream  message.StreamID
	offered map[uint64]*sent
	open    []uint64 // offered and not answered, in order

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
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), now: start,
		lane:    flow.NewLane(flow.Options{}),
		dead:    map[int]bool{},
		offered: map[uint64]*sent{},
		stream:  message.StreamID{1},
	}
	blamed := map[uint64]time.Time{}
	w.far = far{frontier: map[message.StreamID]uint64{}, waiting: map[uint64]arrival{}, refuses: func(n uint64) time.Time {
		if n%1499 != 0 {
			return time.Time{}
		}
		if blamed[n].IsZero() {
			blamed[n] = w.now.Add(w.about(2 * time.Hour))
		}
		return blamed[n]
	}}
	return w
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

// produce stores bursts of messages until total are there.
func (w *world) produce(total int) {
	for range min(total, 1+w.rng.IntN(500)) {
		total--
		w.number += 1 + uint64(w.rng.IntN(3))
		size := 1 + w.rng.IntN(4096)
		if w.rng.IntN(200) == 0 {
			size = 200 << 10
		}
		w.stock = append(w.stock, flow.Item{Place: message.Place{Stream: w.stream, Number: w.number}, Bytes: size})
	}
	if total > 0 {
		w.in(w.about(36*time.Hour), func() { w.produce(total) })
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

// check holds the batch against the rules.
func (w *world) check(b flow.Batch, via int) {
	size := 0
	for i, s := range b.Items {
		it := w.offered[s.Number]
		at, isOpen := slices.BinarySearch(w.open, s.Number)
		if !isOpen || it.Stream != b.Stream || it.Bytes != s.Bytes || i > 0 && s.Number <= b.Items[i-1].Number {
			w.t.Fatalf("batch %+v does not hold open messages of one stream in order", b)
		}
		var prev message.Place
		if at > 0 {
			prev = w.offered[w.open[at-1]].Place
		}
		if s.Prev != prev {
			w.t.Fatalf("prev of %d is %v, want %v", s.Number, s.Prev, prev)
		}
		if it.session != w.session {
			w.checkNew(it, prev)
		} else {
			w.checkAgain(it, b)
		}
		size += s.Bytes
	}
	if size != b.Bytes || len(b.Items) > 1 && size > 64<<10 {
		w.t.Fatalf("%d messages of %d bytes in a batch that says %d", len(b.Items), size, b.Bytes)
	}
	for _, s := range b.Items {
		it := w.offered[s.Number]
		it.session, it.via, it.at = w.session, via, w.now
	}
}

func (w *world) checkNew(it *sent, prev message.Place) {
	if prev.Number > w.high {
		w.t.Fatalf("%d is shipped before %d", it.Number, prev.Number)
	}
	through, credited := w.through[it.Stream]
	beyond := credited && it.Number > through || !credited && uint64(w.unanswered) >= w.grant.Messages
	if w.unanswered > 0 && beyond {
		w.t.Fatalf("%d goes beyond credit: through %d, %d unanswered", it.Number, through, w.unanswered)
	}
	w.high = it.Number
	w.unanswered++
	w.unbytes += uint64(it.Bytes)
	if w.unanswered > 1 && w.unbytes > w.bytes {
		w.t.Fatalf("%d bytes unanswered, credit is %d", w.unbytes, w.bytes)
	}
}

func (w *world) checkAgain(it *sent, b flow.Batch) {
	w.resent++
	lost := w.dead[it.via]
	held := !w.held.Before(it.at)
	timeout := w.now.Sub(it.at) >= time.Second && w.now.Sub(w.progress) >= time.Second && b.Items[0].Number == w.open[0]
	if !lost && !held && !timeout {
		w.t.Fatalf("%d is shipped again without reason, %v after its last shipment", it.Number, w.now.Sub(it.at))
	}
}

// carry takes a batch over the link: or loses it, with its connection or alone.
func (w *world) carry(b flow.Batch, via int) {
	session := w.session
	arrives := func() bool { return session == w.session && w.up && !w.silent }
	if !arrives() || w.rng.IntN(100) == 0 {
		return
	}
	w.in(w.delay+w.about(20*time.Millisecond), func() {
		if !arrives() || w.dead[via] {
			return
		}
		a := w.far.receive(w.now, b)
		if w.rng.IntN(100) == 0 {
			return // the answer is lost
		}
		w.in(w.delay, func() {
			if arrives() {
				w.answer(a)
			}
		})
	})
}

func (w *world) answer(a answer) {
	for _, p := range a.ended {
		at, isOpen := slices.BinarySearch(w.open, p.Number)
		settle := w.lane.Answered(w.now, p.Stream, []message.Range{{First: p.Number, Last: p.Number}})
		if isOpen != (len(settle) == 1) {
			w.t.Fatalf("answer to %d settles %v", p.Number, settle)
		}
		if !isOpen {
			continue
		}
		w.open = slices.Delete(w.open, at, at+1)
		w.progress = w.now
		if it := w.offered[p.Number]; it.session == w.session {
			w.unanswered--
			w.unbytes -= uint64(it.Bytes)
		}
	}
	if a.refused != nil {
		w.held = w.now
		w.lane.HoldAt(w.now, a.refused.Stream, a.refused.Number, "too large")
	}
	if a.full {
		w.held = w.now
		w.lane.Hold(w.now, "full")
	}
	if len(a.ended) > 0 {
		w.credit(a.ended[len(a.ended)-1].Stream)
	}
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
	w.dead[w.conns[i]] = true
	w.lane.Lost(w.conns[i])
	w.conns[i] = w.connect()
}

// trouble comes every few hours until the given day, each time of another kind, for seconds to three weeks.
func (w *world) trouble(until time.Time) {
	w.in(w.about(8*time.Hour), func() {
		if w.now.After(until) {
			return
		}
		w.trouble(until)
		if !w.up || w.silent || w.far.full {
			return // one trouble at a time
		}
		length := min(time.Duration(math.Exp(w.rng.Float64()*math.Log(21*86400))*float64(time.Second)), until.Sub(w.now))
		switch w.rng.IntN(4) {
		case 0: // an outage that both sides notice
			for i := range w.conns {
				w.lose(i)
			}
			w.up = false
			w.in(length, w.begin)
		case 1: // one that nobody notices
			w.silent = true
			w.in(length, func() { w.silent = false })
		case 2: // connections break one by one
			for i := range w.conns {
				w.in(w.about(time.Second), func() { w.lose(i) })
			}
		case 3:
			w.far.full = true
			w.in(length, func() { w.far.full = false })
		}
	})
}

func TestLaneThroughMonths(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			const total = 20_000
			w.begin()
			w.produce(total)
			end := start.Add(120 * day)
			w.trouble(end)
			w.run(end.Add(60*day), func() bool { return len(w.far.admitted) == total && len(w.open) == 0 })

			if !slices.IsSorted(w.far.admitted) || len(slices.Compact(w.far.admitted)) != total {
				t.Fatal("messages were admitted out of order or twice")
			}
			s := w.lane.Stats()
			t.Logf("%v: shipped %d, again within a session %d, timeouts %d, probes %d, sessions %d, asked %d times, woke %d times",
				w.now.Sub(start).Round(time.Hour), s.Shipped, w.resent, s.Timeouts, s.Probes, w.session, w.calls, w.wakes)
			if s.Answered != total || s.Offered != total {
				t.Errorf("stats %+v", s)
			}
			if messages, bytes, _ := w.lane.Unanswered(); messages != 0 || bytes != 0 || !w.lane.Wake().IsZero() {
				t.Errorf("an empty lane has %d messages of %d bytes unanswered and wakes at %v", messages, bytes, w.lane.Wake())
			}
		})
	}
}

// TestAWeekOfSilenceIsCheap lets nobody answer for a week: the far side is asked once in half a minute, no more.
func TestAWeekOfSilenceIsCheap(t *testing.T) {
	w := newWorld(t, 1)
	w.begin()
	w.produce(500)
	w.silent = true
	w.in(7*day, func() { w.silent = false })
	w.run(start.Add(8*day), func() bool { return w.now.After(start.Add(7 * day)) })
	if most := int(7*day/(30*time.Second)) + 10; w.wakes > most || w.wakes < most-30 {
		t.Fatalf("woke %d times in a week, want about %d", w.wakes, most)
	}
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
