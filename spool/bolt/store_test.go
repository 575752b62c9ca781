package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

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
