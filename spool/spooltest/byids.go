package spooltest

import (
	"context"
	"strings"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// byIDs is about queues that the same message can reach over two routes.
func byIDs() []testCase {
	by := map[string]spool.QueueOptions{"orders": {ByIDs: true}, "refunds": {}}
	aged := func(a spool.Arrival, age time.Duration) spool.Arrival {
		a.Age = age
		return a
	}
	promise := func(r *receiver, window time.Duration) {
		r.t.Helper()
		if err := r.Remember(context.Background(), "nyc", "orders", window); err != nil {
			r.t.Fatal(err)
		}
	}
	// between stores a message elsewhere, so that what is past its window is forgotten.
	between := func(r *receiver) {
		r.t.Helper()
		r.requirePut(spool.Put{Queue: "refunds", Body: []byte("x")}, spool.Stored)
	}
	return []testCase{
		{name: "a message that comes over two routes is admitted once", queues: by, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.stream = message.NewStreamID()
			r.requireOne(r.arrival(8, 0, "a", "x"), duplicate)
			r.requireFrontier(8)
			r.requireMessages(1)
		})},
		{name: "what is older than the ledger reaches back is refused and the frontier stays", queues: by, run: receives(func(r *receiver) {
			r.requireRefused(aged(r.arrival(1, 0, "a", "x"), day), spool.ErrTooOld)
			r.requireFrontier(0)
			r.requireMessages(0)
			r.requireOne(r.arrival(2, 1, "b", "x"), undecided)
			r.requireOne(aged(r.arrival(1, 0, "a", "x"), day-time.Millisecond), accepted)
			r.requireOne(r.arrival(2, 1, "b", "x"), accepted)
		})},
		{name: "a duplicate is a duplicate however old", queues: by, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireOne(aged(r.arrival(2, 1, "a", "x"), 100*day), duplicate)
			r.requireOne(aged(r.arrival(1, 0, "a", "x"), 100*day), duplicate)
		})},
		{name: "a number that is known is answered however old", queues: by, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(5, 0, "a", "x"), accepted)
			r.requireOne(aged(r.arrival(3, 0, "b", "x"), 100*day), below)
		})},
		{name: "one that is marked as sent again is in doubt rather than too old", queues: by, run: receives(func(r *receiver) {
			a := aged(r.arrival(1, 0, "a", "x"), day)
			a.Again = true
			r.requireRefused(a, spool.ErrInDoubt)
		})},
		{name: "too old is said before what else speaks against a message", queues: map[string]spool.QueueOptions{"orders": {ByIDs: true, MaxMessageBytes: 8}}, run: receives(func(r *receiver) {
			r.requireRefused(aged(r.arrival(1, 0, "a", strings.Repeat("x", 9)), day), spool.ErrTooOld)
		})},
		{name: "an old message may be closed", queues: by, run: receives(func(r *receiver) {
			c := aged(r.closeOf(1, 0, "a", "x"), 100*day)
			if d := r.require([]spool.Arrival{c}, isClosed)[0]; d.Young || d.Reason != message.ReasonTTL {
				r.t.Errorf("closed: %+v", d)
			}
			r.requireFrontier(1)
		})},
		{name: "what a peer may retry is promised and not forgotten before", queues: by, run: receives(func(r *receiver) {
			promise(r, 3*day)
			r.requireOne(aged(r.arrival(1, 0, "a", "x"), 3*day-time.Millisecond), accepted)
			r.requireAcked(r.lease(1)...)
			r.pass(2 * day)
			between(r)
			r.requireOne(aged(r.arrival(2, 1, "a", "x"), 2*day), duplicate)
			r.pass(2 * day)
			between(r)
			r.requireOne(aged(r.arrival(3, 2, "a", "x"), 4*day), refused)
			r.requireOne(r.arrival(3, 2, "a", "x"), accepted)
		})},
		{name: "a promise that grows reaches back only as far as nothing was forgotten", queues: by, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireAcked(r.lease(1)...)
			r.pass(2 * day)
			between(r)
			promise(r, 5*day)
			r.requireRefused(aged(r.arrival(2, 1, "a", "x"), 2*day), spool.ErrTooOld)
			r.requireOne(aged(r.arrival(2, 1, "b", "x"), 2*day-time.Minute), accepted)
		})},
		{name: "a promise of one queue binds no other", queues: by, run: receives(func(r *receiver) {
			promise(r, 3*day)
			if l := r.LedgerStats(); l.Window != day {
				r.t.Errorf("window %s", l.Window)
			}
			r.requirePut(spool.Put{Queue: "refunds", ID: "a"}, spool.Stored)
			d := r.request(spool.LeaseRequest{Queue: "refunds"})
			r.requireAcked(d...)
			r.pass(2 * day)
			between(r)
			r.requirePut(spool.Put{Queue: "refunds", ID: "a"}, spool.Stored)
		})},
		{name: "ids that arrived are counted as promised", queues: by, run: receives(func(r *receiver) {
			r.fill("a")
			r.require([]spool.Arrival{r.arrival(1, 0, "b", "x"), r.arrival(2, 1, "c", "x"), r.arrival(3, 2, "b", "x")}, accepted, accepted, duplicate)
			if l := r.LedgerStats(); l.IDs != 3 || l.PromisedIDs != 2 {
				r.t.Errorf("ledger: %+v", l)
			}
			r.requireAcked(r.lease(9)...)
			r.pass(day + time.Hour)
			between(r)
			if l := r.LedgerStats(); l.IDs != 1 || l.PromisedIDs != 0 || l.ForgottenEarly != 0 {
				r.t.Errorf("ledger a day later: %+v", l)
			}
		})},
		{name: "an id that is promised is known while its message is here", queues: by, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			for n := uint64(2); n <= 4; n++ {
				r.pass(day + time.Hour)
				between(r)
				r.requireOne(aged(r.arrival(n, n-1, "a", "x"), 5*day), duplicate)
			}
			r.requireMessages(1)
		})},
		{name: "what is promised is kept over a restart", queues: by, restarts: true, run: receives(func(r *receiver) {
			promise(r, 3*day)
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireAcked(r.lease(1)...)
			r.pass(2 * day)
			r.restart()
			r.begin()
			between(r)
			if l := r.LedgerStats(); l.PromisedIDs != 1 {
				r.t.Errorf("ledger: %+v", l)
			}
			r.requireOne(aged(r.arrival(2, 1, "a", "x"), 2*day), duplicate)
		})},
		{name: "a queue that goes by ids from now on reaches back as far as it was remembered until now", restarts: true, run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireAcked(r.lease(1)...)
			r.pass(2 * day)
			r.fill("between") // a is forgotten
			r.restartWith(by)
			r.begin()
			promise(r, 5*day)
			r.requireRefused(aged(r.arrival(2, 1, "a", "x"), 2*day), spool.ErrTooOld)
			r.requireOne(aged(r.arrival(2, 1, "b", "x"), 2*day-time.Minute), accepted)
		})},
	}
}
