package spooltest

import (
	"context"

	"drawbridge/message"
	"drawbridge/spool"
)

func sessions() []testCase {
	requireEnded := func(r *receiver, a spool.Arrivals) {
		r.t.Helper()
		d, err := r.Accept(context.Background(), a)
		requireIs(r.t, "accept", err, spool.ErrSessionEnded)
		if d != nil {
			r.t.Errorf("decided all the same: %+v", d)
		}
	}
	return []testCase{
		{name: "frames of an ended session are dropped undecided", run: receives(func(r *receiver) {
			a := r.arrivals(r.arrival(1, 0, "a", "x"))
			r.begin()
			requireEnded(r, a)
			r.requireMessages(0)
			r.requireFrontier(0)
			a.Session = r.session
			r.requireOf(a, accepted)
		})},
		{name: "frames of a session that never began are dropped", run: receives(func(r *receiver) {
			for _, session := range []message.SessionID{{}, message.NewSessionID()} {
				a := r.arrivals(r.arrival(1, 0, "a", "x"))
				a.Session = session
				requireEnded(r, a)
			}
		})},
		{name: "a session is its peer's alone", run: receives(func(r *receiver) {
			a := r.arrivals(r.arrival(1, 0, "a", "x"))
			a.Peer = "sfo"
			requireEnded(r, a)
		})},
		{name: "each peer has a session of its own", run: receives(func(r *receiver) {
			other := message.NewSessionID()
			if _, err := r.BeginSession(context.Background(), "sfo", other); err != nil {
				r.t.Fatal(err)
			}
			r.requireOne(r.arrival(1, 0, "a", "x"), accepted)
			a := r.arrivals(r.arrival(1, 0, "b", "x"))
			a.Peer, a.Session, a.Stream = "sfo", other, message.NewStreamID()
			r.requireOf(a, accepted)
		})},
		{name: "a new session goes on at the old frontier", run: receives(func(r *receiver) {
			a := r.arrival(1, 0, "a", "x")
			r.requireOne(a, accepted)
			r.begin()
			r.requireFrontier(1)
			r.require([]spool.Arrival{a, r.arrival(2, 1, "b", "x")}, duplicate, accepted)
		})},
		{name: "a session ends with its opening of the store", restarts: true, run: receives(func(r *receiver) {
			r.restart()
			requireEnded(r, r.arrivals(r.arrival(1, 0, "a", "x")))
		})},
	}
}
