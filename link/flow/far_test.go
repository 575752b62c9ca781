package flow_test

import (
	"maps"
	"slices"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// far is a receiver as the contract has it: a frontier per stream, a ledger that forgets, the numbers that were closed,
// arrivals that wait for their prev in memory, messages that it refuses, and times at which it is full.
type far struct {
	frontier map[message.StreamID]uint64
	admitted []uint64
	// ledger holds what was admitted or came over another way, as far as it is remembered; closed is why a number was closed.
	ledger map[uint64]bool
	closed map[uint64]message.Reason
	// decided are the numbers in the order in which the frontier passed them.
	decided []uint64
	// waiting are the arrivals whose prev is not decided; a session's end drops them.
	waiting map[uint64]arrival
	full    bool
}

// ledgerRows is how many of the admitted messages the ledger remembers.
const ledgerRows = 300

// faulty messages are refused for their own fault, whenever they come; elsewhere are those that came another way before.
func faulty(number uint64) bool    { return number%601 == 0 }
func elsewhere(number uint64) bool { return number%997 == 0 }

type arrival struct {
	flow.Shipment
	stream  message.StreamID
	closing bool
}

// answer is what one frame brings about.
type answer struct {
	ended   []ending
	refused []message.Place
	full    bool
}

// ending is the verdict that a message has ended, as closed or not.
type ending struct {
	message.Place
	verdict message.Verdict
	reason  message.Reason
}

func (f *far) receive(b flow.Batch) (a answer) {
	for _, s := range b.Items {
		f.decide(arrival{s, b.Stream, b.Closing}, &a)
	}
	for len(f.waiting) > 0 { // what waited for one of these goes on, lowest first
		before := len(f.waiting)
		for _, n := range slices.Sorted(maps.Keys(f.waiting)) {
			s := f.waiting[n]
			delete(f.waiting, n)
			f.decide(s, &a)
		}
		if len(f.waiting) == before || a.full {
			break
		}
	}
	return a
}

func (f *far) decide(s arrival, a *answer) {
	e := ending{Place: message.Place{Stream: s.stream, Number: s.Number}}
	known := f.ledger[s.Number] || elsewhere(s.Number)
	switch {
	case s.Number <= f.frontier[s.stream]:
		e.verdict, e.reason = f.again(s.Number)
	case s.Prev.Number > f.frontier[s.Prev.Stream]:
		f.waiting[s.Number] = s
		return
	case known:
		f.pass(e.Place)
		e.verdict = message.Duplicate
	case s.closing:
		f.pass(e.Place)
		f.closed[s.Number] = s.Cause
		e.verdict, e.reason = message.Closed, s.Cause
	case f.full:
		a.full = true
		return
	case faulty(s.Number):
		a.refused = append(a.refused, e.Place)
		return
	default:
		f.pass(e.Place)
		f.admit(s.Number)
		e.verdict = message.Accepted
	}
	a.ended = append(a.ended, e)
}

// again is the verdict on a number at or below the frontier.
func (f *far) again(number uint64) (message.Verdict, message.Reason) {
	reason, closed := f.closed[number]
	switch {
	case f.ledger[number]:
		return message.Duplicate, ""
	case closed:
		return message.Closed, reason
	}
	return message.Below, ""
}

func (f *far) pass(p message.Place) {
	f.frontier[p.Stream] = p.Number
	f.decided = append(f.decided, p.Number)
}

func (f *far) admit(number uint64) {
	f.admitted = append(f.admitted, number)
	f.ledger[number] = true
	if n := len(f.admitted) - ledgerRows; n > 0 {
		delete(f.ledger, f.admitted[n-1])
	}
}
