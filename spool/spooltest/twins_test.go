package spooltest_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
	"drawbridge/spool/memory"
)

// twinSteps is over how many calls at least the two engines are compared.
func twinSteps() int {
	if os.Getenv("DRAWBRIDGE_TRIAL") == "long" {
		return 10_000
	}
	return 2_500
}

// TestTwinsGiveTheSameAnswers makes the same calls, at random, on a store in a file and on one in memory. Everything that
// either says must be what the other says, and the one in the file is opened anew every now and then.
func TestTwinsGiveTheSameAnswers(t *testing.T) {
	steps := 0
	for steps < twinSteps() {
		synctest.Test(t, func(t *testing.T) {
			// A bubble has no deadline, and rapid asks a *testing.T for it.
			rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
				w := newTwins(rt, t.TempDir())
				defer w.close(rt)
				rt.Repeat(map[string]func(*rapid.T){
					"put": w.put, "put more": w.put, "seen": w.seen, "lease": w.lease, "ack": w.ack, "give back": w.giveBack, "requeue": w.requeue, "sleep": w.sleep,
					"days": w.days, "session": w.begin, "accept": w.accept, "accept more": w.accept, "floor": w.floor,
					"mark": w.mark, "settle": w.settle, "bury": w.bury, "fetch": w.fetch, "held": w.held, "peek": w.peek,
					"meta": w.meta, "remember": w.remember, "reopen": w.reopen, "": w.check,
				})
				steps += w.steps
			})
		})
	}
	t.Logf("%d steps", steps)
}

// twin is one of the two, with what a caller keeps of it.
type twin struct {
	spool.Store
	ready map[string]<-chan struct{}
	stops []func()
	// streams numbers the streams in the order in which they were seen.
	streams map[message.StreamID]int
	// before is what the counters said when the other twin began to count anew.
	before map[string]spool.QueueStats
}

type twins struct {
	dir      string
	both     [2]*twin
	names    []string
	receipts [][2]spool.Receipt
	sessions map[string][]message.SessionID
	arriving []message.StreamID
	steps    int
	reopened bool
}

func twinQueues() map[string]spool.QueueOptions {
	return map[string]spool.QueueOptions{
		"local":  {MaxMessageBytes: 8, VisibilityTimeout: 5 * time.Second},
		"routed": {Route: "nyc"},
		"by-ids": {ByIDs: true},
	}
}

func newTwins(t *rapid.T, dir string) *twins {
	w := &twins{
		dir:      dir,
		names:    []string{"local", "routed", "by-ids", "none", "local.dead", "routed.dead", "by-ids.dead"},
		sessions: map[string][]message.SessionID{"nyc": {{1}}, "sfo": {{2}}},
		arriving: []message.StreamID{{1}, {2}, {3}},
	}
	m, err := memory.Open(memory.Options{Agent: "fra-1", Queues: twinQueues()})
	if err != nil {
		t.Fatal(err)
	}
	w.both[1] = newTwin(m, w.names)
	w.openFile(t)
	return w
}

func newTwin(s spool.Store, names []string) *twin {
	x := &twin{Store: s, ready: make(map[string]<-chan struct{}), streams: make(map[message.StreamID]int)}
	for _, name := range names {
		ready, stop := s.Watch(name)
		x.ready[name] = ready
		x.stops = append(x.stops, stop)
	}
	return x
}

func (w *twins) openFile(t *rapid.T) {
	b, err := bolt.Open(w.dir, bolt.Options{Agent: "fra-1", Queues: twinQueues()})
	if err != nil {
		t.Fatal(err)
	}
	w.both[0] = newTwin(b, w.names)
}

func (w *twins) close(t *rapid.T) {
	for _, x := range w.both {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// same makes one call on both and compares what they say.
func (w *twins) same(t *rapid.T, what string, call func(i int, x *twin) string) {
	t.Helper()
	file, mem := call(0, w.both[0]), call(1, w.both[1])
	if file != mem {
		t.Fatalf("%s: the file says\n%s\nmemory says\n%s", what, file, mem)
	}
}

// kind is the error that a caller branches on.
func kind(err error) error {
	if errors.Is(err, spool.ErrAlreadySettled) {
		return spool.ErrStaleReceipt // no engine remembers it over an opening, and only one of the twins is opened again
	}
	for _, known := range []error{
		spool.ErrUnknown, spool.ErrClosed, spool.ErrNoQueue, spool.ErrRouted, spool.ErrConflict, spool.ErrTooLarge, spool.ErrMalformed,
		spool.ErrLoop, spool.ErrTooOld, spool.ErrInDoubt, spool.ErrFork, spool.ErrReserved, spool.ErrBadReceipt, spool.ErrStaleReceipt,
		spool.ErrSessionEnded, spool.ErrNoMessage, spool.ErrLeased,
	} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

func kinds(errs []error) (found []error) {
	for _, err := range errs {
		found = append(found, kind(err))
	}
	return found
}

func (w *twins) queue(t *rapid.T) string {
	return rapid.SampledFrom([]string{"local", "local", "routed", "routed", "by-ids", "none"}).Draw(t, "queue")
}

// anyQueue is one of the queues, or the dead letters of one.
func (w *twins) anyQueue(t *rapid.T) string {
	name := w.queue(t)
	if rapid.IntRange(0, 3).Draw(t, "dead") == 3 {
		return message.DeadQueue(name)
	}
	return name
}

func (w *twins) priority(t *rapid.T) uint8 {
	return rapid.SampledFrom([]uint8{4, 4, 4, 9, 0}).Draw(t, "priority")
}

func (w *twins) route(t *rapid.T) spool.Route {
	return spool.Route{Queue: w.queue(t), Name: rapid.SampledFrom([]string{"nyc", "nyc", "sfo", ""}).Draw(t, "route")}
}

func (w *twins) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 40_000).Draw(t, "milliseconds")) * time.Millisecond)
}

// days lets windows pass. Windows are whole hours, so the minute keeps what is known from being as old as one to the second.
func (w *twins) days(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours"))*time.Hour + time.Minute)
	w.forget(t)
}

// forget has both forget what is past its window. Either does it when something is stored, a file also when something else is
// written, and only so much at once.
func (w *twins) forget(t *rapid.T) {
	for i := range 4 {
		w.putOf(t, spool.Put{Queue: "local", ID: fmt.Sprint("at-", w.steps, "-", i), Body: []byte("x")})
	}
}

// reopen opens the file anew. Memory cannot, so it is told what an opening changes.
func (w *twins) reopen(t *rapid.T) {
	if err := w.both[0].Close(); err != nil {
		t.Fatal(err)
	}
	w.openFile(t)
	w.reopened = true
	w.both[1].before = make(map[string]spool.QueueStats)
	for _, q := range w.both[1].Stats() {
		w.both[1].before[q.Name] = q
	}
	w.beginSession(t, "nyc")
	w.beginSession(t, "sfo")
}

// check compares what there is to see after each step: the counters always, the messages themselves after every third.
func (w *twins) check(t *rapid.T) {
	w.steps++
	synctest.Wait()
	w.same(t, "watch", func(_ int, x *twin) (said string) {
		for _, name := range w.names {
			select {
			case <-x.ready[name]:
				said += name + " "
			default:
			}
		}
		return said
	})
	w.same(t, "stats", func(_ int, x *twin) (said string) {
		for _, q := range x.Stats() {
			b := x.before[q.Name]
			q.Stored, q.Duplicates, q.Acked = q.Stored-b.Stored, q.Duplicates-b.Duplicates, q.Acked-b.Acked
			q.Settled, q.Accepted, q.Buried = q.Settled-b.Settled, q.Accepted-b.Accepted, q.Buried-b.Buried
			q.Requeued, q.Purged = q.Requeued-b.Requeued, q.Purged-b.Purged
			if w.reopened && spool.IsDead(q.Name) {
				q.Acked = 0 // nobody was told of it while it held nothing
			}
			said += fmt.Sprintf("%+v\n", q)
		}
		l := x.LedgerStats()
		return said + fmt.Sprint(l.IDs, l.PromisedIDs, l.Window, l.EffectiveWindow)
	})
	if w.steps%3 != 0 {
		return
	}
	w.lowest(t)
	w.same(t, "outgoing", func(_ int, x *twin) (said string) {
		for _, queue := range w.names {
			for _, name := range []string{"nyc", "sfo"} {
				route := spool.Route{Queue: queue, Name: name}
				said += fmt.Sprintln(route, x.Lanes(route))
				for _, lane := range []uint8{0, 4, 9} {
					said += fmt.Sprintln(lane, x.MarkOf(route, lane), w.heldBy(x, route, lane, 0, 1000))
				}
			}
		}
		return said
	})
	w.same(t, "queues", func(_ int, x *twin) (said string) {
		for _, queue := range w.names {
			said += w.peekAt(x, queue, 0, 1000)
			for _, stream := range w.arriving {
				said += fmt.Sprintln(x.Frontier(stream, queue))
			}
		}
		return said
	})
}

// lowest compares the lowest numbers held: memory tells them exactly, and a file may tell a lower one.
func (w *twins) lowest(t *rapid.T) {
	for _, queue := range w.names {
		for lane := range uint8(message.MaxPriority + 1) {
			if file, mem := w.both[0].LowestHeld(queue, lane), w.both[1].LowestHeld(queue, lane); file > mem {
				t.Fatalf("queue %q holds no message of priority %d below %d, the file says; the lowest is %d", queue, lane, file, mem)
			}
		}
	}
}
