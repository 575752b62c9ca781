package bolt_test

import (
	"context"
	"fmt"
	"testing"

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
