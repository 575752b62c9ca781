package link_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/dedupe"
	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// doubtSeeds is which seeds the trial of messages in doubt runs: one failing seed is run alone with DRAWBRIDGE_SEED, and the
// first few with DRAWBRIDGE_SEEDS.
func doubtSeeds(t *testing.T) (first, last uint64) {
	if seed := environNumber(t, "DRAWBRIDGE_SEED"); seed > 0 {
		return seed, seed
	}
	if seeds := environNumber(t, "DRAWBRIDGE_SEEDS"); seeds > 0 {
		return 1, seeds
	}
	if os.Getenv("DRAWBRIDGE_TRIAL") == "long" {
		return 1, 1000
	}
	return 1, 60
}

// environNumber reads a variable of the environment, 0 if it is not set.
func environNumber(t *testing.T, name string) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s %q: %v", name, text, err)
	}
	return n
}

// TestMessageInDoubtEndsOnOneSide lets messages run out of their horizon, and be refused, while links freeze and break, both
// sides crash, their steps and commits fail, and the near side is put back from a copy. Each must end at the far side or among
// the dead letters, never at both, never at neither, and in order.
func TestMessageInDoubtEndsOnOneSide(t *testing.T) {
	first, last := doubtSeeds(t)
	var arrived, horizon, refused int
	for seed := first; seed <= last; seed++ {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { // a failure in a bubble ends the test that has begun it
			synctest.Test(t, func(t *testing.T) {
				d := newDoubt(t, seed)
				defer d.far.crash()
				defer d.near.crash()
				d.play()
				d.settle()
				a, h, r := d.judge()
				arrived, horizon, refused = arrived+a, horizon+h, refused+r
			})
		})
		if !ok {
			t.Fatalf("seed %d; again: DRAWBRIDGE_SEED=%d go test ./link -run TestMessageInDoubtEndsOnOneSide", seed, seed)
		}
	}
	t.Logf("%d seeds: %d messages arrived, %d died of their horizon, %d of a refusal", last-first+1, arrived, horizon, refused)
	if last > first && (arrived == 0 || horizon == 0 || refused == 0) {
		t.Error("one way to end never came about: the trial tries too little")
	}
}

// side is a link with a spool that outlives its crashes.
type side struct {
	t    *testing.T
	net  *network
	addr string
	dir  string
	o    link.Options
	b    bolt.Options
	// stumbles is what fails next, nil for nothing.
	stumbles atomic.Pointer[stumble]
	store    *bolt.Store
	link     *link.Link
	stop     context.CancelFunc
	done     chan error
}

// stumble is a step that fails once, after it has gone well a few times.
type stumble struct {
	point string
	well  atomic.Int32
}

var errStumbled = errors.New("this step was to fail")

func (s *side) hook(point string) error {
	if f := s.stumbles.Load(); f != nil && f.point == point && f.well.Add(-1) < 0 && s.stumbles.CompareAndSwap(f, nil) {
		return errStumbled
	}
	return nil
}

func (s *side) start() {
	store, err := bolt.Open(s.dir, s.b)
	if err != nil {
		s.t.Fatal(err)
	}
	s.store, s.link, s.done = store, link.New(s.o, store, dialer{s.net, s.o.Self}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	l := s.link
	s.net.listen(s.addr, s.o.Self, func(c *conn) { l.Accept(ctx, c) })
	done := s.done
	go func() { done <- l.Run(ctx, 0) }()
}

// crash ends link and spool: the peer hears nothing, and what no commit holds is gone.
func (s *side) crash() {
	s.net.deaf(s.addr)
	for _, p := range s.net.made() {
		p.cut()
	}
	s.stop()
	<-s.done
	if err := s.store.Close(); err != nil {
		s.t.Error(err)
	}
}

// doubt is two sides and what happens to them.
type doubt struct {
	t         *testing.T
	rng       *rand.Rand
	net       *network
	near, far *side
	ids       []string
	bodies    map[string]string // as the producer has put them last
	came      []spool.Delivery  // what the far side's consumer has taken

	// copy is where a copy of the near spool lies, which held the first copied ids; empty if there is none.
	copy   string
	copied int
	// late are those of which no order is promised: their place was lost with the spool that was put back.
	late map[string]bool
	// ended are those that are in a copy and became dead letters after it was made. Once the far side has forgotten that it closed
	// them, it takes them for delivered: a spool that was put back is not told apart yet.
	ended map[string]bool
}

// A body larger than smallBody is refused by the far side's queue; one larger than largeBody is not even shipped.
const (
	smallBody = 1000
	largeBody = 1500
)

func newDoubt(t *testing.T, seed uint64) *doubt {
	n := newNetwork()
	n.delay = 20 * time.Millisecond
	d := &doubt{t: t, rng: rand.New(rand.NewPCG(seed, 0)), net: n, bodies: make(map[string]string),
		late: make(map[string]bool), ended: make(map[string]bool)}
	retryFor := time.Duration(300+d.rng.IntN(5000)) * time.Millisecond
	d.near = &side{t: t, net: n, addr: nearAddr, dir: quickDir(t), o: link.Options{
		Name: "far", Agent: "near", Self: nearPin, Pins: []link.Pin{farPin}, Addresses: []string{farAddr}, DataConns: 2, Seed: seed,
		Sends:       []link.Send{{Name: orders, From: orders, To: orders, RetryFor: retryFor}},
		CreditBytes: 1 << 20,
	}, b: bolt.Options{Agent: "near", LedgerMemoryBytes: 64 << 10, Queues: map[string]spool.QueueOptions{orders: {Route: orders}}}}
	d.far = &side{t: t, net: n, addr: farAddr, dir: quickDir(t), o: link.Options{
		Name: "near", Agent: "far", Self: farPin, Pins: []link.Pin{nearPin}, DataConns: 2, Seed: seed + 1, Receives: []link.Receive{{To: orders}},
		CreditMessages: uint64(1 + d.rng.IntN(40)), MaxMessageBytes: largeBody,
	}, b: bolt.Options{Agent: "far", LedgerMemoryBytes: 64 << 10, Queues: map[string]spool.QueueOptions{orders: {MaxMessageBytes: smallBody}}}}
	for _, s := range []*side{d.near, d.far} {
		s.o.Hook, s.b.Hook = s.hook, s.hook
		s.start()
	}
	return d
}

// quickDir is in memory where that can be had: what is tried here are crashes of programs, and those lose nothing that was written.
func quickDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "drawbridge")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// play puts messages and does harm, in an order that the seed draws.
func (d *doubt) play() {
	for range 16 + d.rng.IntN(24) {
		switch d.rng.IntN(18) {
		case 0, 1, 2, 3:
			d.put(1 + d.rng.IntN(12))
		case 4:
			d.freeze()
		case 5:
			d.stumble(d.near) // as it buries what ran out of its horizon
			d.thaw()
		case 6:
			for _, p := range d.net.made() {
				p.cut()
			}
		case 7:
			d.near.crash()
			time.Sleep(d.moment())
			d.near.start()
		case 8:
			d.far.crash()
			time.Sleep(d.moment())
			d.far.start()
		case 9:
			heal := d.net.deaf(farAddr)
			d.put(d.rng.IntN(5))
			time.Sleep(d.moment())
			heal()
		case 10, 11, 12, 13:
			d.thaw()
			d.put(2 + d.rng.IntN(8))
			d.stumble([]*side{d.near, d.far}[d.rng.IntN(2)])
			time.Sleep(300 * time.Millisecond) // some round trips, so that it comes about
		case 14, 15:
			d.copyOrPutBack()
		case 16:
			d.consume()
		case 17:
			d.sleep()
		}
		time.Sleep(d.moment())
	}
}

// stumble has a step of a side fail, every other time a commit that leaves nothing behind.
func (d *doubt) stumble(s *side) {
	f := &stumble{point: bolt.HookCommitApplied}
	if points := append(link.HookPoints(), commitPoints()...); d.rng.IntN(2) == 0 {
		f.point = points[d.rng.IntN(len(points))]
	}
	f.well.Store(int32(d.rng.IntN(3)))
	s.stumbles.Store(f)
}

// copyOrPutBack makes a copy of the near spool, or puts it back. Its producer then puts again what the copy lacks, some of it with
// another content.
func (d *doubt) copyOrPutBack() {
	died := d.peek(d.near, message.DeadQueue(orders))
	d.near.crash()
	if d.copy == "" || d.rng.IntN(3) == 0 {
		d.copy, d.copied = quickDir(d.t), len(d.ids)
		d.replace(d.copy, d.near.dir)
		d.near.start()
		return
	}
	d.replace(d.near.dir, d.copy)
	d.near.start()
	for _, m := range died {
		d.late[m.ID] = true
		d.ended[m.ID] = slices.Contains(d.ids[:d.copied], m.ID)
	}
	again := slices.Clone(d.ids[d.copied:])
	d.put(1 + d.rng.IntN(3))
	puts := make([]spool.Put, len(again))
	for i, id := range again {
		d.late[id] = true
		if d.rng.IntN(8) == 0 {
			d.bodies[id] = strings.Repeat("y", len(d.bodies[id]))
		}
		puts[i] = spool.Put{Queue: orders, ID: id, Body: []byte(d.bodies[id])}
	}
	d.store(puts)
	if d.rng.IntN(3) > 0 { // so that some of it is closed that the far side has
		time.Sleep(time.Duration(d.rng.IntN(150)) * time.Millisecond)
		d.freeze()
		time.Sleep(2 * time.Second)
	}
}

// consume takes and acknowledges all that is at the far side.
func (d *doubt) consume() {
	d.far.stumbles.Store(nil)
	for {
		taken, err := d.far.store.Lease(d.t.Context(), spool.LeaseRequest{Queue: orders, Max: 1000})
		if err != nil {
			d.t.Fatal(err)
		}
		if len(taken) == 0 {
			return
		}
		receipts := make([]spool.Receipt, len(taken))
		for i := range taken {
			receipts[i] = taken[i].Receipt
		}
		settled, err := d.far.store.Ack(d.t.Context(), receipts)
		if err = errors.Join(append(settled, err)...); err != nil {
			d.t.Fatal(err)
		}
		d.came = append(d.came, taken...)
	}
}

// sleep has both sides down for so long that the far side's ledger forgets what was consumed, when a few messages have just been
// put. Nothing that was put back may be under way, and no copy be put back later: it could not be told by its ids any more.
func (d *doubt) sleep() {
	d.settle()
	d.put(1 + d.rng.IntN(5))
	time.Sleep(time.Duration(d.rng.IntN(100)) * time.Millisecond)
	d.consume()
	d.copy = ""
	d.near.crash()
	d.far.crash()
	time.Sleep(2 * dedupe.DefaultWindow)
	for _, s := range []*side{d.near, d.far} {
		s.stumbles.Store(nil)
		s.start()
		if err := s.store.AcceptTime(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		// A commit forgets.
		if err := s.store.SetMeta(d.t.Context(), "slept", []byte("long")); err != nil {
			d.t.Fatal(err)
		}
	}
}

// replace makes a directory a copy of another.
func (d *doubt) replace(dir, of string) {
	if err := os.RemoveAll(dir); err != nil {
		d.t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(of)); err != nil {
		d.t.Fatal(err)
	}
}

// moment is from a few milliseconds to some seconds, the short ones more often.
func (d *doubt) moment() time.Duration {
	return time.Duration(1+d.rng.IntN(1<<(3+d.rng.IntN(11)))) * time.Millisecond
}

// freeze lets nothing pass any more over most of the connections.
func (d *doubt) freeze() {
	for _, p := range d.net.made() {
		if d.rng.IntN(4) > 0 {
			p.freeze()
		}
	}
}

func (d *doubt) thaw() {
	for _, p := range d.net.made() {
		p.thaw()
	}
}

func (d *doubt) put(n int) {
	puts := make([]spool.Put, n)
	for i := range puts {
		size := 10
		if d.rng.IntN(6) == 0 {
			size = smallBody + 1 + d.rng.IntN(2*(largeBody-smallBody))
		}
		id := fmt.Sprintf("m-%05d", len(d.ids))
		d.ids = append(d.ids, id)
		d.bodies[id] = strings.Repeat("x", size)
		puts[i] = spool.Put{Queue: orders, ID: id, Body: []byte(d.bodies[id])}
	}
	d.store(puts)
}

// store puts messages as a producer does: it tries again as long as it does not know.
func (d *doubt) store(puts []spool.Put) {
	for {
		_, err := d.near.store.Put(d.t.Context(), puts)
		if err == nil {
			return
		}
		if !errors.Is(err, spool.ErrUnknown) {
			d.t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// settle heals all and waits until the near queue is empty.
func (d *doubt) settle() {
	d.thaw()
	for waited := time.Duration(0); d.depth() > 0; waited += 50 * time.Millisecond {
		if waited > 10*time.Minute {
			d.t.Fatalf("%d messages are stranded: %+v", d.depth(), d.near.link.Status())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (d *doubt) depth() uint64 {
	for _, q := range d.near.store.Stats() {
		if q.Name == orders {
			return q.Messages
		}
	}
	return 0
}

// judge compares what arrived and what died with what was put.
func (d *doubt) judge() (arrived, horizon, refused int) {
	d.consume()
	dead := d.peek(d.near, message.DeadQueue(orders))
	bodies := make(map[string]string)
	for _, m := range d.came {
		if bodies[m.ID] != "" {
			d.t.Errorf("%s arrived twice", m.ID)
		}
		bodies[m.ID] = string(m.Body)
	}
	reasons := make(map[string]message.Reason)
	for _, m := range dead {
		body, there := bodies[m.ID]
		if body == string(m.Body) || reasons[m.ID] != "" {
			d.t.Errorf("%s has ended elsewhere, and died of %s", m.ID, m.Death.Reason)
		}
		reasons[m.ID] = m.Death.Reason
		switch {
		case m.Death.Reason == message.ReasonHorizonPassed:
			horizon++
		case m.Death.Reason == message.ReasonTooLarge && len(m.Body) > smallBody:
			refused++
		case m.Death.Reason == message.ReasonIDConflict && there:
		default:
			d.t.Errorf("%s died of %s: %s", m.ID, m.Death.Reason, m.Death.Text)
		}
	}
	for _, id := range d.ids {
		if bodies[id] != d.bodies[id] && reasons[id] == "" && !d.ended[id] {
			d.t.Errorf("%s is lost", id)
		}
	}
	inOrder := slices.DeleteFunc(d.came, func(m spool.Delivery) bool { return d.late[m.ID] })
	if !slices.IsSortedFunc(inOrder, func(a, b spool.Delivery) int { return strings.Compare(a.ID, b.ID) }) {
		d.t.Error("out of order")
	}
	return len(bodies), horizon, refused
}

func (d *doubt) peek(s *side, queue string) []spool.Peeked {
	peeked, err := s.store.Peek(d.t.Context(), queue, 0, 100_000)
	if err != nil {
		d.t.Fatal(err)
	}
	return peeked
}
