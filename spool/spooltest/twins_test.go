package spooltest_test

import (
	"context"
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
					"put": w.put, "put more": w.put, "lease": w.lease, "ack": w.ack, "sleep": w.sleep, "session": w.begin,
					"accept": w.accept, "accept more": w.accept, "mark": w.mark, "settle": w.settle, "fetch": w.fetch,
					"held": w.held, "peek": w.peek, "meta": w.meta, "remember": w.remember, "reopen": w.reopen, "": w.check,
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
	}
}

func newTwins(t *rapid.T, dir string) *twins {
	w := &twins{
		dir:      dir,
		names:    []string{"local", "routed", "none"},
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
	for _, known := range []error{
		spool.ErrUnknown, spool.ErrClosed, spool.ErrNoQueue, spool.ErrRouted, spool.ErrConflict, spool.ErrTooLarge, spool.ErrMalformed,
		spool.ErrLoop, spool.ErrBadReceipt, spool.ErrStaleReceipt, spool.ErrSessionEnded,
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
	return rapid.SampledFrom([]string{"local", "local", "routed", "routed", "none"}).Draw(t, "queue")
}

func (w *twins) priority(t *rapid.T) uint8 {
	return rapid.SampledFrom([]uint8{4, 4, 4, 9, 0}).Draw(t, "priority")
}

func (w *twins) route(t *rapid.T) spool.Route {
	return spool.Route{Queue: w.queue(t), Name: rapid.SampledFrom([]string{"nyc", "nyc", "sfo", ""}).Draw(t, "route")}
}

func (w *twins) put(t *rapid.T) {
	puts := make([]spool.Put, rapid.IntRange(1, 5).Draw(t, "puts"))
	for i := range puts {
		puts[i] = spool.Put{
			Queue:    w.queue(t),
			ID:       fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(t, "id")),
			Priority: w.priority(t),
			Key:      rapid.SampledFrom([]string{"", "", "", "k"}).Draw(t, "key"),
			Body:     []byte(rapid.SampledFrom([]string{"x", "x", "x", "x", "y", "", "too large"}).Draw(t, "body")),
		}
		if rapid.IntRange(0, 19).Draw(t, "malformed") == 19 {
			puts[i].ID = "with space"
		}
	}
	w.same(t, "put", func(_ int, x *twin) (said string) {
		results, err := x.Put(context.Background(), puts)
		for _, r := range results {
			said += fmt.Sprintln(r.ID, r.Status, r.Sequence, kind(r.Err))
		}
		return said + fmt.Sprint(kind(err))
	})
}

func (w *twins) lease(t *rapid.T) {
	req := spool.LeaseRequest{
		Queue:      w.queue(t),
		Max:        rapid.IntRange(0, 6).Draw(t, "max"),
		MaxBytes:   rapid.SampledFrom([]int{0, 0, 1, 150, 300}).Draw(t, "bytes"),
		Visibility: time.Duration(rapid.IntRange(0, 60).Draw(t, "visibility")) * time.Second,
	}
	var given [][2]spool.Receipt
	w.same(t, "lease", func(i int, x *twin) (said string) {
		deliveries, err := x.Lease(context.Background(), req)
		for n, d := range deliveries {
			if i == 0 {
				given = append(given, [2]spool.Receipt{})
			}
			if n < len(given) {
				given[n][i] = d.Receipt
			}
			d.Receipt = ""
			d.StoredAt = time.Time{}
			said += fmt.Sprintf("%+v\n", d)
		}
		return said + fmt.Sprint(kind(err))
	})
	w.receipts = append(w.receipts, given...)
}

func (w *twins) ack(t *rapid.T) {
	var which []int
	if len(w.receipts) > 0 {
		// The latest are the likeliest to run still.
		from := max(0, len(w.receipts)-12)
		which = rapid.SliceOfN(rapid.IntRange(from, len(w.receipts)-1), 0, 6).Draw(t, "receipts")
	}
	wrong := rapid.Bool().Draw(t, "wrong")
	w.same(t, "ack", func(i int, x *twin) string {
		var receipts []spool.Receipt
		for _, n := range which {
			receipts = append(receipts, w.receipts[n][i])
			if wrong {
				receipts = append(receipts, w.receipts[n][1-i], w.receipts[n][i]+"A")
			}
		}
		if wrong {
			receipts = append(receipts, "id-1", "rcpt-")
		}
		answers, err := x.Ack(context.Background(), receipts)
		return fmt.Sprint(kinds(answers), kind(err))
	})
}

func (w *twins) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 40_000).Draw(t, "milliseconds")) * time.Millisecond)
}

func (w *twins) begin(t *rapid.T) {
	w.beginSession(t, rapid.SampledFrom([]string{"nyc", "sfo"}).Draw(t, "peer"))
}

func (w *twins) beginSession(t *rapid.T, peer string) {
	session := message.NewSessionID()
	w.sessions[peer] = append(w.sessions[peer], session)
	w.same(t, "session", func(_ int, x *twin) string {
		id, err := x.BeginSession(context.Background(), peer, session)
		return fmt.Sprint(id == x.Identity(), kind(err))
	})
}

func (w *twins) accept(t *rapid.T) {
	peer := rapid.SampledFrom([]string{"nyc", "sfo"}).Draw(t, "peer")
	sessions := w.sessions[peer]
	a := spool.Arrivals{Peer: peer, Session: sessions[len(sessions)-1], Queue: w.queue(t), Stream: rapid.SampledFrom(w.arriving).Draw(t, "stream")}
	if rapid.IntRange(0, 9).Draw(t, "old session") == 9 {
		a.Session = rapid.SampledFrom(sessions).Draw(t, "session")
	}
	number := uint64(rapid.IntRange(1, 30).Draw(t, "number"))
	for range rapid.IntRange(0, 6).Draw(t, "arrivals") {
		a.Messages = append(a.Messages, w.arrival(t, a.Stream, number))
		number += uint64(rapid.IntRange(0, 3).Draw(t, "step"))
	}
	w.same(t, "accept", func(_ int, x *twin) (said string) {
		decisions, err := x.Accept(context.Background(), a)
		for _, d := range decisions {
			said += fmt.Sprintln(d.Verdict, kind(d.Refusal))
		}
		return said + fmt.Sprint(kind(err))
	})
}

func (w *twins) arrival(t *rapid.T, stream message.StreamID, number uint64) spool.Arrival {
	m := message.Message{
		Head:     message.Head{ID: fmt.Sprint("id-", rapid.IntRange(0, 40).Draw(t, "id")), Origin: "nyc-1", Priority: w.priority(t)},
		Envelope: message.Envelope{Hops: []string{"nyc-1"}, Deliveries: 2},
		Body:     []byte(rapid.SampledFrom([]string{"x", "x", "x", "y", "too large"}).Draw(t, "body")),
	}
	if rapid.IntRange(0, 19).Draw(t, "loop") == 19 {
		m.Hops = append(m.Hops, "fra-1")
	}
	m.Seal()
	in := spool.Arrival{Number: number, Message: m}
	switch rapid.IntRange(0, 3).Draw(t, "prev") {
	case 0:
		in.Prev = message.Place{Stream: stream, Number: number - uint64(rapid.IntRange(0, int(min(3, number))).Draw(t, "distance"))}
	case 1:
		in.Prev = message.Place{Stream: rapid.SampledFrom(w.arriving).Draw(t, "of"), Number: uint64(rapid.IntRange(1, 30).Draw(t, "at"))}
	}
	return in
}

func (w *twins) mark(t *rapid.T) {
	route, lane, through := w.route(t), w.priority(t), uint64(rapid.IntRange(0, 40).Draw(t, "through"))
	w.same(t, "mark", func(_ int, x *twin) string {
		err := x.Mark(context.Background(), route, lane, through)
		return fmt.Sprint(kind(err), x.MarkOf(route, lane))
	})
}

func (w *twins) settle(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	settled := make([]message.Range, rapid.IntRange(0, 3).Draw(t, "ranges"))
	for i := range settled {
		first := uint64(rapid.IntRange(0, 40).Draw(t, "first"))
		settled[i] = message.Range{First: first, Last: first + uint64(rapid.IntRange(0, 6).Draw(t, "more"))}
	}
	w.same(t, "settle", func(_ int, x *twin) string {
		return fmt.Sprint(kind(x.SettleRoute(context.Background(), route, lane, settled)))
	})
}

// place is a place as both can say it: the streams are random, and a new opening has new ones.
func (w *twins) place(x *twin, p message.Place) string {
	if w.reopened {
		return fmt.Sprint(p.Number)
	}
	if _, seen := x.streams[p.Stream]; !seen {
		x.streams[p.Stream] = len(x.streams)
	}
	return fmt.Sprint(p.Number, " of ", x.streams[p.Stream])
}

func (w *twins) fetch(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	numbers := rapid.SliceOfN(rapid.Uint64Range(0, 60), 0, 10).Draw(t, "numbers")
	w.same(t, "fetch", func(_ int, x *twin) (said string) {
		records, err := x.Fetch(context.Background(), route, lane, numbers)
		for _, r := range records {
			m, err := message.ParseRecord(r.Bytes)
			said += fmt.Sprintln(w.place(x, r.Place), r.Age, m.ID, string(m.Body), len(r.Bytes), err)
		}
		return said + fmt.Sprint(kind(err))
	})
}

func (w *twins) held(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	after, most := rapid.Uint64Range(0, 30).Draw(t, "after"), rapid.IntRange(0, 20).Draw(t, "max")
	w.same(t, "held", func(_ int, x *twin) string { return w.heldBy(x, route, lane, after, most) })
}

func (w *twins) heldBy(x *twin, route spool.Route, lane uint8, after uint64, most int) (said string) {
	held, err := x.Held(context.Background(), route, lane, after, most)
	for _, h := range held {
		said += fmt.Sprintln(w.place(x, h.Place), h.Bytes)
	}
	return said + fmt.Sprint(kind(err))
}

func (w *twins) peek(t *rapid.T) {
	queue, from := w.queue(t), rapid.Uint64Range(0, 40).Draw(t, "from")
	most := rapid.IntRange(0, 10).Draw(t, "max")
	w.same(t, "peek", func(_ int, x *twin) string { return w.peekAt(x, queue, from, most) })
}

func (w *twins) peekAt(x *twin, queue string, from uint64, most int) (said string) {
	peeked, err := x.Peek(context.Background(), queue, from, most)
	for _, p := range peeked {
		p.StoredAt = time.Time{}
		said += fmt.Sprintf("%+v\n", p)
	}
	return said + fmt.Sprint(kind(err))
}

func (w *twins) meta(t *rapid.T) {
	key, value := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "value")
	set := rapid.Bool().Draw(t, "set")
	w.same(t, "meta", func(_ int, x *twin) string {
		if set {
			if err := x.SetMeta(context.Background(), key, value); err != nil {
				return err.Error()
			}
		}
		v, err := x.Meta(key)
		return fmt.Sprint(v, v == nil, err)
	})
}

func (w *twins) remember(t *rapid.T) {
	window := time.Duration(rapid.IntRange(0, 72).Draw(t, "hours")) * time.Hour
	w.same(t, "remember", func(_ int, x *twin) string {
		return fmt.Sprint(x.Remember(context.Background(), "nyc", "local", window))
	})
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
			q.Settled, q.Accepted = q.Settled-b.Settled, q.Accepted-b.Accepted
			said += fmt.Sprintf("%+v\n", q)
		}
		l := x.LedgerStats()
		return said + fmt.Sprint(l.IDs, l.Window, l.EffectiveWindow)
	})
	if w.steps%3 != 0 {
		return
	}
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
