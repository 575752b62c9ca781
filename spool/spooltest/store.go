package spooltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// agentName is the agent whose store it is.
const agentName = "fra-1"

// lane is the priority of the messages that cases store unless they say otherwise.
const lane = uint8(message.DefaultPriority)

// day is what a queue remembers unless it is told otherwise.
const day = 24 * time.Hour

// store is the store under test, with calls that end the test if they fail.
type store struct {
	spool.Store
	t      testing.TB
	engine Engine
	dir    string
	queues map[string]spool.QueueOptions
	books  *books
	// skew is how far the wall clock was stepped.
	skew   atomic.Int64
	closed bool
}

func (s *store) open() {
	s.t.Helper()
	st, err := s.engine.Open(s.dir, Options{Agent: agentName, Queues: s.queues, Now: s.wall})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Store, s.books, s.closed = st, newBooks(st), false
}

func (s *store) wall() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }

// close closes the store when it was audited, and has what is left compared with what it said.
func (s *store) close() {
	s.t.Helper()
	if s.closed {
		return
	}
	s.closed = true
	s.audit()
	said := s.Stats()
	if err := s.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	if s.engine.Audit != nil {
		s.engine.Audit(s.t, s.dir, said)
	}
}

func (s *store) restart() {
	s.t.Helper()
	s.close()
	s.open()
}

func (s *store) restartWith(queues map[string]spool.QueueOptions) {
	s.t.Helper()
	s.close()
	s.queues = queues
	s.open()
}

// pass lets time pass, and everything happen that is due by then.
func (s *store) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *store) acceptTime() {
	s.t.Helper()
	if err := s.AcceptTime(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) put(puts ...spool.Put) []spool.PutResult {
	s.t.Helper()
	results, err := s.Put(context.Background(), puts)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(results) != len(puts) {
		s.t.Fatalf("%d results of %d puts", len(results), len(puts))
	}
	return results
}

// orderOf is a message for the queue orders.
func orderOf(id, body string) spool.Put {
	return spool.Put{Queue: "orders", ID: id, Priority: lane, Body: []byte(body)}
}

// fill stores one message per id in one call, each with its id as its body, and returns their sequences.
func (s *store) fill(ids ...string) (sequences []uint64) {
	s.t.Helper()
	puts := make([]spool.Put, len(ids))
	for i, id := range ids {
		puts[i] = orderOf(id, id)
	}
	for _, r := range s.put(puts...) {
		if r.Status != spool.Stored || r.Err != nil {
			s.t.Fatalf("put %s: status %d, %v", r.ID, r.Status, r.Err)
		}
		sequences = append(sequences, r.Sequence)
	}
	return sequences
}

func (s *store) requirePut(p spool.Put, want spool.PutStatus) spool.PutResult {
	s.t.Helper()
	r := s.put(p)[0]
	if r.Status != want {
		s.t.Fatalf("put %s: status %d, %v; want %d", p.ID, r.Status, r.Err, want)
	}
	return r
}

func (s *store) request(req spool.LeaseRequest) []spool.Delivery {
	s.t.Helper()
	req.Queue = cmp.Or(req.Queue, "orders")
	d, err := s.Lease(context.Background(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *store) lease(max int) []spool.Delivery {
	s.t.Helper()
	return s.request(spool.LeaseRequest{Max: max})
}

func (s *store) requireLeased(max int, want ...string) []spool.Delivery {
	s.t.Helper()
	d := s.lease(max)
	var got []string
	for _, one := range d {
		got = append(got, one.ID)
	}
	requireEqual(s.t, "leased", got, want)
	return d
}

func (s *store) ack(receipts ...spool.Receipt) []error {
	s.t.Helper()
	answers, err := s.Ack(context.Background(), receipts)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(answers) != len(receipts) {
		s.t.Fatalf("%d answers to %d receipts", len(answers), len(receipts))
	}
	return answers
}

func (s *store) requireAcked(deliveries ...spool.Delivery) {
	s.t.Helper()
	s.requireAnswers(nil, receiptsOf(deliveries)...)
}

// requireAnswers acks receipts that must all be answered the same.
func (s *store) requireAnswers(want error, receipts ...spool.Receipt) {
	s.t.Helper()
	for i, err := range s.ack(receipts...) {
		if !errors.Is(err, want) || want == nil && err != nil {
			s.t.Errorf("receipt %d: %v, want %v", i, err, want)
		}
	}
}

func receiptsOf(deliveries []spool.Delivery) (receipts []spool.Receipt) {
	for _, d := range deliveries {
		receipts = append(receipts, d.Receipt)
	}
	return receipts
}

func (s *store) peek(queue string, from uint64, max int) []spool.Peeked {
	s.t.Helper()
	p, err := s.Peek(context.Background(), queue, from, max)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// requirePeeked compares what the queue orders shows, written as sequence, id and whose it is.
func (s *store) requirePeeked(from uint64, max int, want ...string) {
	s.t.Helper()
	var got []string
	for _, p := range s.peek("orders", from, max) {
		text := fmt.Sprint(p.Sequence, " ", p.ID)
		if p.Leased {
			text += " leased"
		}
		if p.InDoubt {
			text += " in doubt"
		}
		got = append(got, text)
	}
	requireEqual(s.t, "peeked", got, want)
}

func (s *store) stats(queue string) spool.QueueStats {
	s.t.Helper()
	for _, q := range s.Stats() {
		if q.Name == queue {
			return q
		}
	}
	s.t.Fatalf("no stats of queue %q", queue)
	return spool.QueueStats{}
}

func (s *store) requireMessages(want uint64) {
	s.t.Helper()
	if got := s.stats("orders").Messages; got != want {
		s.t.Errorf("%d messages, want %d", got, want)
	}
}

func requireEqual[T any](t testing.TB, what string, got, want []T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func requireIs(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func idsFrom(from, to int) (ids []string) {
	for i := from; i <= to; i++ {
		ids = append(ids, fmt.Sprintf("id-%d", i))
	}
	return ids
}
