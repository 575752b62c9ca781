package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// orders are options of a store with one local queue.
func orders() bolt.Options {
	return bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"orders": {}}}
}

// opened is a store in a test. When the test ends it is closed and its file is compared with what it said of itself.
type opened struct {
	*bolt.Store
	t       testing.TB
	dir     string
	options bolt.Options
	closed  bool
}

func openTemp(t testing.TB, o bolt.Options) *opened {
	t.Helper()
	return open(t, t.TempDir(), o)
}

func open(t testing.TB, dir string, o bolt.Options) *opened {
	t.Helper()
	s, err := bolt.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	st := &opened{Store: s, t: t, dir: dir, options: o}
	t.Cleanup(st.close)
	return st
}

func (s *opened) close() {
	s.t.Helper()
	if s.closed {
		return
	}
	s.closed = true
	said := s.Stats()
	if err := s.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	requireFile(s.t, s.dir, said)
}

// requireFile compares the counters of a store with a scan of its file. Leases may have run out since the last commit.
func requireFile(t testing.TB, dir string, said []spool.QueueStats) {
	t.Helper()
	found, err := bolt.Audit(dir)
	if err != nil {
		t.Errorf("audit: %v", err)
		return
	}
	for _, q := range said {
		f := found[q.Name]
		if q.Messages != f.Messages || q.Bytes != f.Bytes || q.InDoubt != f.InDoubt || q.Leased > f.Leased {
			t.Errorf("queue %q says it has %d messages of %d bytes, %d leased, %d in doubt; its file has %d of %d, %d, %d",
				q.Name, q.Messages, q.Bytes, q.Leased, q.InDoubt, f.Messages, f.Bytes, f.Leased, f.InDoubt)
		}
	}
}

// reopen closes the store and opens it again.
func (s *opened) reopen() *opened {
	s.t.Helper()
	s.close()
	return open(s.t, s.dir, s.options)
}

func (s *opened) put(puts ...spool.Put) []spool.PutResult {
	s.t.Helper()
	results, err := s.Put(context.Background(), puts)
	if err != nil {
		s.t.Fatal(err)
	}
	return results
}

// store puts one message per id, each with the id as its body, in one commit, and returns their sequences.
func (s *opened) store(queue string, ids ...string) (sequences []uint64) {
	s.t.Helper()
	puts := make([]spool.Put, len(ids))
	for i, id := range ids {
		puts[i] = spool.Put{Queue: queue, ID: id, Priority: message.DefaultPriority, Body: []byte(id)}
	}
	for _, r := range s.put(puts...) {
		if r.Status != spool.Stored {
			s.t.Fatalf("put %s: status %d, %v", r.ID, r.Status, r.Err)
		}
		sequences = append(sequences, r.Sequence)
	}
	return sequences
}

func (s *opened) lease(max int) []spool.Delivery {
	s.t.Helper()
	d, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "orders", Max: max})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *opened) ack(receipts ...spool.Receipt) []error {
	s.t.Helper()
	answers, err := s.Ack(context.Background(), receipts)
	if err != nil {
		s.t.Fatal(err)
	}
	return answers
}

func (s *opened) requireAcked(deliveries []spool.Delivery) {
	s.t.Helper()
	for i, err := range s.ack(receiptsOf(deliveries)...) {
		if err != nil {
			s.t.Fatalf("ack %s: %v", deliveries[i].ID, err)
		}
	}
}

func (s *opened) peek(queue string, from uint64, max int) []spool.Peeked {
	s.t.Helper()
	p, err := s.Peek(context.Background(), queue, from, max)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *opened) stats(queue string) spool.QueueStats {
	s.t.Helper()
	for _, q := range s.Stats() {
		if q.Name == queue {
			return q
		}
	}
	s.t.Fatalf("no stats of queue %q", queue)
	return spool.QueueStats{}
}

func receiptsOf(deliveries []spool.Delivery) (receipts []spool.Receipt) {
	for _, d := range deliveries {
		receipts = append(receipts, d.Receipt)
	}
	return receipts
}

func idsOf(deliveries []spool.Delivery) (ids []string) {
	for _, d := range deliveries {
		ids = append(ids, d.ID)
	}
	return ids
}

func idsFrom(from, to int) (ids []string) {
	for i := from; i <= to; i++ {
		ids = append(ids, fmt.Sprintf("id-%05d", i))
	}
	return ids
}

func requireEqual[T any](t testing.TB, what string, got, want []T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func TestMessageIsPutLeasedAndAcked(t *testing.T) {
	s := openTemp(t, orders())
	headers := message.NewHeaders(map[string]string{"traceparent": "00-1-2-03", "kind": "test"})
	r := s.put(spool.Put{Queue: "orders", ID: "a", Priority: 4, Key: "k", Headers: headers, Body: []byte("hello")})[0]
	if r.Status != spool.Stored || r.Sequence != 1 || r.ID != "a" {
		t.Fatalf("put: %+v", r)
	}
	d := s.lease(10)
	if len(d) != 1 || d[0].ID != "a" || d[0].Origin != "fra-1" || string(d[0].Body) != "hello" || d[0].Key != "k" ||
		!slices.Equal(d[0].Headers, headers) || d[0].Deliveries != 1 || d[0].Sequence != 1 {
		t.Fatalf("lease: %+v", d)
	}
	if d[0].Deadline <= 0 || d[0].Deadline > spool.DefaultVisibilityTimeout {
		t.Fatalf("the lease runs %s", d[0].Deadline)
	}
	if q := s.stats("orders"); q.Messages != 1 || q.Leased != 1 || q.Bytes == 0 || q.Stored != 1 {
		t.Fatalf("stats while leased: %+v", q)
	}
	if more := s.lease(10); len(more) != 0 {
		t.Fatalf("leased again: %+v", more)
	}
	s.requireAcked(d)
	if q := s.stats("orders"); q.Messages != 0 || q.Leased != 0 || q.Bytes != 0 || q.Acked != 1 || q.OldestAge != 0 {
		t.Fatalf("stats after the ack: %+v", q)
	}
}

func TestPutTwiceIsStoredOnce(t *testing.T) {
	s := openTemp(t, orders())
	p := spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("x")}
	s.put(p)
	again := p
	again.Headers = message.NewHeaders(map[string]string{"traceparent": "another"})
	other := p
	other.Body = []byte("y")
	r := s.put(again, other)
	if r[0].Status != spool.Duplicate || r[0].Sequence != 1 || r[0].Err != nil {
		t.Errorf("same content: %+v", r[0])
	}
	if r[1].Status != spool.Conflict || !errors.Is(r[1].Err, spool.ErrConflict) {
		t.Errorf("other content: %+v", r[1])
	}
	// It stays known after it was settled, and after a restart.
	s.requireAcked(s.lease(1))
	s = s.reopen()
	if r := s.put(p)[0]; r.Status != spool.Duplicate || r.Sequence != 1 {
		t.Errorf("after a restart: %+v", r)
	}
	if q := s.stats("orders"); q.Messages != 0 || q.Duplicates != 1 {
		t.Errorf("stats: %+v", q)
	}
}

func TestPutTwiceInOneCommit(t *testing.T) {
	s := openTemp(t, orders())
	p := spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("x")}
	other := p
	other.Body = []byte("y")
	r := s.put(spool.Put{Queue: "orders", Priority: 9, Body: []byte("z")}, p, p, other)
	if r[0].Status != spool.Stored || message.CheckID(r[0].ID) != nil {
		t.Errorf("minted: %+v", r[0])
	}
	if r[1].Status != spool.Stored || r[2].Status != spool.Duplicate || r[2].Sequence != r[1].Sequence || r[3].Status != spool.Conflict {
		t.Errorf("got %+v", r[1:])
	}
}

func TestManyCallersPutOneID(t *testing.T) {
	s := openTemp(t, orders())
	var wg sync.WaitGroup
	results := make([]spool.PutResult, 64)
	for i := range results {
		wg.Go(func() {
			results[i] = s.put(spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("x")})[0]
		})
	}
	wg.Wait()
	stored := 0
	for _, r := range results {
		if r.Status == spool.Stored {
			stored++
		} else if r.Status != spool.Duplicate {
			t.Errorf("got %+v", r)
		}
		if r.Sequence != 1 {
			t.Errorf("sequence %d", r.Sequence)
		}
	}
	if stored != 1 || s.stats("orders").Messages != 1 {
		t.Errorf("stored %d times, %d messages", stored, s.stats("orders").Messages)
	}
}

func TestPutCopiesWhatItIsGiven(t *testing.T) {
	s := openTemp(t, orders())
	body := []byte("before")
	s.put(spool.Put{Queue: "orders", Priority: 4, Body: body})
	copy(body, "AFTER!")
	if d := s.lease(1); string(d[0].Body) != "before" {
		t.Errorf("stored %q", d[0].Body)
	}
}

func TestPutRefusesOneAndStoresTheOthers(t *testing.T) {
	o := orders()
	o.Queues["orders"] = spool.QueueOptions{MaxMessageBytes: 4}
	s := openTemp(t, o)
	r := s.put(
		spool.Put{Queue: "orders", ID: "fits", Body: []byte("1234")},
		spool.Put{Queue: "orders", ID: "big", Body: []byte("12345")},
		spool.Put{Queue: "other", ID: "lost", Body: nil},
		spool.Put{Queue: "orders", ID: "with space", Body: nil},
		spool.Put{Queue: "orders", ID: "priority", Priority: 10},
		spool.Put{Queue: "orders", ID: "empty"},
	)
	for i, want := range []error{nil, spool.ErrTooLarge, spool.ErrNoQueue, spool.ErrMalformed, spool.ErrMalformed, nil} {
		if !errors.Is(r[i].Err, want) || (want == nil) != (r[i].Status == spool.Stored) {
			t.Errorf("put %d: %+v, want %v", i, r[i], want)
		}
	}
}

func TestCallersShareCommits(t *testing.T) {
	s := openTemp(t, orders())
	before := s.Commits()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { s.store("orders", fmt.Sprint(i)) })
	}
	wg.Wait()
	if n := s.Commits() - before; n >= 150 {
		t.Errorf("200 puts took %d commits", n)
	}
	if n := s.stats("orders").Messages; n != 200 {
		t.Errorf("%d messages", n)
	}
}

func TestNothingToChangeIsNoCommit(t *testing.T) {
	s := openTemp(t, orders())
	s.store("orders", "a")
	before := s.Commits()
	s.put(spool.Put{Queue: "orders", ID: "a", Priority: 4, Body: []byte("a")})
	s.ack("rcpt-nonsense", "a")
	d := s.lease(1)
	s.lease(1)
	s.lease(1)
	if n := s.Commits() - before; n != 1 {
		t.Errorf("%d commits, want 1 for the lease", n)
	}
	s.requireAcked(d)
}

func TestLeaseGoesByPriorityThenAge(t *testing.T) {
	s := openTemp(t, orders())
	for i, priority := range []uint8{4, 0, 9, 4, 9} {
		s.put(spool.Put{Queue: "orders", ID: fmt.Sprint(i), Priority: priority})
	}
	requireEqual(t, "leased", idsOf(s.lease(3)), []string{"2", "4", "0"})
	requireEqual(t, "leased", idsOf(s.lease(9)), []string{"3", "1"})
}

func TestLeaseStopsAtMaxBytes(t *testing.T) {
	s := openTemp(t, orders())
	for range 4 {
		s.put(spool.Put{Queue: "orders", Priority: 4, Body: make([]byte, 1000)}, spool.Put{Queue: "orders", Priority: 4, Body: make([]byte, 1000)})
	}
	for _, want := range []struct{ maxBytes, count int }{{1, 1}, {1500, 2}, {3000, 3}} {
		d, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "orders", Max: 100, MaxBytes: want.maxBytes})
		if err != nil || len(d) != want.count {
			t.Errorf("up to %d bytes: %d messages, %v; want %d", want.maxBytes, len(d), err, want.count)
		}
	}
}

func TestOrderIsThatOfStoring(t *testing.T) {
	s := openTemp(t, orders())
	var want []string
	for i := range 20 {
		ids := idsFrom(10*i, 10*i+i%10)
		s.store("orders", ids...)
		want = append(want, ids...)
	}
	var got []string
	for {
		d := s.lease(7)
		if len(d) == 0 {
			break
		}
		got = append(got, idsOf(d)...)
		s.requireAcked(d)
	}
	requireEqual(t, "order", got, want)
}

func TestRedeliveryKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t, orders())
		s.store("orders", idsFrom(1, 3)...)
		s.store("orders", idsFrom(4, 6)...)
		first := s.lease(4)
		s.requireAcked(first[1:2])
		ready, stop := s.Watch("orders")
		defer stop()
		time.Sleep(spool.DefaultVisibilityTimeout)
		<-ready
		if q := s.stats("orders"); q.Leased != 0 || q.Messages != 5 {
			t.Errorf("stats: %+v", q)
		}
		again := s.lease(10)
		requireEqual(t, "redelivered", idsOf(again), []string{"id-00001", "id-00003", "id-00004", "id-00005", "id-00006"})
		var counts []uint32
		for _, d := range again {
			counts = append(counts, d.Deliveries)
		}
		requireEqual(t, "deliveries", counts, []uint32{2, 2, 2, 1, 1})
		for i, err := range s.ack(receiptsOf(first)...) {
			if !errors.Is(err, spool.ErrStaleReceipt) {
				t.Errorf("old receipt %d: %v", i, err)
			}
		}
		s.requireAcked(again)
		s.close()
	})
}

func TestReceiptsThatAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := openTemp(t, orders()), openTemp(t, orders())
		s.store("orders", "a")
		other.store("orders", "a")
		d, foreign := s.lease(1), other.lease(1)
		r := d[0].Receipt
		for i, err := range s.ack("a", "", "rcpt-", r[:len(r)-1], r+"A", foreign[0].Receipt) {
			if !errors.Is(err, spool.ErrBadReceipt) {
				t.Errorf("token %d: %v", i, err)
			}
		}
		time.Sleep(spool.DefaultVisibilityTimeout - time.Millisecond)
		if err := s.ack(r)[0]; err != nil {
			t.Errorf("in time: %v", err)
		}
		if err := s.ack(r)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
			t.Errorf("twice: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := other.ack(foreign[0].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
			t.Errorf("run out: %v", err)
		}
		s.close()
		other.close()
	})
}

func TestLeaseRunsOnOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t, orders())
		s.store("orders", "a", "b")
		d := s.lease(1)
		time.Sleep(10 * time.Second)
		s = s.reopen()
		if q := s.stats("orders"); q.Leased != 1 {
			t.Errorf("stats after the restart: %+v", q)
		}
		requireEqual(t, "not leased", idsOf(s.lease(5)), []string{"b"})
		ready, stop := s.Watch("orders")
		defer stop()
		time.Sleep(20*time.Second - 50*time.Millisecond)
		select {
		case <-ready:
			t.Error("ready too early")
		default:
		}
		time.Sleep(100 * time.Millisecond)
		<-ready
		again := s.lease(5)
		requireEqual(t, "redelivered", idsOf(again), []string{"a"})
		if again[0].Deliveries != 2 {
			t.Errorf("deliveries %d", again[0].Deliveries)
		}
		if err := s.ack(d[0].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
			t.Errorf("old receipt: %v", err)
		}
		s = s.reopen()
		s.requireAcked(again)
		s.close()
	})
}

func TestSpoolTimeNeverGoesBack(t *testing.T) {
	wall := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := orders()
	o.Now = func() time.Time { return wall }
	s := openTemp(t, o)
	s.store("orders", "a")
	d := s.lease(1)
	wall = wall.Add(-1000 * time.Hour)
	s = s.reopen()
	if q := s.stats("orders"); q.Leased != 1 || q.OldestAge > time.Minute {
		t.Errorf("after a step back: %+v", q)
	}
	wall = wall.Add(29 * time.Second)
	s = s.reopen()
	if q := s.stats("orders"); q.Leased != 1 || q.OldestAge < 29*time.Second {
		t.Errorf("29 s later: %+v", q)
	}
	wall = wall.Add(time.Second)
	s = s.reopen()
	if q := s.stats("orders"); q.Leased != 0 {
		t.Errorf("30 s later: %+v", q)
	}
	if err := s.ack(d[0].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
		t.Errorf("receipt: %v", err)
	}
}

func TestPeekShowsEverythingInItsPlace(t *testing.T) {
	s := openTemp(t, orders())
	for i, priority := range []uint8{4, 0, 9, 4, 9, 4} {
		s.put(spool.Put{Queue: "orders", ID: fmt.Sprint(i), Priority: priority, Body: []byte("body")})
	}
	s.requireAcked(s.lease(1)) // "2"
	s.lease(1)                 // "4"
	var got []string
	for _, p := range s.peek("orders", 0, 100) {
		got = append(got, fmt.Sprint(p.Sequence, " ", p.ID, " ", p.Leased))
		if !bytes.Equal(p.Body, []byte("body")) {
			t.Errorf("body of %s: %q", p.ID, p.Body)
		}
	}
	requireEqual(t, "peeked", got, []string{"1 0 false", "2 1 false", "4 3 false", "5 4 true", "6 5 false"})
	if p := s.peek("orders", 3, 2); len(p) != 2 || p[0].Sequence != 4 || p[1].Sequence != 5 {
		t.Errorf("from 3: %+v", p)
	}
	if _, err := s.Peek(context.Background(), "other", 0, 1); !errors.Is(err, spool.ErrNoQueue) {
		t.Errorf("unknown queue: %v", err)
	}
}

func TestUnreadableMessageIsKeptAndLeftOut(t *testing.T) {
	s := openTemp(t, orders())
	s.store("orders", idsFrom(1, 3)...)
	s.close()
	if err := bolt.Corrupt(s.dir, "orders", message.DefaultPriority, 1); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.dir, s.options)
	// It stands first and must not make a queue with ready messages look empty.
	requireEqual(t, "leased", idsOf(s.lease(1)), []string{"id-00002"})
	requireEqual(t, "leased", idsOf(s.lease(5)), []string{"id-00003"})
	if n := len(s.peek("orders", 0, 10)); n != 2 {
		t.Errorf("peek shows %d", n)
	}
	if q := s.stats("orders"); q.Messages != 3 {
		t.Errorf("stats: %+v", q)
	}
}

func TestQueueLargerThanTheWindow(t *testing.T) {
	s := openTemp(t, orders())
	var want []string
	for i := range bolt.WindowGroups + 300 {
		want = append(want, fmt.Sprintf("id-%05d", i))
		s.store("orders", want[i])
	}
	s = s.reopen()
	s.store("orders", "last")
	want = append(want, "last")
	var got []string
	for {
		d := s.lease(50)
		if len(d) == 0 {
			break
		}
		n, err := bolt.LoadedGroups(s.Store, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if n > bolt.WindowGroups {
			t.Fatalf("%d groups in memory", n)
		}
		got = append(got, idsOf(d)...)
		s.requireAcked(d)
	}
	requireEqual(t, "order", got, want)
}

func TestQueuesAreApart(t *testing.T) {
	o := orders()
	o.Queues["refunds"] = spool.QueueOptions{}
	s := openTemp(t, o)
	s.store("orders", "a")
	s.store("refunds", "a", "b")
	requireEqual(t, "leased", idsOf(s.lease(5)), []string{"a"})
	if q := s.stats("refunds"); q.Messages != 2 || q.Leased != 0 {
		t.Errorf("refunds: %+v", q)
	}
	if n := len(s.peek("refunds", 0, 9)); n != 2 {
		t.Errorf("refunds has %d", n)
	}
}

func TestQueueThatIsNoLongerConfiguredIsKept(t *testing.T) {
	s := openTemp(t, orders())
	s.store("orders", "a", "b")
	s.close()
	kept := open(t, s.dir, bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"refunds": {}}})
	if q := kept.stats("orders"); q.Messages != 2 {
		t.Errorf("stats: %+v", q)
	}
	if r := kept.put(spool.Put{Queue: "orders", ID: "c"})[0]; r.Status != spool.Rejected || !errors.Is(r.Err, spool.ErrNoQueue) {
		t.Errorf("put: %+v", r)
	}
	if _, err := kept.Lease(context.Background(), spool.LeaseRequest{Queue: "orders"}); !errors.Is(err, spool.ErrNoQueue) {
		t.Errorf("lease: %v", err)
	}
	if n := len(kept.peek("orders", 0, 9)); n != 2 {
		t.Errorf("peek shows %d", n)
	}
	kept.close()
	again := open(t, s.dir, orders())
	requireEqual(t, "leased", idsOf(again.lease(9)), []string{"a", "b"})
}

func TestMetaIsKept(t *testing.T) {
	s := openTemp(t, orders())
	if v, err := s.Meta("link/nyc"); v != nil || err != nil {
		t.Errorf("nothing: %q, %v", v, err)
	}
	if err := s.SetMeta(context.Background(), "link/nyc", []byte("fence")); err != nil {
		t.Fatal(err)
	}
	s = s.reopen()
	if v, err := s.Meta("link/nyc"); string(v) != "fence" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

func TestEveryOpeningIsAnEpoch(t *testing.T) {
	s := openTemp(t, orders())
	first := s.Identity()
	if first.Epoch.Counter != 1 || first.Previous != (message.Epoch{}) || first.Spool == (message.SpoolID{}) {
		t.Errorf("first: %+v", first)
	}
	second := s.reopen().Identity()
	if second.Spool != first.Spool || second.Previous != first.Epoch || second.Epoch.Counter != 2 || second.Epoch.Tag == first.Epoch.Tag {
		t.Errorf("second: %+v after %+v", second, first)
	}
}

func TestWatchTellsOfWhatIsStored(t *testing.T) {
	s := openTemp(t, orders())
	ready, stop := s.Watch("orders")
	s.store("orders", "a")
	s.store("orders", "b")
	<-ready
	select {
	case <-ready:
		t.Error("wake-ups pile up")
	default:
	}
	stop()
	s.store("orders", "c")
	select {
	case <-ready:
		t.Error("woken after stop")
	default:
	}
}

func TestCloseRefusesWhatComesLater(t *testing.T) {
	s := openTemp(t, orders())
	s.close()
	if _, err := s.Put(context.Background(), []spool.Put{{Queue: "orders"}}); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Peek(context.Background(), "orders", 0, 1); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("peek: %v", err)
	}
	if err := s.Store.Close(); err != nil {
		t.Errorf("close twice: %v", err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("a closed store has not failed: %v", err)
	}
}

func TestCallThatIsCutOffIsUnknown(t *testing.T) {
	s := openTemp(t, orders())
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the client went"))
	_, err := s.Put(ctx, []spool.Put{{Queue: "orders", ID: "a"}})
	if !errors.Is(err, spool.ErrUnknown) || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("got %v", err)
	}
}

func TestStatsAreSortedByName(t *testing.T) {
	o := orders()
	for _, name := range []string{"z", "a", "m"} {
		o.Queues[name] = spool.QueueOptions{}
	}
	s := openTemp(t, o)
	var names []string
	for _, q := range s.Stats() {
		names = append(names, q.Name)
	}
	requireEqual(t, "names", names, slices.Sorted(maps.Keys(o.Queues)))
}
