package spooltest

import (
	"slices"

	"drawbridge/message"
	"drawbridge/spool"
)

func arrivals() []testCase {
	return []testCase{
		{name: "a shipped message is accepted once", run: receives(func(r *receiver) {
			a, b := r.arrival(5, 0, "a", "x"), r.arrival(9, 5, "b", "y")
			r.requireFrontier(0)
			r.require([]spool.Arrival{a, b}, accepted, accepted)
			r.requireFrontier(9)
			r.require([]spool.Arrival{b, a}, duplicate, duplicate)
			r.requireLeased(9, "a", "b")
		})},
		{name: "what the source said of a message stays", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.requireOne(a, accepted)
			d := r.lease(1)[0]
			if d.Origin != "nyc-1" || !slices.Equal(d.Hops, a.Message.Hops) || !d.StoredAt.Equal(a.Message.StoredAt) || string(d.Body) != "x" {
				r.t.Errorf("leased: %+v", d)
			}
		})},
		{name: "deliveries are counted anew in each queue", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted) // it was delivered three times where it came from
			if d := r.lease(1)[0]; d.Deliveries != 1 {
				r.t.Errorf("deliveries %d", d.Deliveries)
			}
		})},
		{name: "a frame that repeats in one call is a duplicate", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.require([]spool.Arrival{a, a}, accepted, duplicate)
			r.requireMessages(1)
		})},
		{name: "a settled message is still a duplicate", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.requireOne(a, accepted)
			r.requireAcked(r.lease(1)...)
			r.requireOne(a, duplicate)
			r.requireMessages(0)
		})},
		{name: "a number that is known without a row is below", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(7, 0, "a", "x"), accepted)
			r.requireOne(r.arrival(3, 0, "b", "x"), below)
			r.requireFrontier(7)
			r.requireMessages(1)
		})},
		{name: "an arrival waits for its predecessor", run: receives(func(r *receiver) {
			a, b, c := r.arrival(1, 0, "a", "x"), r.arrival(2, 1, "b", "x"), r.arrival(3, 2, "c", "x")
			r.require([]spool.Arrival{c, b}, undecided, undecided)
			r.requireFrontier(0)
			r.requireMessages(0)
			r.require([]spool.Arrival{b, a, b, c}, undecided, accepted, accepted, accepted)
			r.requireLeased(9, "a", "b", "c")
		})},
		{name: "gaps mean nothing", run: receives(func(r *receiver) {
			r.require([]spool.Arrival{r.arrival(10, 0, "a", "x"), r.arrival(1000, 10, "b", "x"), r.arrival(2000, 500, "c", "x")}, accepted, accepted, accepted)
			r.requireFrontier(2000)
		})},
		{name: "a predecessor may be of another stream", run: receives(func(r *receiver) {
			old := message.NewStreamID()
			next := r.arrival(12, 0, "b", "x")
			next.Prev = message.Place{Stream: old, Number: 11}
			r.requireOne(next, undecided)
			a := r.arrivals(r.arrival(11, 0, "a", "x"))
			a.Stream = old
			r.requireOf(a, accepted)
			r.requireOne(next, accepted)
		})},
		{name: "a predecessor in another queue is none here", queues: map[string]spool.QueueOptions{"orders": {}, "refunds": {}}, run: receives(func(r *receiver) {
			a := r.arrivals(r.arrival(1, 0, "a", "x"))
			a.Queue = "refunds"
			r.requireOf(a, accepted)
			r.requireFrontier(0)
			r.requireOne(r.arrival(2, 1, "b", "x"), undecided)
		})},
		{name: "a known id under a new number moves the frontier", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.require([]spool.Arrival{r.arrival(2, 1, "a", "x"), r.arrival(3, 2, "b", "x")}, duplicate, accepted)
			r.requireFrontier(3)
			r.requireMessages(2)
		})},
		{name: "a known id in another stream is a duplicate", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.stream = message.NewStreamID()
			r.requireOne(r.arrival(1, 0, "a", "x"), duplicate)
			r.requireFrontier(1)
			r.requireMessages(1)
		})},
		{name: "a duplicate does not pass over a predecessor that is to come", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireOne(r.arrival(3, 2, "a", "x"), undecided)
			r.requireFrontier(1)
		})},
		{name: "another origin's id is another message", run: receives(func(r *receiver) {
			r.fill("a")
			r.requireOne(r.arrival(1, 0, "a", "a"), accepted)
			r.requireLeased(9, "a", "a")
		})},
		{name: "a higher generation is another message", run: receives(func(r *receiver) {
			again := r.arrival(2, 1, "a", "x")
			again.Message.Generation = 1
			r.require([]spool.Arrival{r.arrival(1, 0, "a", "x"), again}, accepted, accepted)
			if d := r.requireLeased(9, "a", "a"); d[1].Generation != 1 {
				r.t.Errorf("leased: %+v", d[1])
			}
		})},
		{name: "an arrival goes by its priority", run: receives(func(r *receiver) {
			urgent := r.arrival(2, 1, "b", "x")
			urgent.Message.Priority = 9
			r.require([]spool.Arrival{r.arrival(1, 0, "a", "x"), urgent}, accepted, accepted)
			r.requireLeased(9, "b", "a")
		})},
		{name: "no frontier is 0", run: receives(func(r *receiver) {
			r.requireFrontier(0)
			if n := r.Frontier(r.stream, "none"); n != 0 {
				r.t.Errorf("frontier of a queue that is not there: %d", n)
			}
		})},
		{name: "what was accepted is known over a restart", restarts: true, run: receives(func(r *receiver) {
			a, b, c := r.arrival(5, 0, "a", "x"), r.arrival(9, 5, "b", "y"), r.arrival(4, 0, "c", "x")
			r.require([]spool.Arrival{a, b}, accepted, accepted)
			r.requireAcked(r.lease(1)...)
			r.restart()
			r.begin()
			r.requireFrontier(9)
			r.require([]spool.Arrival{b, a, c}, duplicate, duplicate, below)
			r.requireLeased(9, "b")
			if q := r.stats("orders"); q.Accepted != 0 || q.Duplicates != 3 || q.Messages != 1 {
				r.t.Errorf("stats since the restart: %+v", q)
			}
		})},
	}
}
