package bolt_test

import (
	"context"
	"fmt"
	"testing"
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

const (
	accepted  = message.Accepted
	duplicate = message.Duplicate
)

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
