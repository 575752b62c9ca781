package bolt_test

import (
	"context"
	"fmt"
	"testing"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// orders are options of a store with one local queue.
func orders() bolt.Options {
	return bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"orders": {MaxDeliveries: spool.UnlimitedDeliveries}}}
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
	said, ledger := s.Stats(), s.LedgerStats()
	if err := s.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	requireFile(s.t, s.dir, said)
	if ids, bytes, err := bolt.LedgerInFile(s.dir); err != nil || ids != ledger.IDs || bytes != ledger.DiskBytes {
		s.t.Errorf("the ledger says it has %d ids in %d bytes; its file has %d in %d, %v", ledger.IDs, ledger.DiskBytes, ids, bytes, err)
	}
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
