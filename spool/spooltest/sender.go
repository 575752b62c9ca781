package spooltest

import (
	"context"

	"drawbridge/message"
	"drawbridge/spool"
)

// nyc and sfo are routes out of the queue orders.
var (
	nyc = spool.Route{Queue: "orders", Name: "nyc"}
	sfo = spool.Route{Queue: "orders", Name: "sfo"}
)

func (s *store) held(route spool.Route, after uint64, max int) []spool.Held {
	s.t.Helper()
	h, err := s.Held(context.Background(), route, lane, after, max)
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

func (s *store) requireHeld(route spool.Route, want ...uint64) {
	s.t.Helper()
	requireEqual(s.t, "route "+route.Name+" holds", numbersOf(s.held(route, 0, 1000)), want)
}

func numbersOf(held []spool.Held) (numbers []uint64) {
	for _, h := range held {
		numbers = append(numbers, h.Number)
	}
	return numbers
}

func (s *store) fetch(route spool.Route, numbers ...uint64) []spool.Record {
	s.t.Helper()
	records, err := s.Fetch(context.Background(), route, lane, numbers)
	if err != nil {
		s.t.Fatal(err)
	}
	return records
}

func (s *store) mark(route spool.Route, through uint64) {
	s.t.Helper()
	if err := s.Mark(context.Background(), route, lane, through); err != nil {
		s.t.Fatal(err)
	}
	if got := s.MarkOf(route, lane); got < through {
		s.t.Fatalf("marked %d, the mark is %d", through, got)
	}
}

func (s *store) settle(route spool.Route, ranges ...message.Range) {
	s.t.Helper()
	if err := s.SettleRoute(context.Background(), route, lane, ranges); err != nil {
		s.t.Fatal(err)
	}
}

// requireInDoubt compares how many messages are in doubt and how many there are.
func (s *store) requireInDoubt(inDoubt, messages uint64) {
	s.t.Helper()
	if q := s.stats("orders"); q.InDoubt != inDoubt || q.Messages != messages {
		s.t.Errorf("%d of %d messages in doubt, want %d of %d", q.InDoubt, q.Messages, inDoubt, messages)
	}
}
