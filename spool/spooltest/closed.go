package spooltest

import (
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func closed() []testCase {
	two := map[string]spool.QueueOptions{"orders": {}, "refunds": {}}
	return []testCase{
		{name: "a number that is closed is passed, and nothing is stored", run: receives(func(r *receiver) {
			r.requireClosed(r.closeOf(5, 0, "a", "x"), message.ReasonTTL)
			r.requireFrontier(5)
			r.requireMessages(0)
			if q := r.stats("orders"); q.Accepted != 0 || q.Duplicates != 0 {
				r.t.Errorf("stats: %+v", q)
			}
			if l := r.LedgerStats(); l.IDs != 0 {
				r.t.Errorf("%d ids are remembered", l.IDs)
			}
		})},
		{name: "what was accepted is not closed", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.requireOne(a, accepted)
			r.requireOne(r.closeOf(1, 0, "a", "x"), duplicate)
			r.requireOne(a, duplicate)
			r.requireAcked(r.requireLeased(9, "a")...)
			r.requireOne(r.closeOf(1, 0, "a", "x"), duplicate)
		})},
		{name: "a number that is known without a row is below when it is closed", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(7, 0, "a", "x"), accepted)
			r.requireOne(r.closeOf(3, 0, "b", "x"), below)
			r.requireOne(r.arrival(3, 0, "b", "x"), below)
			r.requireFrontier(7)
		})},
		{name: "the first reason stays", run: receives(func(r *receiver) {
			r.requireClosed(r.closeOf(1, 0, "a", "x"), message.ReasonTTL)
			again := r.closeOf(1, 0, "a", "x")
			again.Close.Reason = message.ReasonRejected
			r.requireClosed(again, message.ReasonTTL)
			r.requireFrontier(1)
		})},
		{name: "a message that was closed is not taken", run: receives(func(r *receiver) {
			c := r.closeOf(1, 0, "a", "x")
			c.Close.Reason = message.ReasonHorizonPassed
			r.requireClosed(c, message.ReasonHorizonPassed)
			r.requireClosed(r.arrival(1, 0, "a", "x"), message.ReasonHorizonPassed)
			r.requireMessages(0)
		})},
		{name: "a Close waits for its predecessor", run: receives(func(r *receiver) {
			a, b := r.arrival(1, 0, "a", "x"), r.closeOf(2, 1, "b", "x")
			r.requireOne(b, undecided)
			r.requireFrontier(0)
			r.require([]spool.Arrival{b, a, b}, undecided, accepted, isClosed)
			r.requireFrontier(2)
		})},
		{name: "what waited for a message that was closed goes on", run: receives(func(r *receiver) {
			b, c := r.arrival(2, 1, "b", "x"), r.closeOf(3, 2, "c", "x")
			r.require([]spool.Arrival{b, c}, undecided, undecided)
			r.require([]spool.Arrival{r.closeOf(1, 0, "a", "x"), b, c}, isClosed, accepted, isClosed)
			r.requireLeased(9, "b")
		})},
		{name: "a Close sees what stands before it in its call", run: receives(func(r *receiver) {
			a, b := r.arrival(1, 0, "a", "x"), r.arrival(2, 1, "b", "x")
			r.require([]spool.Arrival{a, r.closeOf(1, 0, "a", "x"), r.closeOf(2, 1, "b", "x"), b}, accepted, duplicate, isClosed, isClosed)
			r.requireLeased(9, "a")
		})},
		{name: "a message that came under another number is not closed", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireOne(r.closeOf(4, 1, "a", "x"), duplicate)
			r.requireFrontier(4)
			r.stream = message.NewStreamID()
			r.requireOne(r.closeOf(4, 0, "a", "x"), duplicate)
			r.requireFrontier(4)
			r.requireMessages(1)
		})},
		{name: "an id with other content hinders no Close", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			r.requireOne(r.arrival(2, 1, "a", "y"), refused)
			c := r.closeOf(2, 1, "a", "y")
			c.Close.Reason = message.ReasonIDConflict
			r.requireClosed(c, message.ReasonIDConflict)
			r.requireFrontier(2)
			r.requireOne(r.arrival(3, 2, "a", "x"), duplicate)
		})},
		{name: "a refusal hinders no Close", queues: map[string]spool.QueueOptions{"orders": {MaxMessageBytes: 8}}, run: receives(func(r *receiver) {
			big, next := r.arrival(1, 0, "a", "123456789"), r.arrival(2, 1, "b", "x")
			r.require([]spool.Arrival{big, next}, refused, undecided)
			r.require([]spool.Arrival{r.closeOf(1, 0, "a", "123456789"), next}, isClosed, accepted)
		})},
		{name: "a message that was closed may come under another number", run: receives(func(r *receiver) {
			r.requireClosed(r.closeOf(1, 0, "a", "x"), message.ReasonTTL)
			r.requireOne(r.arrival(2, 1, "a", "x"), accepted)
			r.requireOne(r.closeOf(1, 0, "a", "x"), duplicate)
			r.requireOne(r.arrival(1, 0, "a", "x"), duplicate)
			r.requireMessages(1)
		})},
		{name: "a Close of another message's number is a fork", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			d := r.require([]spool.Arrival{r.closeOf(1, 0, "a", "y")}, refused)
			requireIs(r.t, "refusal", d[0].Refusal, spool.ErrFork)
		})},
		{name: "whether a message is young is told with closed and below", run: receives(func(r *receiver) {
			r.requireOne(r.arrival(9, 0, "z", "x"), accepted)
			r.requireClosed(r.closeOf(10, 9, "a", "x"), message.ReasonTTL)
			for _, c := range []struct {
				age   time.Duration
				young bool
			}{{0, true}, {day - time.Millisecond, true}, {day, false}, {100 * day, false}} {
				number := r.Frontier(r.stream, "orders") + 1
				for _, a := range []spool.Arrival{
					r.closeOf(number, 0, "fresh", "x"), r.closeOf(10, 9, "a", "x"), r.arrival(10, 9, "a", "x"),
					r.closeOf(3, 0, "b", "x"), r.arrival(3, 0, "b", "x"),
				} {
					a.Age = c.age
					if d := r.accept(r.arrivals(a))[0]; d.Young != c.young || d.Verdict != isClosed && d.Verdict != below {
						r.t.Errorf("number %d of age %s: %+v", a.Number, c.age, d)
					}
				}
			}
		})},
		{name: "young is what the ledger reaches back, whatever its window", run: receives(func(r *receiver) {
			r.shrinkReach()
			for age, young := range map[time.Duration]bool{day: true, 3 * day: false} {
				c := r.closeOf(r.Frontier(r.stream, "orders")+1, 0, "a", "x")
				c.Age = age
				if d := r.accept(r.arrivals(c))[0]; d.Verdict != isClosed || d.Young != young {
					r.t.Errorf("of age %s: %+v", age, d)
				}
			}
		})},
		{name: "a Close is of one stream and queue", queues: two, run: receives(func(r *receiver) {
			r.requireClosed(r.closeOf(1, 0, "a", "x"), message.ReasonTTL)
			a := r.arrivals(r.arrival(1, 0, "a", "x"))
			a.Queue = "refunds"
			r.requireOf(a, accepted)
			r.stream = message.NewStreamID()
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
		})},
		{name: "a Close for a queue that is not configured is refused", run: receives(func(r *receiver) {
			for _, queue := range []string{"none", "orders.dead"} {
				a := r.arrivals(r.closeOf(1, 0, "a", "x"), r.arrival(2, 0, "b", "x"))
				a.Queue = queue
				for _, d := range r.requireOf(a, refused, refused) {
					requireIs(r.t, "refusal", d.Refusal, spool.ErrNoQueue)
				}
			}
		})},
		{name: "a Close of a session that has ended closes nothing", run: receives(func(r *receiver) {
			ended := r.arrivals(r.closeOf(1, 0, "a", "x"))
			r.begin()
			_, err := r.Accept(r.t.Context(), ended)
			requireIs(r.t, "accept", err, spool.ErrSessionEnded)
			r.requireFrontier(0)
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
		})},
		{name: "closed numbers are known over a restart", restarts: true, run: receives(func(r *receiver) {
			r.require([]spool.Arrival{r.closeOf(1, 0, "a", "x"), r.arrival(2, 1, "b", "x")}, isClosed, accepted)
			c := r.closeOf(3, 2, "c", "x")
			c.Close.Reason = message.ReasonRejected
			r.requireClosed(c, message.ReasonRejected)
			r.restart()
			r.begin()
			r.requireFrontier(3)
			r.requireClosed(r.arrival(1, 0, "a", "x"), message.ReasonTTL)
			r.requireClosed(r.closeOf(3, 2, "c", "x"), message.ReasonRejected)
		})},
	}
}

func floors() []testCase {
	two := map[string]spool.QueueOptions{"orders": {}, "refunds": {}}
	return []testCase{
		{name: "below the floor a closed number is below", run: receives(func(r *receiver) {
			for n := uint64(1); n <= 4; n++ {
				r.requireClosed(r.closeOf(n, n-1, "a", "x"), message.ReasonTTL)
			}
			r.floor("orders", 3)
			for n := uint64(1); n <= 2; n++ {
				r.requireOne(r.closeOf(n, 0, "a", "x"), below)
				r.requireOne(r.arrival(n, 0, "a", "x"), below)
			}
			r.requireClosed(r.closeOf(3, 0, "a", "x"), message.ReasonTTL)
			r.requireClosed(r.arrival(4, 3, "a", "x"), message.ReasonTTL)
		})},
		{name: "a floor moves no frontier", run: receives(func(r *receiver) {
			r.floor("orders", 100)
			r.requireFrontier(0)
			r.requireOne(r.closeOf(2, 0, "a", "x"), isClosed)
			r.floor("orders", 100)
			r.requireFrontier(2)
			r.requireOne(r.arrival(3, 2, "b", "x"), accepted)
		})},
		{name: "a floor that is lower than one before brings nothing back", run: receives(func(r *receiver) {
			r.requireOne(r.closeOf(1, 0, "a", "x"), isClosed)
			r.floor("orders", 9)
			r.floor("orders", 1)
			r.requireOne(r.closeOf(1, 0, "a", "x"), below)
		})},
		{name: "a floor of another stream or queue forgets nothing", queues: two, run: receives(func(r *receiver) {
			c := r.closeOf(1, 0, "a", "x")
			r.requireOne(c, isClosed)
			r.floor("refunds", 9)
			r.floor("none", 9)
			stream := r.stream
			r.stream = message.NewStreamID()
			r.floor("orders", 9)
			r.stream = stream
			r.requireClosed(c, message.ReasonTTL)
		})},
		{name: "a floor does not make what was accepted unknown", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.requireOne(a, accepted)
			r.floor("orders", 9)
			r.requireOne(a, duplicate)
		})},
		{name: "what is below the floor stays forgotten over a restart", restarts: true, run: receives(func(r *receiver) {
			r.require([]spool.Arrival{r.closeOf(1, 0, "a", "x"), r.closeOf(2, 1, "b", "x")}, isClosed, isClosed)
			r.floor("orders", 2)
			r.restart()
			r.begin()
			r.requireOne(r.closeOf(1, 0, "a", "x"), below)
			r.requireClosed(r.closeOf(2, 1, "b", "x"), message.ReasonTTL)
		})},
	}
}
