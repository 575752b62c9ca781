package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

var nyc = spool.Route{Queue: "orders", Name: "nyc"}

const lane = uint8(message.DefaultPriority)

// routed are options of a store whose queue leaves by a route.
func routed(route string) bolt.Options {
	return bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"orders": {Route: route}}}
}

func (s *opened) held(route spool.Route, after uint64, max int) []spool.Held {
	s.t.Helper()
	h, err := s.Held(context.Background(), route, lane, after, max)
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

func (s *opened) mark(route spool.Route, through uint64) {
	s.t.Helper()
	if err := s.Mark(context.Background(), route, lane, through); err != nil {
		s.t.Fatal(err)
	}
	if got := s.MarkOf(route, lane); got < through {
		s.t.Fatalf("marked %d, the mark is %d", through, got)
	}
}

func (s *opened) settle(route spool.Route, ranges ...message.Range) {
	s.t.Helper()
	if err := s.SettleRoute(context.Background(), route, lane, ranges); err != nil {
		s.t.Fatal(err)
	}
}

func numbersOf(held []spool.Held) (numbers []uint64) {
	for _, h := range held {
		numbers = append(numbers, h.Number)
	}
	return numbers
}

func TestRouteHoldsShipsAndSettles(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.store("orders", idsFrom(1, 5)...)
	s.store("orders", idsFrom(6, 8)...)
	requireEqual(t, "lanes", s.Lanes(nyc), []uint8{lane})
	held := s.held(nyc, 0, 100)
	requireEqual(t, "held", numbersOf(held), []uint64{1, 2, 3, 4, 5, 6, 7, 8})
	requireEqual(t, "held after 3", numbersOf(s.held(nyc, 3, 3)), []uint64{4, 5, 6})

	s.mark(nyc, 6)
	if q := s.stats("orders"); q.InDoubt != 6 || q.Messages != 8 || q.Route != "nyc" {
		t.Errorf("stats: %+v", q)
	}
	records, err := s.Fetch(context.Background(), nyc, lane, []uint64{2, 3, 7, 99})
	if err != nil || len(records) != 3 {
		t.Fatalf("fetched %d, %v", len(records), err)
	}
	for i, want := range []string{"id-00002", "id-00003", "id-00007"} {
		m, err := message.ParseRecord(records[i].Bytes)
		if err != nil || m.ID != want || string(m.Body) != want || records[i].Stream != held[0].Stream {
			t.Errorf("record %d: %+v, %v", i, m, err)
		}
		if h := held[records[i].Number-1]; h.Bytes != len(records[i].Bytes) {
			t.Errorf("held said %d bytes, there are %d", h.Bytes, len(records[i].Bytes))
		}
	}

	s.settle(nyc, message.Range{First: 2, Last: 3}, message.Range{First: 6, Last: 6}, message.Range{First: 3, Last: 3})
	requireEqual(t, "held", numbersOf(s.held(nyc, 0, 100)), []uint64{1, 4, 5, 7, 8})
	s = s.reopen()
	requireEqual(t, "held", numbersOf(s.held(nyc, 0, 100)), []uint64{1, 4, 5, 7, 8})
	if q := s.stats("orders"); q.InDoubt != 3 || q.Messages != 5 {
		t.Errorf("stats: %+v", q)
	}
	if records, _ := s.Fetch(context.Background(), nyc, lane, []uint64{3, 4}); len(records) != 1 || records[0].Number != 4 {
		t.Errorf("fetched what is settled: %+v", records)
	}
	s.mark(nyc, 8)
	s.settle(nyc, message.Range{First: 1, Last: 1 << 40})
	if q := s.stats("orders"); q.Messages != 0 || q.Bytes != 0 || q.InDoubt != 0 || q.Settled != 5 {
		t.Errorf("stats: %+v", q)
	}
	if l := s.Lanes(nyc); len(l) != 0 {
		t.Errorf("lanes: %v", l)
	}
}

func TestAnswerAboveTheMarkSettlesNothing(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.store("orders", idsFrom(1, 4)...)
	s.settle(nyc, message.Range{First: 1, Last: 4})
	s.mark(nyc, 2)
	s.settle(nyc, message.Range{First: 1, Last: 4})
	requireEqual(t, "held", numbersOf(s.held(nyc, 0, 9)), []uint64{3, 4})
}

func TestMarkNeverSinks(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.mark(nyc, 1000) // ahead of what is stored
	s.mark(nyc, 10)
	s.store("orders", "a")
	if q := s.stats("orders"); q.InDoubt != 1 {
		t.Errorf("stats: %+v", q)
	}
	s = s.reopen()
	if got := s.MarkOf(nyc, lane); got != 1000 {
		t.Errorf("mark %d", got)
	}
	if got := s.MarkOf(spool.Route{Queue: "other", Name: "nyc"}, lane); got != 0 {
		t.Errorf("mark of an unknown queue %d", got)
	}
}

func TestStreamsBelongToEpochs(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.store("orders", "a", "b")
	s = s.reopen()
	s.store("orders", "c")
	s.put(spool.Put{Queue: "orders", ID: "urgent", Priority: 9})
	held := s.held(nyc, 0, 9)
	requireEqual(t, "held", numbersOf(held), []uint64{1, 2, 3})
	if held[0].Stream != held[1].Stream || held[1].Stream == held[2].Stream {
		t.Errorf("streams: %+v", held)
	}
	urgent, err := s.Held(context.Background(), nyc, 9, 0, 9)
	if err != nil || len(urgent) != 1 || urgent[0].Stream == held[2].Stream {
		t.Errorf("urgent: %+v, %v", urgent, err)
	}
	requireEqual(t, "lanes", s.Lanes(nyc), []uint8{9, lane})
	// An opening that has nothing of an epoch left does without its stream; the others stay what they were.
	s.mark(nyc, 2)
	s.settle(nyc, message.Range{First: 1, Last: 2})
	s = s.reopen()
	if again := s.held(nyc, 0, 9); len(again) != 1 || again[0] != held[2] {
		t.Errorf("held %+v, want %+v", again, held[2])
	}
}

func TestRoutedQueueGivesNoLeases(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.store("orders", "a")
	if _, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "orders"}); !errors.Is(err, spool.ErrRouted) {
		t.Errorf("got %v", err)
	}
	s.mark(nyc, 1)
	if p := s.peek("orders", 0, 9); len(p) != 1 || !p[0].InDoubt || p[0].Leased {
		t.Errorf("peek: %+v", p)
	}
}

func TestQueueThatLostItsRouteKeepsWhatIsInDoubt(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.store("orders", idsFrom(1, 4)...)
	s.mark(nyc, 2)
	s.close()
	local := open(t, s.dir, orders())
	requireEqual(t, "leased", idsOf(local.lease(9)), []string{"id-00003", "id-00004"})
	if q := local.stats("orders"); q.InDoubt != 2 {
		t.Errorf("stats: %+v", q)
	}
	requireEqual(t, "held", numbersOf(local.held(nyc, 0, 9)), []uint64{1, 2})
	local.settle(nyc, message.Range{First: 1, Last: 4})
	if q := local.stats("orders"); q.Messages != 2 || q.InDoubt != 0 {
		t.Errorf("stats: %+v", q)
	}
}

func TestQueueThatGotARouteShipsWhatIsLeased(t *testing.T) {
	s := openTemp(t, orders())
	s.store("orders", idsFrom(1, 3)...)
	d := s.lease(2)
	s.close()
	r := open(t, s.dir, routed("nyc"))
	requireEqual(t, "held", numbersOf(r.held(nyc, 0, 9)), []uint64{1, 2, 3})
	r.requireAcked(d[:1])
	r.mark(nyc, 3)
	if err := r.ack(d[1].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
		t.Errorf("ack of what was shipped: %v", err)
	}
	requireEqual(t, "held", numbersOf(r.held(nyc, 0, 9)), []uint64{2, 3})
}

func TestMessageFinishesUnderTheRouteItWasShippedOn(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	s.store("orders", idsFrom(1, 6)...)
	s.mark(nyc, 2)
	s.close()
	sfo := spool.Route{Queue: "orders", Name: "sfo"}
	s = open(t, s.dir, routed("sfo"))
	requireEqual(t, "sfo holds", numbersOf(s.held(sfo, 0, 9)), []uint64{3, 4, 5, 6})
	requireEqual(t, "nyc holds", numbersOf(s.held(nyc, 0, 9)), []uint64{1, 2})
	s.mark(sfo, 4)
	s.settle(sfo, message.Range{First: 1, Last: 3})
	s.close()
	s = open(t, s.dir, routed("nyc"))
	requireEqual(t, "nyc holds", numbersOf(s.held(nyc, 0, 9)), []uint64{1, 2, 5, 6})
	s.mark(nyc, 6)
	requireEqual(t, "sfo holds", numbersOf(s.held(sfo, 0, 9)), []uint64{4})
	s.settle(nyc, message.Range{First: 1, Last: 6})
	requireEqual(t, "nyc holds", numbersOf(s.held(nyc, 0, 9)), nil)
	if q := s.stats("orders"); q.Messages != 1 || q.InDoubt != 1 {
		t.Errorf("stats: %+v", q)
	}
}

func TestSettlingRunsOverManyGroups(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	for i := range 300 {
		s.store("orders", fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c"))
	}
	s.mark(nyc, 900)
	before := s.Commits()
	s.settle(nyc, message.Range{First: 2, Last: 899})
	if n := s.Commits() - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	requireEqual(t, "held", numbersOf(s.held(nyc, 0, 9)), []uint64{1, 900})
	if q := s.stats("orders"); q.Messages != 2 || q.Settled != 898 || q.InDoubt != 2 {
		t.Errorf("stats: %+v", q)
	}
	s = s.reopen()
	requireEqual(t, "held", numbersOf(s.held(nyc, 0, 9)), []uint64{1, 900})
}

func TestAgesAreInSpoolTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t, routed("nyc"))
		s.store("orders", "a")
		time.Sleep(time.Hour)
		s.store("orders", "b")
		records, err := s.Fetch(context.Background(), nyc, lane, []uint64{1, 2})
		if err != nil || records[0].Age != time.Hour || records[1].Age != 0 {
			t.Errorf("ages %v, %v, %v", records[0].Age, records[1].Age, err)
		}
		if age := s.stats("orders").OldestAge; age != time.Hour {
			t.Errorf("oldest %s", age)
		}
		s.mark(nyc, 2)
		s.settle(nyc, message.Range{First: 1, Last: 1})
		if age := s.stats("orders").OldestAge; age != 0 {
			t.Errorf("oldest %s after it was settled", age)
		}
		s.close()
	})
}

func TestRouteOfAnUnknownQueue(t *testing.T) {
	s := openTemp(t, routed("nyc"))
	ctx, none := context.Background(), spool.Route{Queue: "none", Name: "nyc"}
	_, held := s.Held(ctx, none, lane, 0, 9)
	_, fetched := s.Fetch(ctx, none, lane, []uint64{1})
	for i, err := range []error{held, fetched, s.Mark(ctx, none, lane, 1), s.SettleRoute(ctx, none, lane, nil)} {
		if !errors.Is(err, spool.ErrNoQueue) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}
