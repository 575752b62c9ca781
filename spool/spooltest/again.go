package spooltest

import (
	"strings"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// again is about messages that may have been delivered in a life of the sender's spool that is lost.
func again() []testCase {
	aged := func(a spool.Arrival, age time.Duration) spool.Arrival {
		a.Again, a.Age = true, age
		return a
	}
	requireInDoubt := func(r *receiver, a spool.Arrival) {
		r.t.Helper()
		r.requireRefused(a, spool.ErrInDoubt)
	}
	return []testCase{
		{name: "a young one without a row is new", run: receives(func(r *receiver) {
			r.requireOne(aged(r.arrival(1, 0, "a", "x"), day-time.Millisecond), accepted)
			r.requireFrontier(1)
			r.requireLeased(9, "a")
		})},
		{name: "an old one without a row is in doubt and the frontier stays", run: receives(func(r *receiver) {
			requireInDoubt(r, aged(r.arrival(2, 0, "a", "x"), day))
			requireInDoubt(r, aged(r.arrival(2, 0, "a", "x"), 100*day))
			r.requireFrontier(0)
			r.requireMessages(0)
			r.requireOne(r.arrival(3, 2, "b", "x"), undecided)
			r.requireClosed(aged(r.closeOf(2, 0, "a", "x"), 100*day), message.ReasonTTL)
			r.requireOne(r.arrival(3, 2, "b", "x"), accepted)
		})},
		{name: "an old one whose row is here is a duplicate", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireOne(aged(r.arrival(2, 1, "a", "x"), 100*day), duplicate)
			r.requireFrontier(2)
			r.requireMessages(1)
		})},
		{name: "an old one with other content is a conflict", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireRefused(aged(r.arrival(2, 1, "a", "y"), 100*day), spool.ErrConflict)
		})},
		{name: "a number that is known is answered however old", run: receives(func(r *receiver) {
			a := r.arrival(5, 0, "a", "x")
			r.requireOne(a, accepted)
			r.requireOne(aged(a, 100*day), duplicate)
			r.requireOne(aged(r.arrival(3, 0, "b", "x"), 100*day), below)
		})},
		{name: "an old one waits for its predecessor before it is in doubt", run: receives(func(r *receiver) {
			r.requireOne(aged(r.arrival(2, 1, "a", "x"), 100*day), undecided)
		})},
		{name: "in doubt is said before what else speaks against a message", queues: map[string]spool.QueueOptions{"orders": {MaxMessageBytes: 8}}, run: receives(func(r *receiver) {
			requireInDoubt(r, aged(r.arrival(1, 0, "a", strings.Repeat("x", 9)), day))
			r.requireRefused(aged(r.arrival(1, 0, "a", strings.Repeat("x", 9)), 0), spool.ErrTooLarge)
		})},
		{name: "one is as old as the ledger does not reach back", run: receives(func(r *receiver) {
			r.shrinkReach()
			requireInDoubt(r, aged(r.arrival(1, 0, "a", "x"), 3*day))
			r.requireOne(aged(r.arrival(1, 0, "a", "x"), day), accepted)
		})},
		{name: "one that is not marked is new however old", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			a.Age = 100 * day
			r.requireOne(a, accepted)
		})},
	}
}
