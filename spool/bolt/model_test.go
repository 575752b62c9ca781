package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// modelMessage is a message as the model of a queue knows it.
type modelMessage struct {
	id         string
	body       string
	priority   uint8
	sequence   uint64
	deliveries uint32
	leasedTo   time.Time
	receipt    spool.Receipt
}

// queueModel is a queue as a plain list.
type queueModel struct {
	store *bolt.Store
	dir   string
	live  []*modelMessage
	known map[string]*modelMessage
	stale []spool.Receipt
	next  uint64
}

func (m *queueModel) put(t *rapid.T) {
	n := rapid.IntRange(1, 5).Draw(t, "puts")
	puts := make([]spool.Put, n)
	for i := range puts {
		puts[i] = spool.Put{
			Queue:    "orders",
			ID:       fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(t, "id")),
			Body:     []byte(rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(t, "body")),
			Priority: rapid.SampledFrom([]uint8{4, 4, 9}).Draw(t, "priority"),
		}
	}
	results, err := m.store.Put(context.Background(), puts)
	if err != nil {
		t.Fatal(err)
	}
	var stored []*modelMessage
	for i, r := range results {
		known := m.known[puts[i].ID]
		switch {
		case known == nil:
			if r.Status != spool.Stored {
				t.Fatalf("new %s: %+v", puts[i].ID, r)
			}
			one := &modelMessage{id: r.ID, body: string(puts[i].Body), priority: puts[i].Priority, sequence: r.Sequence}
			m.known[r.ID] = one
			stored = append(stored, one)
		case known.body != string(puts[i].Body):
			if r.Status != spool.Conflict {
				t.Fatalf("other content %s: %+v", r.ID, r)
			}
		case r.Status != spool.Duplicate || r.Sequence != known.sequence:
			t.Fatalf("known %s at %d: %+v", r.ID, known.sequence, r)
		}
	}
	// Within a priority the order of storing is that of the puts; all sequences are new and none is left out.
	last := make(map[uint8]uint64)
	for _, one := range stored {
		if one.sequence < m.next || one.sequence <= last[one.priority] {
			t.Fatalf("sequence %d after %d, next %d", one.sequence, last[one.priority], m.next)
		}
		last[one.priority] = one.sequence
	}
	m.next += uint64(len(stored))
	m.live = append(m.live, stored...)
	slices.SortFunc(m.live, func(a, b *modelMessage) int {
		if a.priority != b.priority {
			return int(b.priority) - int(a.priority)
		}
		return int(a.sequence) - int(b.sequence)
	})
}

func (m *queueModel) lease(t *rapid.T) {
	most := rapid.IntRange(1, 4).Draw(t, "max")
	visibility := time.Duration(rapid.IntRange(1, 60).Draw(t, "visibility")) * time.Second
	got, err := m.store.Lease(context.Background(), spool.LeaseRequest{Queue: "orders", Max: most, Visibility: visibility})
	if err != nil {
		t.Fatal(err)
	}
	var want []*modelMessage
	for _, one := range m.live {
		if len(want) < most && !one.leasedTo.After(time.Now()) {
			want = append(want, one)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("leased %v, want %d messages", idsOf(got), len(want))
	}
	for i, one := range want {
		one.deliveries++
		if got[i].ID != one.id || got[i].Sequence != one.sequence || got[i].Deliveries != one.deliveries || string(got[i].Body) != one.body {
			t.Fatalf("leased %+v, want %+v", got[i], one)
		}
		if one.receipt != "" {
			m.stale = append(m.stale, one.receipt)
		}
		one.receipt, one.leasedTo = got[i].Receipt, time.Now().Add(visibility)
	}
}

// errUsed stands for the answers to a receipt that was used: already settled as long as that is remembered, then stale.
var errUsed = errors.New("used")

func (m *queueModel) ack(t *rapid.T) {
	var receipts []spool.Receipt
	var want []error
	for _, one := range m.live {
		if one.receipt == "" || !rapid.Bool().Draw(t, "ack") {
			continue
		}
		receipts = append(receipts, one.receipt)
		if one.leasedTo.After(time.Now()) {
			want = append(want, nil)
			m.stale = append(m.stale, one.receipt)
			one.receipt = "done"
		} else {
			want = append(want, spool.ErrStaleReceipt)
		}
	}
	if len(m.stale) > 0 {
		receipts = append(receipts, rapid.SampledFrom(m.stale).Draw(t, "stale"))
		want = append(want, errUsed)
		if i := slices.Index(receipts, receipts[len(receipts)-1]); i < len(receipts)-1 {
			receipts, want = receipts[:len(receipts)-1], want[:len(want)-1]
		}
	}
	m.live = slices.DeleteFunc(m.live, func(one *modelMessage) bool { return one.receipt == "done" })
	got, err := m.store.Ack(context.Background(), receipts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if want[i] == errUsed && (errors.Is(got[i], spool.ErrAlreadySettled) || errors.Is(got[i], spool.ErrStaleReceipt)) {
			continue
		}
		if !errors.Is(got[i], want[i]) || want[i] == nil && got[i] != nil {
			t.Fatalf("ack %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func (m *queueModel) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
}

func (m *queueModel) reopen(t *rapid.T) {
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Audit(m.dir); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.store, err = bolt.Open(m.dir, orders()); err != nil {
		t.Fatal(err)
	}
}

func (m *queueModel) check(t *rapid.T) {
	leased := uint64(0)
	for _, one := range m.live {
		if one.leasedTo.After(time.Now()) {
			leased++
		}
	}
	q := m.store.Stats()[0]
	if q.Messages != uint64(len(m.live)) {
		t.Fatalf("stats %+v, want %d messages", q, len(m.live))
	}
	peeked, err := m.store.Peek(context.Background(), "orders", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	seen := uint64(0)
	for i, p := range peeked {
		if i > 0 && peeked[i-1].Sequence >= p.Sequence {
			t.Fatalf("peek is out of order: %d, %d", peeked[i-1].Sequence, p.Sequence)
		}
		if p.Leased {
			seen++
		}
	}
	if len(peeked) != len(m.live) || seen != leased {
		t.Fatalf("peek shows %d, %d of them leased; want %d, %d", len(peeked), seen, len(m.live), leased)
	}
}

// TestQueueAgainstAModel drives a queue and a plain list through the same days.
func TestQueueAgainstAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A bubble has no deadline, and rapid asks a *testing.T for it.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			dir := t.TempDir()
			s, err := bolt.Open(dir, orders())
			if err != nil {
				rt.Fatal(err)
			}
			m := &queueModel{store: s, dir: dir, known: make(map[string]*modelMessage), next: 1}
			defer func() { m.store.Close() }()
			rt.Repeat(map[string]func(*rapid.T){
				"put": m.put, "lease": m.lease, "lease more": m.lease, "ack": m.ack, "sleep": m.sleep, "reopen": m.reopen, "": m.check,
			})
		})
	})
}

// acceptModel is a receiver as two maps: what was admitted, and the frontiers.
type acceptModel struct {
	store     *bolt.Store
	dir       string
	session   message.SessionID
	streams   []message.StreamID
	frontiers map[message.StreamID]uint64
	ids       map[string]string // body by id
	admitted  []string
}

func (m *acceptModel) begin(t *rapid.T) {
	m.session = message.NewSessionID()
	if _, err := m.store.BeginSession(context.Background(), "nyc", m.session); err != nil {
		t.Fatal(err)
	}
}

func (m *acceptModel) accept(t *rapid.T) {
	stream := rapid.SampledFrom(m.streams).Draw(t, "stream")
	n := rapid.IntRange(1, 6).Draw(t, "arrivals")
	a := spool.Arrivals{Peer: "nyc", Session: m.session, Queue: "orders", Stream: stream}
	number := uint64(rapid.IntRange(1, 30).Draw(t, "number"))
	for range n {
		var prev message.Place
		switch rapid.IntRange(0, 3).Draw(t, "prev") {
		case 0:
			prev = message.Place{Stream: stream, Number: number - uint64(rapid.IntRange(0, int(min(3, number))).Draw(t, "distance"))}
		case 1:
			prev = message.Place{Stream: rapid.SampledFrom(m.streams).Draw(t, "of"), Number: uint64(rapid.IntRange(1, 30).Draw(t, "at"))}
		}
		id := fmt.Sprint("id-", rapid.IntRange(0, 40).Draw(t, "id"))
		a.Messages = append(a.Messages, shipment(number, prev, id, rapid.SampledFrom([]string{"x", "x", "y"}).Draw(t, "body")))
		number += uint64(rapid.IntRange(0, 3).Draw(t, "step"))
	}
	decisions, err := m.store.Accept(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	for i, arrival := range a.Messages {
		want := m.decide(stream, arrival)
		if decisions[i].Verdict != want {
			t.Fatalf("arrival %d, number %d: %s, want %s", i, arrival.Number, decisions[i].Verdict, want)
		}
	}
}

// decide is the contract's order of rules over the maps.
func (m *acceptModel) decide(stream message.StreamID, a spool.Arrival) message.Verdict {
	body, known := m.ids[a.Message.ID]
	same := known && body == string(a.Message.Body)
	switch {
	case a.Number <= m.frontiers[stream] && same:
		return message.Duplicate
	case a.Number <= m.frontiers[stream] && known && m.placeOf(a.Message.ID) == (message.Place{Stream: stream, Number: a.Number}):
		return message.Refused // a fork
	case a.Number <= m.frontiers[stream]:
		return message.Below
	case a.Prev.Number > m.frontiers[a.Prev.Stream]:
		return message.Undecided
	case known && !same:
		return message.Refused
	}
	m.frontiers[stream] = a.Number
	if same {
		return message.Duplicate
	}
	m.ids[a.Message.ID] = string(a.Message.Body)
	m.admitted = append(m.admitted, fmt.Sprint(a.Message.ID, " ", stream, " ", a.Number))
	return message.Accepted
}

func (m *acceptModel) placeOf(id string) (p message.Place) {
	for _, line := range m.admitted {
		var got, stream string
		var n uint64
		fmt.Sscan(line, &got, &stream, &n)
		for _, s := range m.streams {
			if got == id && s.String() == stream {
				return message.Place{Stream: s, Number: n}
			}
		}
	}
	return p
}

func (m *acceptModel) reopen(t *rapid.T) {
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Audit(m.dir); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.store, err = bolt.Open(m.dir, orders()); err != nil {
		t.Fatal(err)
	}
	m.begin(t)
}

func (m *acceptModel) check(t *rapid.T) {
	peeked, err := m.store.Peek(context.Background(), "orders", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(peeked) != len(m.admitted) {
		t.Fatalf("%d messages, want %d", len(peeked), len(m.admitted))
	}
	for i, p := range peeked {
		var id string
		if fmt.Sscan(m.admitted[i], &id); id != p.ID {
			t.Fatalf("message %d is %s, want %s", i, p.ID, id)
		}
	}
	for stream, n := range m.frontiers {
		if got := m.store.Frontier(stream, "orders"); got != n {
			t.Fatalf("frontier of %s is %d, want %d", stream, got, n)
		}
	}
}

// TestAcceptAgainstAModel ships drawn numbers, predecessors and ids into a queue and into two maps.
func TestAcceptAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s, err := bolt.Open(dir, orders())
		if err != nil {
			rt.Fatal(err)
		}
		m := &acceptModel{
			store: s, dir: dir,
			streams:   []message.StreamID{{1}, {2}, {3}},
			frontiers: make(map[message.StreamID]uint64),
			ids:       make(map[string]string),
		}
		defer func() { m.store.Close() }()
		m.begin(rt)
		rt.Repeat(map[string]func(*rapid.T){"accept": m.accept, "accept more": m.accept, "reopen": m.reopen, "": m.check})
	})
}
