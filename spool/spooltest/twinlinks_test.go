package spooltest_test

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/spool"
)

// This file is what links ask of the twins.

func (w *twins) begin(t *rapid.T) {
	w.beginSession(t, rapid.SampledFrom([]string{"nyc", "sfo"}).Draw(t, "peer"))
}

func (w *twins) beginSession(t *rapid.T, peer string) {
	session := message.NewSessionID()
	w.sessions[peer] = append(w.sessions[peer], session)
	w.same(t, "session", func(_ int, x *twin) string {
		id, err := x.BeginSession(context.Background(), peer, session)
		return fmt.Sprint(id == x.Identity(), kind(err))
	})
}

func (w *twins) accept(t *rapid.T) {
	peer := rapid.SampledFrom([]string{"nyc", "sfo"}).Draw(t, "peer")
	sessions := w.sessions[peer]
	a := spool.Arrivals{Peer: peer, Session: sessions[len(sessions)-1], Queue: w.anyQueue(t), Stream: rapid.SampledFrom(w.arriving).Draw(t, "stream")}
	if rapid.IntRange(0, 9).Draw(t, "old session") == 9 {
		a.Session = rapid.SampledFrom(sessions).Draw(t, "session")
	}
	number := uint64(rapid.IntRange(1, 30).Draw(t, "number"))
	for range rapid.IntRange(0, 6).Draw(t, "arrivals") {
		a.Messages = append(a.Messages, w.arrival(t, a.Stream, number))
		number += uint64(rapid.IntRange(0, 3).Draw(t, "step"))
	}
	w.same(t, "accept", func(_ int, x *twin) (said string) {
		decisions, err := x.Accept(context.Background(), a)
		for _, d := range decisions {
			said += fmt.Sprintln(d.Verdict, d.Reason, d.Young, kind(d.Refusal))
		}
		return said + fmt.Sprint(kind(err))
	})
}

func (w *twins) arrival(t *rapid.T, stream message.StreamID, number uint64) spool.Arrival {
	m := message.Message{
		Head:     message.Head{ID: fmt.Sprint("id-", rapid.IntRange(0, 40).Draw(t, "id")), Origin: "nyc-1", Priority: w.priority(t)},
		Envelope: message.Envelope{Hops: []string{"nyc-1"}, Deliveries: 2},
		Body:     []byte(rapid.SampledFrom([]string{"x", "x", "x", "y", "too large"}).Draw(t, "body")),
	}
	if rapid.IntRange(0, 19).Draw(t, "loop") == 19 {
		m.Hops = append(m.Hops, "fra-1")
	}
	m.Seal()
	in := spool.Arrival{Number: number, Message: m}
	in.Age = rapid.SampledFrom([]time.Duration{0, 0, 0, time.Hour, 23 * time.Hour, 25 * time.Hour, 50 * time.Hour, 100 * time.Hour}).Draw(t, "age")
	in.Again = rapid.IntRange(0, 3).Draw(t, "again") == 3
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 7, 8:
		reason := rapid.SampledFrom([]message.Reason{message.ReasonTTL, message.ReasonRejected}).Draw(t, "reason")
		in.Message, in.Close = message.Message{}, &spool.Close{Name: m.EndToEnd(), Sum: m.ContentSum(), Reason: reason}
	case 9:
		in.Message, in.Unreadable = message.Message{}, message.ErrCorrupt
	}
	switch rapid.IntRange(0, 3).Draw(t, "prev") {
	case 0:
		in.Prev = message.Place{Stream: stream, Number: number - uint64(rapid.IntRange(0, int(min(3, number))).Draw(t, "distance"))}
	case 1:
		in.Prev = message.Place{Stream: rapid.SampledFrom(w.arriving).Draw(t, "of"), Number: uint64(rapid.IntRange(1, 30).Draw(t, "at"))}
	}
	return in
}

func (w *twins) floor(t *rapid.T) {
	stream, queue := rapid.SampledFrom(w.arriving).Draw(t, "stream"), w.queue(t)
	floor := uint64(rapid.IntRange(0, 40).Draw(t, "floor"))
	w.same(t, "floor", func(_ int, x *twin) string {
		return fmt.Sprint(kind(x.Floor(context.Background(), stream, queue, floor)))
	})
}

func (w *twins) remember(t *rapid.T) {
	queue := rapid.SampledFrom([]string{"local", "by-ids"}).Draw(t, "queue")
	window := time.Duration(rapid.IntRange(0, 72).Draw(t, "hours")) * time.Hour
	w.same(t, "remember", func(_ int, x *twin) string {
		return fmt.Sprint(x.Remember(context.Background(), "nyc", queue, window))
	})
	w.forget(t)
}

func (w *twins) mark(t *rapid.T) {
	route, lane, through := w.route(t), w.priority(t), uint64(rapid.IntRange(0, 40).Draw(t, "through"))
	w.same(t, "mark", func(_ int, x *twin) string {
		err := x.Mark(context.Background(), route, lane, through)
		return fmt.Sprint(kind(err), x.MarkOf(route, lane))
	})
}

func (w *twins) settle(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	settled := make([]message.Range, rapid.IntRange(0, 3).Draw(t, "ranges"))
	for i := range settled {
		first := uint64(rapid.IntRange(0, 40).Draw(t, "first"))
		settled[i] = message.Range{First: first, Last: first + uint64(rapid.IntRange(0, 6).Draw(t, "more"))}
	}
	w.same(t, "settle", func(_ int, x *twin) string {
		return fmt.Sprint(kind(x.SettleRoute(context.Background(), route, lane, settled)))
	})
}

func (w *twins) bury(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	burials := make([]spool.Burial, rapid.IntRange(0, 4).Draw(t, "burials"))
	for i := range burials {
		burials[i] = spool.Burial{
			Number: uint64(rapid.IntRange(0, 40).Draw(t, "number")),
			Reason: rapid.SampledFrom([]message.Reason{message.ReasonTTL, message.ReasonLoop}).Draw(t, "reason"),
			Text:   rapid.SampledFrom([]string{"", "why"}).Draw(t, "text"),
		}
	}
	w.same(t, "bury", func(_ int, x *twin) string {
		return fmt.Sprint(kind(x.BuryRoute(context.Background(), route, lane, burials)))
	})
}

// place is a place as both can say it: the streams are random, and a new opening has new ones.
func (w *twins) place(x *twin, p message.Place) string {
	if w.reopened {
		return fmt.Sprint(p.Number)
	}
	if _, seen := x.streams[p.Stream]; !seen {
		x.streams[p.Stream] = len(x.streams)
	}
	return fmt.Sprint(p.Number, " of ", x.streams[p.Stream])
}

func (w *twins) fetch(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	numbers := rapid.SliceOfN(rapid.Uint64Range(0, 60), 0, 10).Draw(t, "numbers")
	w.same(t, "fetch", func(_ int, x *twin) (said string) {
		records, err := x.Fetch(context.Background(), route, lane, numbers)
		for _, r := range records {
			m, err := message.ParseRecord(r.Bytes)
			said += fmt.Sprintln(w.place(x, r.Place), r.Age, m.ID, string(m.Body), len(r.Bytes), err)
		}
		return said + fmt.Sprint(kind(err))
	})
}

func (w *twins) held(t *rapid.T) {
	route, lane := w.route(t), w.priority(t)
	after, most := rapid.Uint64Range(0, 30).Draw(t, "after"), rapid.IntRange(0, 20).Draw(t, "max")
	w.same(t, "held", func(_ int, x *twin) string { return w.heldBy(x, route, lane, after, most) })
}

func (w *twins) heldBy(x *twin, route spool.Route, lane uint8, after uint64, most int) (said string) {
	held, err := x.Held(context.Background(), route, lane, after, most)
	for _, h := range held {
		said += fmt.Sprintln(w.place(x, h.Place), h.Bytes, h.Age)
	}
	return said + fmt.Sprint(kind(err))
}
