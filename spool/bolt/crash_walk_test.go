package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/message/history"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// TestCrashAtEveryPoint lets a store die at each of its points, at the first passing and at the third, while everything it
// does is going on. It is opened again and goes on, and in the end the judge compares what its callers heard with what is there.
func TestCrashAtEveryPoint(t *testing.T) {
	for _, point := range bolt.HookPoints() {
		for _, nth := range []int{1, 3} {
			if nth > 1 && strings.HasPrefix(point, "create.") {
				continue // a spool is created once
			}
			suffer(t, &death{point: point, nth: nth})
		}
	}
}

// TestCrashInEveryCommit does the same around many commits, so that each call is in one of them.
func TestCrashInEveryCommit(t *testing.T) {
	for _, point := range commitPoints() {
		for nth := 4; nth <= 60; nth += 5 {
			suffer(t, &death{point: point, nth: nth})
		}
	}
}

func commitPoints() []string {
	return []string{bolt.HookCommitBegin, bolt.HookCommitApplied, bolt.HookCommitDone}
}

// TestClockJumpsAtEveryPoint does the same and moves the wall clock by a year while the process is dead.
func TestClockJumpsAtEveryPoint(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, point := range bolt.HookPoints() {
		for _, jump := range []time.Duration{-year, year} {
			suffer(t, &death{point: point, nth: 1, jump: jump})
		}
	}
	for _, point := range commitPoints() {
		for nth := 4; nth <= 60; nth += 14 {
			suffer(t, &death{point: point, nth: nth, jump: -year})
			suffer(t, &death{point: point, nth: nth, jump: year})
		}
	}
}

func suffer(t *testing.T, d *death) {
	t.Run(fmt.Sprintf("%s/%d/%s", d.point, d.nth, d.jump), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWalk(t, d)
			w.open()
			for i := range uint64(30) {
				w.step(i + 1)
			}
			w.finish()
			if !d.happened {
				t.Errorf("point %s was passed %d times", d.point, d.passed)
			}
		})
	})
}

// death is a hook after which a process does nothing more: every later point fails too, until it is revived. Apart from that
// some commits fail, as those of a bad disk do: of some nothing is in the file, some are in it all the same.
type death struct {
	point string
	nth   int
	// jump is how far the wall clock moves meanwhile.
	jump time.Duration

	mu       sync.Mutex // guards what follows
	passed   int
	dead     bool
	happened bool
	commits  int
}

var errDead = errors.New("the process is dead")

func (d *death) hook(point string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if point == d.point && !d.dead && !d.happened {
		d.passed++
		d.dead = d.passed == d.nth
		d.happened = d.dead
	}
	if d.dead {
		return errDead
	}
	if point == bolt.HookCommitApplied {
		d.commits++
	}
	if point == bolt.HookCommitApplied && d.commits%19 == 9 || point == bolt.HookCommitDone && d.commits%23 == 11 {
		return errTripped
	}
	return nil
}

// now is the wall clock.
func (d *death) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.happened {
		return time.Now().Add(d.jump)
	}
	return time.Now()
}

// revive reports whether the process was dead.
func (d *death) revive() (was bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, d.dead = d.dead, false
	return was
}

// walk is a store with a producer, a consumer, a peer that ships into it and one that it ships to.
type walk struct {
	t       *testing.T
	dir     string
	options bolt.Options
	death   *death
	store   *bolt.Store

	session message.SessionID
	stream  message.StreamID
	prev    message.Place
	h       history.History
}

var outNYC = spool.Route{Queue: "out", Name: "nyc"}

func newWalk(t *testing.T, d *death) *walk {
	dir, err := os.MkdirTemp("/dev/shm", "drawbridge") // what is tried is what a program leaves behind, no disk
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := orders()
	o.LedgerMemoryBytes = 1 << 20
	o.Queues["orders"] = spool.QueueOptions{VisibilityTimeout: time.Hour}
	o.Queues["out"] = spool.QueueOptions{Route: outNYC.Name}
	o.Hook, o.Now = d.hook, d.now
	return &walk{t: t, dir: filepath.Join(dir, "spool"), options: o, death: d, stream: message.NewStreamID()}
}

// open opens the store, again if it dies meanwhile.
func (w *walk) open() {
	w.t.Helper()
	for {
		store, err := bolt.Open(w.dir, w.options)
		if err == nil {
			w.store = store
			return
		}
		if !w.death.revive() {
			w.t.Fatalf("open: %v", err)
		}
	}
}

// close closes the store and opens it again: in order, or as one that has died.
func (w *walk) close() {
	w.t.Helper()
	err := w.store.Close()
	if died := w.death.revive(); err != nil && !died {
		w.t.Errorf("close: %v", err)
	}
	if _, err := bolt.Audit(w.dir); err != nil {
		w.t.Errorf("the file that was left: %v", err)
	}
	w.open()
}

// do makes a call until it is answered, as a caller does that hears that the outcome is unknown.
func (w *walk) do(what string, call func(context.Context) error) {
	w.t.Helper()
	for range 10 {
		err := call(context.Background())
		switch {
		case err == nil:
			return
		case errors.Is(err, spool.ErrSessionEnded):
			w.session = message.NewSessionID()
			_, _ = w.store.BeginSession(context.Background(), "nyc", w.session) // if it fails, so does what comes in it
		case !errors.Is(err, spool.ErrUnknown):
			w.t.Fatalf("%s: %v", what, err)
		}
		if errors.Is(err, errDead) {
			w.close()
		}
	}
	w.t.Fatalf("%s: the outcome stays unknown", what)
}

// step does one of everything.
func (w *walk) step(i uint64) {
	w.t.Helper()
	w.put(i)
	w.accept(i)
	w.consume()
	w.do("mark", func(ctx context.Context) error { return w.store.Mark(ctx, outNYC, lane, i) })
	w.answer(i)
	w.do("remember", func(ctx context.Context) error {
		return w.store.Remember(ctx, "nyc", "orders", time.Duration(i)*time.Hour)
	})
	w.do("note", func(ctx context.Context) error { return w.store.SetMeta(ctx, "step", fmt.Append(nil, i)) })
	if note, err := w.store.Meta("step"); err != nil || string(note) != fmt.Sprint(i) {
		w.t.Errorf("note %q, %v", note, err)
	}
	if i%7 == 0 {
		w.close()
	}
}

func (w *walk) put(i uint64) {
	id := fmt.Sprint("put-", i)
	w.do("put", func(ctx context.Context) error {
		puts := []spool.Put{{Queue: "orders", ID: id, Priority: lane, Body: []byte(id)}, {Queue: "out", ID: id, Priority: lane, Body: []byte(id)}}
		results, err := w.store.Put(ctx, puts)
		if err != nil {
			return err
		}
		for at, r := range results {
			if r.Status != spool.Stored && r.Status != spool.Duplicate {
				w.t.Errorf("put %s: %+v", id, r)
			}
			w.stored(puts[at].Queue, id, 0, i)
		}
		return nil
	})
}

func (w *walk) stored(queue, id string, producer int, turn uint64) {
	w.h.Puts = append(w.h.Puts, history.Put{
		ID: queue + "/" + id, Producer: producer, Turn: int(turn), Queue: queue, Priority: lane, Sum: history.SumOf([]byte(id)), Heard: history.Stored,
	})
}

// accept offers message i of the peer; every fifth is closed instead.
func (w *walk) accept(i uint64) {
	id := fmt.Sprint("shipped-", i)
	a := shipment(i, w.prev, id, id)
	if i%5 == 0 {
		a = spool.Arrival{Number: i, Prev: w.prev, Close: &spool.Close{
			Name: a.Message.EndToEnd(), Sum: a.Message.ContentSum(), Reason: message.ReasonHorizonPassed,
		}}
	}
	w.do("accept", func(ctx context.Context) error {
		d, err := w.store.Accept(ctx, spool.Arrivals{Peer: "nyc", Session: w.session, Queue: "orders", Stream: w.stream, Messages: []spool.Arrival{a}})
		if err != nil {
			return err
		}
		switch {
		case a.Close != nil && d[0].Verdict == message.Closed && d[0].Reason == message.ReasonHorizonPassed:
		case a.Close == nil && (d[0].Verdict == accepted || d[0].Verdict == duplicate):
			w.stored("orders", id, 1, i)
		default:
			w.t.Errorf("number %d: %+v", i, d[0])
		}
		return nil
	})
	w.prev = message.Place{Stream: w.stream, Number: i}
	if i%10 == 0 {
		w.do("floor", func(ctx context.Context) error { return w.store.Floor(ctx, w.stream, "orders", i) })
	}
	if f := w.store.Frontier(w.stream, "orders"); f != i {
		w.t.Errorf("frontier %d, number %d was decided", f, i)
	}
}

// consume leases a message and acks it, and reports whether there was one.
func (w *walk) consume() bool {
	var d []spool.Delivery
	w.do("lease", func(ctx context.Context) (err error) {
		d, err = w.store.Lease(ctx, spool.LeaseRequest{Queue: "orders"})
		return err
	})
	if len(d) == 0 {
		return false
	}
	sight := history.Sight{ID: "orders/" + d[0].ID, Queue: "orders", Sequence: d[0].Sequence}
	seen := sight
	seen.Attempt, seen.Sum = d[0].Deliveries, history.SumOf(d[0].Body)
	w.h.Seen = append(w.h.Seen, seen)
	again, ended := false, true
	w.do("ack", func(ctx context.Context) error {
		answers, err := w.store.Ack(ctx, receiptsOf(d))
		if err == nil && answers[0] != nil && !again {
			w.t.Errorf("ack %s: %v", d[0].ID, answers[0])
		}
		again = true
		// Asked again, the answer is the same for a message that is gone and for a lease that has run out with the clock's jump.
		ended = err != nil || answers[0] == nil || w.death.jump == 0
		return err
	})
	if ended {
		sight.Acked = true
		w.h.Seen = append(w.h.Seen, sight)
	}
	return true
}

// answer ends message i of the queue that leaves as its far side would: every third is closed there, every seventh is not
// answered at all.
func (w *walk) answer(i uint64) {
	switch {
	case i%7 == 0:
	case i%3 == 0:
		w.do("bury", func(ctx context.Context) error {
			return w.store.BuryRoute(ctx, outNYC, lane, []spool.Burial{{Number: i, Reason: message.ReasonTooLarge, Text: "no"}})
		})
	default:
		w.do("settle", func(ctx context.Context) error {
			return w.store.SettleRoute(ctx, outNYC, lane, []message.Range{{First: i, Last: i}})
		})
		id := fmt.Sprint("put-", i)
		arrived := history.Sight{ID: "out/" + id, Queue: "out", Sequence: i, Attempt: 1, Sum: history.SumOf([]byte(id))}
		w.h.Seen = append(w.h.Seen, arrived, history.Sight{ID: arrived.ID, Queue: arrived.Queue, Sequence: i, Acked: true})
	}
}

// finish drains the local queue, when the leases that nobody heard of have run out, and compares everything.
func (w *walk) finish() {
	w.t.Helper()
	if w.death.revive() {
		w.close()
	}
	time.Sleep(2 * time.Hour)
	for w.consume() {
	}
	for _, queue := range []string{"orders", "out", message.DeadQueue("orders"), message.DeadQueue("out")} {
		w.left(queue)
	}
	said, ledger := w.store.Stats(), w.store.LedgerStats()
	if err := w.store.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	requireFile(w.t, w.dir, said)
	if ids, bytes, err := bolt.LedgerInFile(w.dir); err != nil || ids != ledger.IDs || bytes != ledger.DiskBytes {
		w.t.Errorf("the ledger says it has %d ids in %d bytes; its file has %d in %d, %v", ledger.IDs, ledger.DiskBytes, ids, bytes, err)
	}
	f := history.Judge(w.h)
	if !f.Clean() {
		w.t.Errorf("%+v", f)
	}
	if f.Delivered < 60 || f.Dead == 0 || f.Waiting == 0 {
		w.t.Errorf("too little came about: %+v", f)
	}
}

func (w *walk) left(queue string) {
	w.t.Helper()
	peeked, err := w.store.Peek(context.Background(), queue, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range peeked {
		c := history.Copy{ID: queue + "/" + p.ID, Queue: queue, Sequence: p.Sequence, Sum: history.SumOf(p.Body)}
		if p.Death != nil {
			c.ID, c.Queue, c.Reason = p.Death.Queue+"/"+p.ID, p.Death.Queue, p.Death.Reason
		}
		w.h.Left = append(w.h.Left, c)
	}
}
