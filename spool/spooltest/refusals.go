package spooltest

import (
	"errors"
	"strings"

	"drawbridge/message"
	"drawbridge/spool"
)

func refusals() []testCase {
	small := map[string]spool.QueueOptions{"orders": {MaxMessageBytes: 8}}
	// requireRefused ships what is refused, and a message behind it that must wait.
	requireRefused := func(r *receiver, a spool.Arrival, want error) {
		r.t.Helper()
		d := r.require([]spool.Arrival{a, r.arrival(3, 2, "z", "x")}, refused, undecided)
		requireIs(r.t, "refusal", d[0].Refusal, want)
		r.requireFrontier(1)
		r.requireMessages(1)
	}
	// second is a number 2 that is refused after a number 1 that was accepted.
	second := func(change func(a *spool.Arrival), want error) func(s *store) {
		return receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			a := r.arrival(2, 1, "b", "x")
			change(&a)
			requireRefused(r, a, want)
			r.require([]spool.Arrival{r.arrival(2, 1, "c", "x"), r.arrival(3, 2, "z", "x")}, accepted, accepted)
		})
	}
	// unreadable is an arrival of which nothing but its number is known.
	rotten := errors.New("rotten")
	unreadable := func(r *receiver, number, prev uint64) spool.Arrival {
		a := r.arrival(number, prev, "a", "x")
		a.Message, a.Unreadable = message.Message{}, rotten
		return a
	}
	return []testCase{
		{name: "a record that cannot be read is refused for that if its number is new", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			requireRefused(r, unreadable(r, 2, 1), rotten)
			r.requireOne(unreadable(r, 3, 2), undecided)
			r.require([]spool.Arrival{r.arrival(2, 1, "b", "x"), r.arrival(3, 2, "z", "x")}, accepted, accepted)
		})},
		{name: "a record that cannot be read is answered by its number if that is known", run: receives(func(r *receiver) {
			r.require([]spool.Arrival{r.arrival(2, 0, "a", "x"), r.closeOf(3, 2, "b", "x")}, accepted, isClosed)
			r.require([]spool.Arrival{unreadable(r, 1, 0), unreadable(r, 2, 0)}, below, below)
			r.requireClosed(unreadable(r, 3, 2), message.ReasonTTL)
			r.requireFrontier(3)
		})},
		{name: "an id with other content is a conflict and the frontier stays", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			requireRefused(r, r.arrival(2, 1, "a", "other"), spool.ErrConflict)
		})},
		{name: "a number that came before with other content is a fork", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			d := r.require([]spool.Arrival{r.arrival(1, 0, "a", "other")}, refused)
			requireIs(r.t, "refusal", d[0].Refusal, spool.ErrFork)
		})},
		{name: "an arrival above the limit is too large", queues: small, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			requireRefused(r, r.arrival(2, 1, "b", "123456789"), spool.ErrTooLarge)
		})},
		{name: "an arrival that has left this agent goes in a loop", run: second(func(a *spool.Arrival) {
			a.Message.Hops = []string{"nyc-1", "fra-1"}
		}, spool.ErrLoop)},
		{name: "an arrival that was stored here first goes in a loop", run: second(func(a *spool.Arrival) {
			a.Message.Origin = "fra-1"
		}, spool.ErrLoop)},
		{name: "an arrival that has left too many agents goes in a loop", run: second(func(a *spool.Arrival) {
			a.Message.Hops = strings.Split(strings.Repeat("x ", 16)+"x", " ")
		}, spool.ErrLoop)},
		{name: "an arrival that breaks a limit of names is malformed", run: second(func(a *spool.Arrival) {
			a.Message.ID = "f g"
		}, spool.ErrMalformed)},
		{name: "an arrival with a priority that does not exist is malformed", run: second(func(a *spool.Arrival) {
			a.Message.Priority = 10
		}, spool.ErrMalformed)},
		{name: "arrivals for a queue that is not configured are refused", run: receives(func(r *receiver) {
			a := r.arrivals(r.arrival(1, 0, "a", "x"), r.arrival(2, 1, "b", "x"))
			a.Queue = "none"
			for _, d := range r.requireOf(a, refused, refused) {
				requireIs(r.t, "refusal", d.Refusal, spool.ErrNoQueue)
			}
		})},
		{name: "what is known is answered although it would be refused now", restarts: true, run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "123456789")
			r.requireOne(a, accepted)
			r.restartWith(small)
			r.begin()
			r.requireOne(a, duplicate)
		})},
	}
}
