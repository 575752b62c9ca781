package flow_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

const day = 24 * time.Hour

func TestLaneThroughMonths(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			const total = 20_000
			w.begin()
			w.produce(total)
			end := start.Add(120 * day)
			w.trouble(end)
			w.run(end.Add(60*day), func() bool { return len(w.settled)+len(w.dead) == total })
			w.requireOneEnd()
			s := w.lane.Stats()
			t.Logf("%v: shipped %d, as a Close %d, dead %d, again within a session %d, timeouts %d, probes %d, sessions %d, asked %d times, woke %d times",
				w.now.Sub(start).Round(time.Hour), s.Shipped, s.Closed, len(w.dead), w.resent, s.Timeouts, s.Probes, w.session, w.calls, w.wakes)
			if s.Answered != total || s.Offered != total {
				t.Errorf("stats %+v", s)
			}
			if messages, bytes, _ := w.lane.Unanswered(); messages != 0 || bytes != 0 || !w.lane.Wake().IsZero() {
				t.Errorf("an empty lane has %d messages of %d bytes unanswered and wakes at %v", messages, bytes, w.lane.Wake())
			}
		})
	}
}

// TestAWeekOfSilenceIsCheap lets nobody answer for a week: the far side is asked once in half a minute, no more.
func TestAWeekOfSilenceIsCheap(t *testing.T) {
	w := newWorld(t, 1)
	w.begin()
	w.produce(500)
	w.silent = true
	w.in(7*day, func() { w.silent = false })
	w.run(start.Add(8*day), func() bool { return w.now.After(start.Add(7 * day)) })
	if most := int(7*day/(30*time.Second)) + 10; w.wakes > most || w.wakes < most-30 {
		t.Fatalf("woke %d times in a week, want about %d", w.wakes, most)
	}
}

// produce stores bursts of messages until total are there. Half of them may be tried for some days only.
func (w *world) produce(total int) {
	for range min(total, 1+w.rng.IntN(500)) {
		total--
		w.number += 1 + uint64(w.rng.IntN(3))
		size := 1 + w.rng.IntN(4096)
		if w.rng.IntN(200) == 0 {
			size = 200 << 10
		}
		it := flow.Item{Place: message.Place{Stream: w.stream, Number: w.number}, Bytes: size}
		if w.rng.IntN(2) == 0 {
			it.Until, it.Cause = w.now.Add(w.about(4*day)), message.ReasonHorizonPassed
		}
		w.stock = append(w.stock, it)
	}
	if total > 0 {
		w.in(w.about(36*time.Hour), func() { w.produce(total) })
	}
}

// trouble comes every few hours until the given day, each time of another kind, for seconds to three weeks.
func (w *world) trouble(until time.Time) {
	w.in(w.about(8*time.Hour), func() {
		if w.now.After(until) {
			return
		}
		w.trouble(until)
		w.closeSome()
		if !w.up || w.silent || w.far.full {
			return // one trouble at a time
		}
		length := min(time.Duration(math.Exp(w.rng.Float64()*math.Log(21*86400))*float64(time.Second)), until.Sub(w.now))
		switch w.rng.IntN(4) {
		case 0: // an outage that both sides notice
			for i := range w.conns {
				w.lose(i)
			}
			w.up = false
			w.in(length, w.begin)
		case 1: // one that nobody notices
			w.silent = true
			w.in(length, func() { w.silent = false })
		case 2: // connections break one by one
			for i := range w.conns {
				w.in(w.about(time.Second), func() { w.lose(i) })
			}
		case 3:
			w.far.full = true
			w.in(length, func() { w.far.full = false })
		}
	})
}

// closeSome is an operator who has enough of some messages.
func (w *world) closeSome() {
	if len(w.open) > 0 {
		p := w.offered[w.open[w.rng.IntN(len(w.open))]].Place
		w.close(p.Stream, message.Range{First: p.Number, Last: p.Number + uint64(w.rng.IntN(50))}, message.ReasonRejected)
	}
}
