package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// receiver is a store with a session of one peer.
type receiver struct {
	*opened
	session message.SessionID
	stream  message.StreamID
}

func openReceiver(t *testing.T, o bolt.Options) *receiver {
	t.Helper()
	r := &receiver{opened: openTemp(t, o), stream: message.NewStreamID()}
	r.begin()
	return r
}

func (r *receiver) begin() {
	r.t.Helper()
	r.session = message.NewSessionID()
	identity, err := r.BeginSession(context.Background(), "nyc", r.session)
	if err != nil || identity != r.Identity() {
		r.t.Fatalf("begin a session: %+v, %v", identity, err)
	}
}

func (r *receiver) restart() {
	r.t.Helper()
	r.opened = r.reopen()
	r.begin()
}

// shipment is a message of the far agent under a number.
func shipment(number uint64, prev message.Place, id, body string) spool.Arrival {
	m := message.Message{
		Head:     message.Head{ID: id, Origin: "nyc-1", Priority: lane, StoredAt: time.UnixMilli(1e12).UTC()},
		Envelope: message.Envelope{Hops: []string{"nyc-1"}, Deliveries: 3},
		Body:     []byte(body),
	}
	m.Seal()
	return spool.Arrival{Number: number, Prev: prev, Message: m}
}

func (r *receiver) at(number uint64) message.Place {
	return message.Place{Stream: r.stream, Number: number}
}

func (r *receiver) acceptFrom(stream message.StreamID, arrivals ...spool.Arrival) []spool.Decision {
	r.t.Helper()
	d, err := r.Accept(context.Background(), spool.Arrivals{
		Peer: "nyc", Session: r.session, Queue: "orders", Stream: stream, Messages: arrivals,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *receiver) require(arrivals []spool.Arrival, want ...message.Verdict) []spool.Decision {
	r.t.Helper()
	d := r.acceptFrom(r.stream, arrivals...)
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
)

func TestShippedMessageIsAcceptedOnce(t *testing.T) {
	r := openReceiver(t, orders())
	a, b := shipment(5, message.Place{}, "a", "x"), shipment(9, r.at(5), "b", "y")
	r.requireFrontier(0)
	r.require([]spool.Arrival{a, b}, accepted, accepted)
	r.requireFrontier(9)
	r.require([]spool.Arrival{a, b}, duplicate, duplicate)
	r.restart()
	r.requireFrontier(9)
	r.require([]spool.Arrival{b, a}, duplicate, duplicate)
	d := r.lease(9)
	requireEqual(t, "leased", idsOf(d), []string{"a", "b"})
	if m := d[0].Message; m.Origin != "nyc-1" || !slices.Equal(m.Hops, []string{"nyc-1"}) || m.Deliveries != 1 || !m.StoredAt.Equal(a.Message.StoredAt) {
		t.Errorf("accepted message: %+v", m)
	}
	if q := r.stats("orders"); q.Accepted != 0 || q.Duplicates != 2 || q.Messages != 2 {
		t.Errorf("stats since the restart: %+v", q)
	}
}

func TestRepeatedArrivalInOneCommit(t *testing.T) {
	r := openReceiver(t, orders())
	a := shipment(1, message.Place{}, "a", "x")
	r.require([]spool.Arrival{a, a}, accepted, duplicate)
}

func TestSettledMessageIsStillKnown(t *testing.T) {
	r := openReceiver(t, orders())
	a := shipment(1, message.Place{}, "a", "x")
	r.require([]spool.Arrival{a}, accepted)
	r.requireAcked(r.lease(1))
	r.require([]spool.Arrival{a}, duplicate)
	r.restart()
	r.require([]spool.Arrival{a}, duplicate)
}

func TestNumberThatIsKnownWithoutARow(t *testing.T) {
	r := openReceiver(t, orders())
	r.require([]spool.Arrival{shipment(7, message.Place{}, "a", "x")}, accepted)
	r.require([]spool.Arrival{shipment(3, message.Place{}, "b", "x")}, below)
	r.requireFrontier(7)
}

func TestNumberIsKnownLongAfterItsRowIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openReceiver(t, orders())
		a := shipment(1, message.Place{}, "a", "x")
		r.require([]spool.Arrival{a}, accepted)
		r.requireAcked(r.lease(1))
		time.Sleep(25 * time.Hour)
		r.require([]spool.Arrival{shipment(2, message.Place{}, "b", "x")}, accepted)
		r.require([]spool.Arrival{a}, below)
		r.requireFrontier(2)
		// Under a number that is not known, the id is all there is, and it is forgotten.
		a.Number = 3
		r.require([]spool.Arrival{a}, accepted)
		r.close()
	})
}

func TestArrivalWaitsForItsPredecessor(t *testing.T) {
	r := openReceiver(t, orders())
	a, b, c := shipment(1, message.Place{}, "a", "x"), shipment(2, r.at(1), "b", "x"), shipment(3, r.at(2), "c", "x")
	r.require([]spool.Arrival{c, b}, undecided, undecided)
	r.requireFrontier(0)
	if n := r.stats("orders").Messages; n != 0 {
		t.Fatalf("%d messages", n)
	}
	r.require([]spool.Arrival{b, a, b, c}, undecided, accepted, accepted, accepted)
	requireEqual(t, "leased", idsOf(r.lease(9)), []string{"a", "b", "c"})
}

func TestPredecessorOfAnotherEpoch(t *testing.T) {
	r := openReceiver(t, orders())
	old := message.NewStreamID()
	next := shipment(12, message.Place{Stream: old, Number: 11}, "b", "x")
	r.require([]spool.Arrival{next}, undecided)
	if d := r.acceptFrom(old, shipment(11, message.Place{}, "a", "x")); d[0].Verdict != accepted {
		t.Fatalf("got %+v", d)
	}
	r.require([]spool.Arrival{next}, accepted)
}

func TestSameMessageUnderANewNumber(t *testing.T) {
	r := openReceiver(t, orders())
	r.require([]spool.Arrival{shipment(1, message.Place{}, "a", "x")}, accepted)
	r.require([]spool.Arrival{shipment(2, r.at(1), "a", "x"), shipment(3, r.at(2), "b", "x")}, duplicate, accepted)
	r.requireFrontier(3)
	other := r.acceptFrom(message.NewStreamID(), shipment(1, message.Place{}, "a", "x"))
	if other[0].Verdict != duplicate {
		t.Errorf("in another stream: %+v", other[0])
	}
	if n := r.stats("orders").Messages; n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestRefusedArrivalHoldsWhatWaitsForIt(t *testing.T) {
	o := orders()
	o.Queues["orders"] = spool.QueueOptions{MaxMessageBytes: 8}
	r := openReceiver(t, o)
	r.require([]spool.Arrival{shipment(1, message.Place{}, "a", "x")}, accepted)

	conflict, large := shipment(2, r.at(1), "a", "other"), shipment(2, r.at(1), "b", "123456789")
	loop, origin, hops := shipment(2, r.at(1), "c", "x"), shipment(2, r.at(1), "d", "x"), shipment(2, r.at(1), "e", "x")
	loop.Message.Hops = []string{"nyc-1", "fra-1"}
	origin.Message.Origin = "fra-1"
	hops.Message.Hops = strings.Split(strings.Repeat("x ", 16)+"x", " ")
	malformed := shipment(2, r.at(1), "f g", "x")
	for _, c := range []struct {
		arrival spool.Arrival
		want    error
	}{
		{conflict, spool.ErrConflict}, {large, spool.ErrTooLarge}, {loop, spool.ErrLoop},
		{origin, spool.ErrLoop}, {hops, spool.ErrLoop}, {malformed, spool.ErrMalformed},
	} {
		d := r.require([]spool.Arrival{c.arrival, shipment(3, r.at(2), "z", "x")}, message.Refused, undecided)
		if !errors.Is(d[0].Refusal, c.want) {
			t.Errorf("got %v, want %v", d[0].Refusal, c.want)
		}
		r.requireFrontier(1)
	}
}

func TestNumberThatCameWithOtherContent(t *testing.T) {
	r := openReceiver(t, orders())
	r.require([]spool.Arrival{shipment(1, message.Place{}, "a", "x")}, accepted)
	d := r.require([]spool.Arrival{shipment(1, message.Place{}, "a", "other")}, message.Refused)
	if !errors.Is(d[0].Refusal, spool.ErrConflict) {
		t.Errorf("got %v", d[0].Refusal)
	}
}

func TestArrivalForAQueueThatIsNotConfigured(t *testing.T) {
	r := openReceiver(t, orders())
	d, err := r.Accept(context.Background(), spool.Arrivals{
		Peer: "nyc", Session: r.session, Queue: "none", Stream: r.stream,
		Messages: []spool.Arrival{shipment(1, message.Place{}, "a", "x"), shipment(2, r.at(1), "b", "x")},
	})
	if err != nil || len(d) != 2 {
		t.Fatalf("got %+v, %v", d, err)
	}
	for _, one := range d {
		if one.Verdict != message.Refused || !errors.Is(one.Refusal, spool.ErrNoQueue) {
			t.Errorf("got %+v", one)
		}
	}
}

func TestFramesOfAnEndedSessionAreDropped(t *testing.T) {
	r := openReceiver(t, orders())
	ended := r.session
	r.begin()
	a := spool.Arrivals{Peer: "nyc", Session: ended, Queue: "orders", Stream: r.stream, Messages: []spool.Arrival{shipment(1, message.Place{}, "a", "x")}}
	for _, session := range []message.SessionID{ended, {}, message.NewSessionID()} {
		a.Session = session
		if _, err := r.Accept(context.Background(), a); !errors.Is(err, spool.ErrSessionEnded) {
			t.Errorf("got %v", err)
		}
	}
	a.Session, a.Peer = r.session, "sfo"
	if _, err := r.Accept(context.Background(), a); !errors.Is(err, spool.ErrSessionEnded) {
		t.Errorf("another peer's: %v", err)
	}
	if n := r.stats("orders").Messages; n != 0 {
		t.Errorf("%d messages", n)
	}
	r.require(a.Messages, accepted)
}

func TestMessagePutHereAndShippedHereAreTwo(t *testing.T) {
	r := openReceiver(t, orders())
	r.store("orders", "a")
	r.require([]spool.Arrival{shipment(1, message.Place{}, "a", "a")}, accepted) // another origin, so another message
	requireEqual(t, "leased", idsOf(r.lease(9)), []string{"a", "a"})
}

func TestFullLedgerForgetsTheOldest(t *testing.T) {
	o := orders()
	o.LedgerMemoryBytes = 64 << 10
	s := openTemp(t, o)
	const rows, perRow = 60, 200
	for i := range rows {
		var ids []string
		for j := range perRow {
			ids = append(ids, fmt.Sprint(i, "-", j))
		}
		s.store("orders", ids...)
		s.requireAcked(s.lease(perRow))
	}
	ids, bytes, err := bolt.Remembered(s.Store)
	if err != nil || bytes > o.LedgerMemoryBytes || ids == 0 || ids >= rows*perRow {
		t.Errorf("%d ids in %d bytes, %v", ids, bytes, err)
	}
	newest := spool.Put{Queue: "orders", ID: fmt.Sprint(rows-1, "-", 0), Priority: lane, Body: fmt.Append(nil, rows-1, "-", 0)}
	if r := s.put(newest)[0]; r.Status != spool.Duplicate {
		t.Errorf("newest: %+v", r)
	}
	oldest := spool.Put{Queue: "orders", ID: "0-0", Priority: lane, Body: []byte("0-0")}
	if r := s.put(oldest)[0]; r.Status != spool.Stored {
		t.Errorf("oldest: %+v", r)
	}
	// The next opening has less room still.
	s.close()
	o.LedgerMemoryBytes = 16 << 10
	s = open(t, s.dir, o)
	if r := s.put(newest)[0]; r.Status != spool.Duplicate {
		t.Errorf("newest, with less memory: %+v", r)
	}
}
