package spooltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// dead is the queue of the dead letters of orders.
const dead = "orders.dead"

// burialsOf are burials of numbers that have run out of time.
func burialsOf(numbers ...uint64) (burials []spool.Burial) {
	for _, n := range numbers {
		burials = append(burials, spool.Burial{Number: n, Reason: message.ReasonTTL, Text: "waited too long"})
	}
	return burials
}

func (s *store) bury(route spool.Route, numbers ...uint64) {
	s.t.Helper()
	if err := s.BuryRoute(context.Background(), route, lane, burialsOf(numbers...)); err != nil {
		s.t.Fatal(err)
	}
}

// die stores messages and has the route nyc, on which they were shipped, bury them.
func (s *store) die(ids ...string) {
	s.t.Helper()
	sequences := s.fill(ids...)
	s.mark(nyc, slices.Max(sequences))
	s.bury(nyc, sequences...)
}

// requireDead compares the dead letters of orders, written as sequence and id.
func (s *store) requireDead(want ...string) []spool.Peeked {
	s.t.Helper()
	letters := s.peek(dead, 0, 1000)
	var got []string
	for _, p := range letters {
		if p.Death == nil || p.Death.Queue != "orders" {
			s.t.Errorf("dead letter %s has the death %+v", p.ID, p.Death)
		}
		got = append(got, fmt.Sprint(p.Sequence, " ", p.ID))
	}
	requireEqual(s.t, "dead letters", got, want)
	return letters
}

func burying() []testCase {
	return []testCase{
		{name: "a message that is buried leaves its queue and enters the dead letters", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 4)...)
			s.mark(nyc, 3)
			bytes := s.stats("orders").Bytes
			size := uint64(s.held(nyc, 0, 1)[0].Bytes)
			s.bury(nyc, 3, 1)
			s.requireHeld(nyc, 2, 4)
			s.requireInDoubt(1, 2)
			s.requireDead("1 id-3", "2 id-1")
			if q := s.stats("orders"); q.Buried != 2 || q.Settled != 0 || q.Acked != 0 || q.Bytes != bytes-2*size {
				s.t.Errorf("stats: %+v, it had %d bytes", q, bytes)
			}
			if q := s.stats(dead); q.Messages != 2 || q.InDoubt != 0 || q.Leased != 0 || q.Stored != 0 || q.Accepted != 0 || q.Route != "" || q.Bytes <= 2*size {
				s.t.Errorf("stats of the dead letters: %+v", q)
			}
			if r := s.fetch(nyc, 1, 2); len(r) != 1 || r[0].Number != 2 {
				s.t.Errorf("fetched what is buried: %+v", r)
			}
		}},
		{name: "a dead letter says how it died", run: func(s *store) {
			s.fill("zero", "a")
			for range 3 {
				s.lease(2)
				s.pass(spool.DefaultVisibilityTimeout)
			}
			s.mark(nyc, 2)
			s.skew.Store(int64(time.Hour))
			at := s.wall()
			err := s.BuryRoute(context.Background(), nyc, lane, []spool.Burial{{Number: 2, Reason: message.ReasonTooLarge, Text: "the far queue takes 1 byte"}})
			if err != nil {
				s.t.Fatal(err)
			}
			death := *s.requireDead("1 a")[0].Death
			want := message.Death{
				Reason: message.ReasonTooLarge, Text: "the far queue takes 1 byte", Queue: "orders", Route: "nyc", Deliveries: 3,
				At: time.UnixMilli(at.UnixMilli()).UTC(),
			}
			if death != want {
				s.t.Errorf("died of %+v, want %+v", death, want)
			}
		}},
		{name: "a dead letter is the message that it was", queues: routed("sfo"), run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "body")
			a.Message.Priority, a.Message.Key, a.Message.Generation, a.Message.TTLLeft = 9, "k", 2, time.Hour
			a.Message.Headers = message.NewHeaders(map[string]string{"traceparent": "one", "color": "red"})
			a.Message.Hops = []string{"nyc-1", "ams-1"}
			a.Message.Seal()
			r.requireOne(a, accepted)
			ctx := context.Background()
			if err := r.Mark(ctx, sfo, 9, 1); err != nil {
				r.t.Fatal(err)
			}
			if err := r.BuryRoute(ctx, sfo, 9, burialsOf(1)); err != nil {
				r.t.Fatal(err)
			}
			got := r.requireDead("1 a")[0].Message
			got.Death = nil
			want := a.Message
			want.Deliveries = 0
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				r.t.Errorf("the dead letter is %+v, it was %+v", got, want)
			}
		})},
		{name: "a long text is cut", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 1)
			long := strings.Repeat("why ", 1000)
			if err := s.BuryRoute(context.Background(), nyc, lane, []spool.Burial{{Number: 1, Reason: message.ReasonRejected, Text: long}}); err != nil {
				s.t.Fatal(err)
			}
			if text := s.requireDead("1 a")[0].Death.Text; text != long[:message.MaxDeathTextBytes] {
				s.t.Errorf("text of %d bytes: %q", len(text), text)
			}
		}},
		{name: "what was not shipped is not buried", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 3)...)
			s.bury(nyc, 1, 2, 3)
			s.requireHeld(nyc, 1, 2, 3)
			s.mark(nyc, 2)
			s.bury(nyc, 1, 2, 3)
			s.requireHeld(nyc, 3)
			s.requireDead("1 id-1", "2 id-2")
		}},
		{name: "what is settled, buried or was never given is not buried", queues: routed("nyc"), run: func(s *store) {
			s.fill(idsFrom(1, 3)...)
			s.mark(nyc, 1000)
			s.settle(nyc, message.Range{First: 1, Last: 1})
			s.bury(nyc, 0, 1, 2, 2, 4, 999)
			s.bury(nyc, 2)
			s.bury(nyc)
			s.requireHeld(nyc, 3)
			s.requireDead("1 id-2")
			if q := s.stats("orders"); q.Buried != 1 || q.Settled != 1 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "a buried number is not settled", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 1)
			s.bury(nyc, 1)
			s.settle(nyc, message.Range{First: 1, Last: 1})
			s.requireInDoubt(0, 0)
			s.requireDead("1 a")
			if q := s.stats("orders"); q.Buried != 1 || q.Settled != 0 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "a route buries what is its own", run: func(s *store) {
			s.fill(idsFrom(1, 5)...)
			s.mark(nyc, 2)
			s.mark(sfo, 4)
			s.bury(sfo, 1, 2, 3, 5)
			s.bury(spool.Route{Queue: "orders"}, 1, 2, 4, 5)
			s.requireInDoubt(3, 4)
			s.requireHeld(nyc, 1, 2)
			s.requireHeld(sfo, 4)
			if d := s.requireDead("1 id-3")[0].Death; d.Route != "sfo" {
				s.t.Errorf("died of %+v", d)
			}
		}},
		{name: "burying ends the lease of a local consumer too", run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(2)
			s.mark(nyc, 1)
			s.bury(nyc, 1)
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
			if q := s.stats("orders"); q.Leased != 1 || q.Messages != 1 || q.InDoubt != 0 {
				s.t.Errorf("stats: %+v", q)
			}
			s.requireAcked(d[1])
			s.pass(spool.DefaultVisibilityTimeout)
			s.requireLeased(9)
		}},
		{name: "burying runs over many calls' messages", queues: routed("nyc"), run: func(s *store) {
			var numbers []uint64
			for i := range 50 {
				numbers = append(numbers, s.fill(fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c"))...)
			}
			s.mark(nyc, 150)
			s.bury(nyc, numbers[1:149]...)
			s.requireHeld(nyc, 1, 150)
			if q, d := s.stats("orders"), s.stats(dead); q.Buried != 148 || q.InDoubt != 2 || d.Messages != 148 {
				s.t.Errorf("stats: %+v, dead letters: %+v", q, d)
			}
		}},
		{name: "many large messages are buried in one call", queues: map[string]spool.QueueOptions{"orders": {Route: "nyc", MaxMessageBytes: 2 << 20}}, run: func(s *store) {
			body := strings.Repeat("x", 2<<20)
			var numbers []uint64
			for range 5 {
				numbers = append(numbers, s.put(orderOf("", body))[0].Sequence)
			}
			s.mark(nyc, 5)
			s.bury(nyc, numbers...)
			if q, d := s.stats("orders"), s.stats(dead); q.Messages != 0 || q.Bytes != 0 || d.Messages != 5 || d.Bytes < 10<<20 {
				s.t.Errorf("stats: %+v, dead letters: %+v", q, d)
			}
		}},
		{name: "burying out of a queue that is not there is told so", queues: routed("nyc"), run: func(s *store) {
			none := spool.Route{Queue: "none", Name: "nyc"}
			requireIs(s.t, "bury", s.BuryRoute(context.Background(), none, lane, burialsOf(1)), spool.ErrNoQueue)
		}},
		{name: "dead letters stay over a restart", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 1)
			s.bury(nyc, 1)
			before := s.requireDead("1 a")[0]
			s.restart()
			s.requireHeld(nyc, 2)
			if after := s.requireDead("1 a")[0]; fmt.Sprintf("%+v%+v", after.Head, after.Death) != fmt.Sprintf("%+v%+v", before.Head, before.Death) {
				s.t.Errorf("dead letter %+v, it was %+v", after, before)
			}
			s.mark(nyc, 2)
			s.bury(nyc, 2)
			s.requireDead("1 a", "2 b")
		}},
		{name: "a route buries what it has shipped of a queue that is no longer configured", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.mark(nyc, 1)
			s.restartWith(map[string]spool.QueueOptions{"refunds": {}})
			s.bury(nyc, 1)
			s.requireMessages(1)
			s.requireDead("1 a")
			s.restartWith(routed("nyc"))
			s.requireDead("1 a")
		}},
	}
}

func deadLetters() []testCase {
	leaseDead := func(s *store, want ...string) []spool.Delivery {
		s.t.Helper()
		d := s.request(spool.LeaseRequest{Queue: dead, Max: 9})
		var got []string
		for _, one := range d {
			got = append(got, one.ID)
		}
		requireEqual(s.t, "leased", got, want)
		return d
	}
	return []testCase{
		{name: "dead letters are leased, redelivered and acked", queues: routed("nyc"), run: func(s *store) {
			s.die("a", "b")
			d := leaseDead(s, "a", "b")
			if d[0].Deliveries != 1 || d[0].Sequence != 1 || string(d[0].Body) != "a" || d[0].Death == nil || d[0].Death.Reason != message.ReasonTTL {
				s.t.Errorf("leased: %+v", d[0])
			}
			s.requireAcked(d[1])
			leaseDead(s)
			s.pass(spool.DefaultVisibilityTimeout)
			d = leaseDead(s, "a")
			if d[0].Deliveries != 2 {
				s.t.Errorf("deliveries %d", d[0].Deliveries)
			}
			if q := s.stats(dead); q.Messages != 1 || q.Leased != 1 || q.Acked != 1 {
				s.t.Errorf("stats: %+v", q)
			}
			s.requireAcked(d...)
			s.requireDead()
		}},
		{name: "the lease of a dead letter runs as long as one of its queue", queues: map[string]spool.QueueOptions{"orders": {Route: "nyc", VisibilityTimeout: time.Hour}}, run: func(s *store) {
			s.die("a")
			if d := leaseDead(s, "a"); d[0].Deadline != time.Hour {
				s.t.Errorf("runs %s", d[0].Deadline)
			}
		}},
		{name: "a dead letter keeps its priority", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			s.put(spool.Put{Queue: "orders", ID: "urgent", Priority: 9})
			ctx := context.Background()
			if err := s.Mark(ctx, nyc, 9, 2); err != nil {
				s.t.Fatal(err)
			}
			if err := s.BuryRoute(ctx, nyc, 9, burialsOf(2)); err != nil {
				s.t.Fatal(err)
			}
			leaseDead(s, "urgent", "a")
		}},
		{name: "burying wakes who watches the dead letters", queues: routed("nyc"), run: func(s *store) {
			ready, stop := s.Watch(dead)
			defer stop()
			s.fill("a")
			s.mark(nyc, 1)
			s.pass(0)
			select {
			case <-ready:
				s.t.Error("woken by a message that lives")
			default:
			}
			s.bury(nyc, 1)
			s.pass(0)
			select {
			case <-ready:
			default:
				s.t.Error("not woken")
			}
		}},
		{name: "a queue of dead letters is listed while it holds some", queues: map[string]spool.QueueOptions{"orders": {Route: "nyc"}, "orders-2": {}}, run: func(s *store) {
			requireListed := func(want ...string) {
				s.t.Helper()
				var got []string
				for _, q := range s.Stats() {
					got = append(got, q.Name)
				}
				requireEqual(s.t, "listed", got, want)
			}
			requireListed("orders", "orders-2")
			s.die("a")
			requireListed("orders", "orders-2", "orders.dead")
			s.requireAcked(leaseDead(s, "a")...)
			requireListed("orders", "orders-2")
		}},
		{name: "the oldest dead letter gives the age", queues: routed("nyc"), run: func(s *store) {
			s.fill("a")
			s.mark(nyc, 1)
			s.pass(time.Hour)
			s.bury(nyc, 1)
			s.pass(time.Minute)
			if age := s.stats(dead).OldestAge; age != time.Minute {
				s.t.Errorf("oldest %s", age)
			}
		}},
		{name: "nobody puts into the dead letters", run: func(s *store) {
			r := s.put(spool.Put{Queue: dead, ID: "a"}, orderOf("b", "b"), spool.Put{Queue: "none.dead", ID: "c"})
			requireIs(s.t, "put", r[0].Err, spool.ErrReserved)
			requireIs(s.t, "put", r[2].Err, spool.ErrNoQueue)
			if r[0].Status != spool.Rejected || r[1].Status != spool.Stored || r[2].Status != spool.Rejected {
				s.t.Errorf("put: %+v", r)
			}
			s.requireDead()
		}},
		{name: "dead letters leave by no route", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			route := spool.Route{Queue: dead, Name: "nyc"}
			requireEqual(s.t, "lanes", s.Lanes(route), nil)
			s.requireHeld(route)
			leaseDead(s, "a")
		}},
		{name: "a dead letter does not die a second time", queues: routed("nyc"), run: func(s *store) {
			s.die("a")
			route := spool.Route{Queue: dead, Name: "nyc"}
			s.mark(route, 1)
			s.bury(route, 1)
			s.requireDead("1 a")
			if q := s.stats(dead); q.Buried != 0 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
		{name: "a lease of a dead letter runs over a restart", queues: routed("nyc"), restarts: true, run: func(s *store) {
			s.die("a", "b")
			d := leaseDead(s, "a", "b")
			s.restart()
			leaseDead(s)
			s.requireAcked(d[0])
			s.pass(spool.DefaultVisibilityTimeout)
			if d := leaseDead(s, "b"); d[0].Deliveries != 2 {
				s.t.Errorf("deliveries %d", d[0].Deliveries)
			}
		}},
	}
}
