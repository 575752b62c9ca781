package flow_test

import (
	"slices"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// check holds the batch against the rules.
func (w *world) check(b flow.Batch, via int) {
	size, records := 0, 0
	for i, s := range b.Items {
		it := w.offered[s.Number]
		at, isOpen := slices.BinarySearch(w.open, s.Number)
		if !isOpen || it.Stream != b.Stream || it.Bytes != s.Bytes || i > 0 && s.Number <= b.Items[i-1].Number {
			w.t.Fatalf("batch %+v does not hold open messages of one stream in order", b)
		}
		if cause := it.cause(w.now); s.Cause != cause || b.Closing != (cause != "") {
			w.t.Fatalf("%d leaves for %q (closing: %v), want %q", s.Number, s.Cause, b.Closing, cause)
		}
		var prev message.Place
		if at > 0 {
			prev = w.offered[w.open[at-1]].Place
		}
		if s.Prev != prev {
			w.t.Fatalf("prev of %d is %v, want %v", s.Number, s.Prev, prev)
		}
		if it.session != w.session {
			w.checkNew(it, prev)
		} else {
			w.checkAgain(it, b)
		}
		records += s.Bytes
		size += s.Bytes
		if b.Closing {
			size += 300 - s.Bytes
		}
	}
	if records != b.Bytes || len(b.Items) > 1 && size > 64<<10 || b.Closing && len(b.Items) > 128 {
		w.t.Fatalf("%d messages of %d bytes in a batch that says %d", len(b.Items), records, b.Bytes)
	}
	for _, s := range b.Items {
		it := w.offered[s.Number]
		it.session, it.via, it.at, it.closed = w.session, via, w.now, b.Closing
	}
}

func (w *world) checkNew(it *sent, prev message.Place) {
	if prev.Number > w.high {
		w.t.Fatalf("%d is shipped before %d", it.Number, prev.Number)
	}
	through, credited := w.through[it.Stream]
	beyond := credited && it.Number > through || !credited && uint64(w.unanswered) >= w.grant.Messages
	if w.unanswered > 0 && beyond {
		w.t.Fatalf("%d goes beyond credit: through %d, %d unanswered", it.Number, through, w.unanswered)
	}
	w.high = it.Number
	w.unanswered++
	w.unbytes += uint64(it.Bytes)
	if w.unanswered > 1 && w.unbytes > w.bytes {
		w.t.Fatalf("%d bytes unanswered, credit is %d", w.unbytes, w.bytes)
	}
}

func (w *world) checkAgain(it *sent, b flow.Batch) {
	w.resent++
	lost := w.broken[it.via]
	held := !w.held.Before(it.at)
	timeout := w.now.Sub(it.at) >= time.Second && w.now.Sub(w.progress) >= time.Second && b.Items[0].Number == w.open[0]
	closed := !it.closed && !it.since.Before(it.at)
	if !lost && !held && !timeout && !closed {
		w.t.Fatalf("%d is shipped again without reason, %v after its last shipment", it.Number, w.now.Sub(it.at))
	}
}

// requireOneEnd checks that each message has ended in one way, the same on both sides, and in order.
func (w *world) requireOneEnd() {
	if !slices.IsSorted(w.far.decided) || len(slices.Compact(slices.Clone(w.far.decided))) != len(w.offered) {
		w.t.Fatal("messages were decided out of order, or not each once")
	}
	stored := map[uint64]bool{}
	for _, n := range w.far.admitted {
		stored[n] = true
	}
	if len(stored) != len(w.far.admitted) {
		w.t.Fatal("messages were admitted twice")
	}
	for n := range w.offered {
		reason, dead := w.dead[n]
		arrived := stored[n] || elsewhere(n)
		if w.settled[n] == dead || arrived == dead || w.far.closed[n] != reason {
			w.t.Errorf("%d: settled %v, dead %v for %q; arrived %v, closed there for %q",
				n, w.settled[n], dead, reason, arrived, w.far.closed[n])
		}
		if faulty(n) && !dead && !elsewhere(n) {
			w.t.Errorf("%d was refused and is not dead", n)
		}
	}
}
