package flow_test

import (
	"slices"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// far is a receiver as the contract has it: a frontier per stream, arrivals that wait for their prev in memory, messages that
// it refuses for a while, and times at which it is full.
type far struct {
	frontier map[message.StreamID]uint64
	admitted []uint64
	// waiting are the arrivals whose prev is not admitted; a session's end drops them.
	waiting map[uint64]arrival
	// refuses says until when a message is refused.
	refuses func(number uint64) time.Time
	full    bool
}

type arrival struct {
	flow.Shipment
	stream message.StreamID
}

// answer is what one frame brings about.
type answer struct {
	ended   []message.Place
	refused *message.Place
	full    bool
}

func (f *far) receive(now time.Time, b flow.Batch) (a answer) {
	for _, s := range b.Items {
		f.decide(now, arrival{s, b.Stream}, &a)
	}
	for len(f.waiting) > 0 { // what waited for one of these goes on, lowest first
		before := len(f.waiting)
		numbers := make([]uint64, 0, before)
		for n := range f.waiting {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		for _, n := range numbers {
			s := f.waiting[n]
			delete(f.waiting, n)
			f.decide(now, s, &a)
		}
		if len(f.waiting) == before || a.full || a.refused != nil {
			break
		}
	}
	return a
}

func (f *far) decide(now time.Time, s arrival, a *answer) {
	place := message.Place{Stream: s.stream, Number: s.Number}
	switch {
	case s.Number <= f.frontier[s.stream]:
		a.ended = append(a.ended, place) // duplicate
	case s.Prev.Number > f.frontier[s.Prev.Stream]:
		f.waiting[s.Number] = s
	case f.full:
		a.full = true
	case now.Before(f.refuses(s.Number)):
		a.refused = &place
	default:
		f.frontier[s.stream] = s.Number
		f.admitted = append(f.admitted, s.Number)
		a.ended = append(a.ended, place)
	}
}
