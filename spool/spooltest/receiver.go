package spooltest

import (
	"context"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// receiver is a store with a session of the peer nyc, which ships one stream into the queue orders.
type receiver struct {
	*store
	session message.SessionID
	stream  message.StreamID
}

func receiving(s *store) *receiver {
	r := &receiver{store: s, stream: message.NewStreamID()}
	r.begin()
	return r
}

// receives is the run of a case that needs a receiver.
func receives(run func(r *receiver)) func(s *store) {
	return func(s *store) { run(receiving(s)) }
}

func (r *receiver) begin() {
	r.t.Helper()
	r.session = message.NewSessionID()
	identity, err := r.BeginSession(context.Background(), "nyc", r.session)
	if err != nil || identity != r.Identity() {
		r.t.Fatalf("begin a session: %+v, %v", identity, err)
	}
}

// arrival is a message of the far agent under a number, after prev; 0 stands for none.
func (r *receiver) arrival(number, prev uint64, id, body string) spool.Arrival {
	m := message.Message{
		Head:     message.Head{ID: id, Origin: "nyc-1", Priority: lane, StoredAt: time.UnixMilli(1e12).UTC()},
		Envelope: message.Envelope{Hops: []string{"nyc-1"}, Deliveries: 3},
		Body:     []byte(body),
	}
	m.Seal()
	a := spool.Arrival{Number: number, Message: m}
	if prev != 0 {
		a.Prev = message.Place{Stream: r.stream, Number: prev}
	}
	return a
}

// closeOf is the Close of an arrival, which has run out of time.
func (r *receiver) closeOf(number, prev uint64, id, body string) spool.Arrival {
	a := r.arrival(number, prev, id, body)
	a.Close = &spool.Close{Name: a.Message.EndToEnd(), Sum: a.Message.ContentSum(), Reason: message.ReasonTTL}
	a.Message = message.Message{}
	return a
}

func (r *receiver) arrivals(messages ...spool.Arrival) spool.Arrivals {
	return spool.Arrivals{Peer: "nyc", Session: r.session, Queue: "orders", Stream: r.stream, Messages: messages}
}

func (r *receiver) accept(a spool.Arrivals) []spool.Decision {
	r.t.Helper()
	d, err := r.Accept(context.Background(), a)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// require ships messages in one call and compares the verdicts.
func (r *receiver) require(messages []spool.Arrival, want ...message.Verdict) []spool.Decision {
	r.t.Helper()
	return r.requireOf(r.arrivals(messages...), want...)
}

func (r *receiver) requireOf(a spool.Arrivals, want ...message.Verdict) []spool.Decision {
	r.t.Helper()
	d := r.accept(a)
	var got []message.Verdict
	for _, one := range d {
		got = append(got, one.Verdict)
		if (one.Refusal != nil) != (one.Verdict == message.Refused) {
			r.t.Errorf("verdict %s with refusal %v", one.Verdict, one.Refusal)
		}
	}
	requireEqual(r.t, "verdicts", got, want)
	return d
}

func (r *receiver) requireOne(a spool.Arrival, want message.Verdict) {
	r.t.Helper()
	r.require([]spool.Arrival{a}, want)
}

// requireClosed ships a and wants to hear that it was closed for the reason.
func (r *receiver) requireClosed(a spool.Arrival, want message.Reason) {
	r.t.Helper()
	if d := r.require([]spool.Arrival{a}, isClosed)[0]; d.Reason != want {
		r.t.Errorf("number %d is closed for the reason %q, want %q", a.Number, d.Reason, want)
	}
}

func (r *receiver) requireRefused(a spool.Arrival, want error) {
	r.t.Helper()
	requireIs(r.t, "refusal", r.require([]spool.Arrival{a}, refused)[0].Refusal, want)
}

func (r *receiver) floor(queue string, floor uint64) {
	r.t.Helper()
	if err := r.Floor(context.Background(), r.stream, queue, floor); err != nil {
		r.t.Fatal(err)
	}
}

// shrinkReach leaves a ledger with a window of five days that reaches back two.
func (r *receiver) shrinkReach() {
	r.t.Helper()
	r.fill("forgotten")
	r.requireAcked(r.lease(1)...)
	r.pass(2 * day)
	r.fill("between")
	r.requireAcked(r.lease(1)...)
	if err := r.Remember(context.Background(), "nyc", "orders", 5*day); err != nil {
		r.t.Fatal(err)
	}
}

func (r *receiver) requireFrontier(want uint64) {
	r.t.Helper()
	if got := r.Frontier(r.stream, "orders"); got != want {
		r.t.Errorf("frontier %d, want %d", got, want)
	}
}

const (
	undecided = message.Undecided
	accepted  = message.Accepted
	duplicate = message.Duplicate
	below     = message.Below
	isClosed  = message.Closed
	refused   = message.Refused
)
