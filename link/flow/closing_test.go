package flow_test

import (
	"slices"
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// until has each of list closed for its age from an instant on.
func until(at time.Time, list []flow.Item) []flow.Item {
	for i := range list {
		list[i].Until, list[i].Cause = at, message.ReasonTTL
	}
	return list
}

func one(number uint64) message.Range { return message.Range{First: number, Last: number} }

func requireShip(t *testing.T, l *flow.Lane, now time.Time, want ...uint64) flow.Batch {
	t.Helper()
	b := requireNext(t, l, now, 0, want...)
	for _, s := range b.Items {
		if b.Closing || s.Cause != "" {
			t.Fatalf("%v leave as a Close for %q, want a Ship", want, s.Cause)
		}
	}
	return b
}

func requireClose(t *testing.T, l *flow.Lane, now time.Time, cause message.Reason, want ...uint64) flow.Batch {
	t.Helper()
	b := requireNext(t, l, now, 0, want...)
	for _, s := range b.Items {
		if !b.Closing || s.Cause != cause {
			t.Fatalf("%v leave for %q (closing: %v), want a Close for %q", want, s.Cause, b.Closing, cause)
		}
	}
	return b
}

func TestFromItsUntilOnAMessageLeavesAsAClose(t *testing.T) {
	const due = time.Minute
	late := after(due)
	for _, c := range []struct {
		name string
		// again brings the message, shipped at start, to leave again at the instant it returns.
		again func(l *flow.Lane) time.Time
	}{
		{"after its connection was lost", func(l *flow.Lane) time.Time { l.Lost(0); return late }},
		{"after a silence", func(*flow.Lane) time.Time { return late }},
		{"in a new session", func(l *flow.Lane) time.Time { l.Begin(late, plenty); return late }},
		{"as the probe of a held route", func(l *flow.Lane) time.Time { l.Hold(start, "full"); return late }},
		{"as the probe of what cannot be read", func(l *flow.Lane) time.Time { l.HoldAt(start, oldEpoch, 1, "corrupt"); return late }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := begun(flow.Options{}, plenty, until(after(due), items(oldEpoch, 10, 1)))
			requireShip(t, l, start, 1)
			requireClose(t, l, c.again(l), message.ReasonTTL, 1)
			requireSettled(t, l.Answered(late, oldEpoch, []message.Range{one(1)}), one(1))
			if _, held := l.Held(); held {
				t.Fatal("the answer to a Close does not end a hold")
			}
			requireNothing(t, l, late)
		})
	}
	t.Run("for the first time", func(t *testing.T) {
		l := begun(flow.Options{}, plenty, until(after(due), items(oldEpoch, 10, 1)))
		requireClose(t, l, late, message.ReasonTTL, 1)
	})
	t.Run("not a nanosecond earlier", func(t *testing.T) {
		l := begun(flow.Options{}, plenty, until(after(due), items(oldEpoch, 10, 1)))
		requireShip(t, l, late.Add(-1), 1)
	})
	t.Run("though it is years away", func(t *testing.T) {
		l := begun(flow.Options{}, plenty, until(start.AddDate(290, 0, 0), items(oldEpoch, 10, 1)))
		requireShip(t, l, start.AddDate(280, 0, 0), 1)
		l.Lost(0)
		requireClose(t, l, start.AddDate(290, 0, 0), message.ReasonTTL, 1)
	})
}

func TestAnUntilNeedsNoWake(t *testing.T) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 10, Messages: 1}, until(after(time.Hour), items(oldEpoch, 10, 1, 2)))
	requireShip(t, l, start, 1)
	requireWake(t, l, after(time.Second)) // for the silence alone: 2 has no credit and need not be closed
}

func TestCloseTakesBackWhatIsUnderWay(t *testing.T) {
	l := begun(flow.Options{}, plenty, items(oldEpoch, 10, upTo(6)...))
	requireShip(t, l, start, 1, 2, 3, 4, 5, 6)
	l.Close(start, oldEpoch, message.Range{First: 3, Last: 4}, message.ReasonLoop)
	l.Close(start, oldEpoch, one(4), message.ReasonTooLarge) // its first cause stays
	l.Close(start, newEpoch, one(1), message.ReasonLoop)     // another stream
	l.Close(start, oldEpoch, message.Range{First: 7, Last: 9}, message.ReasonLoop)
	b := requireClose(t, l, start, message.ReasonLoop, 3, 4)
	if b.Resent != 2 || b.Items[0].Prev.Number != 2 || b.Items[1].Prev.Number != 3 {
		t.Fatalf("closes %+v, want both again, each behind the one before it", b)
	}
	l.Close(start, oldEpoch, message.Range{First: 3, Last: 4}, message.ReasonLoop) // what leaves as a Close need not leave again
	requireNothing(t, l, start)
	requireSettled(t, l.Answered(start, oldEpoch, []message.Range{{First: 1, Last: 6}}), message.Range{First: 1, Last: 6})
	l.Close(start, oldEpoch, message.Range{First: 1, Last: 9}, message.ReasonLoop)
	requireNothing(t, l, start)
	if s := l.Stats(); s.Shipped != 8 || s.Closed != 2 || s.Resent != 2 {
		t.Fatalf("stats %+v", s)
	}
}

func TestWhatIsClosedBeforeItIsShippedTakesItsTurn(t *testing.T) {
	l := begun(flow.Options{}, plenty, items(oldEpoch, 10, upTo(5)...))
	l.Close(start, oldEpoch, message.Range{First: 2, Last: 3}, message.ReasonLoop)
	requireShip(t, l, start, 1)
	requireClose(t, l, start, message.ReasonLoop, 2, 3)
	requireShip(t, l, start, 4, 5)
	requireNothing(t, l, start)
}

func TestTheCauseOfAnUntilThatHasPassedComesFirst(t *testing.T) {
	l := begun(flow.Options{}, plenty, until(after(time.Minute), items(oldEpoch, 10, 1, 2)))
	l.Close(after(time.Minute-1), oldEpoch, one(1), message.ReasonLoop)
	l.Close(after(time.Minute), oldEpoch, one(2), message.ReasonLoop)
	b := requireNext(t, l, after(time.Hour), 0, 1, 2)
	if b.Items[0].Cause != message.ReasonLoop || b.Items[1].Cause != message.ReasonTTL {
		t.Fatalf("closed for %q and %q", b.Items[0].Cause, b.Items[1].Cause)
	}
}

func TestClosingSurvivesASession(t *testing.T) {
	l := begun(flow.Options{}, plenty, items(oldEpoch, 10, 1, 2))
	requireShip(t, l, start, 1, 2)
	l.Close(start, oldEpoch, one(1), message.ReasonLoop)
	for day := range 3 {
		now := after(time.Duration(day) * 24 * time.Hour)
		l.Begin(now, plenty)
		requireClose(t, l, now, message.ReasonLoop, 1)
		requireShip(t, l, now, 2)
	}
}

func TestABatchOfClosesIsBounded(t *testing.T) {
	l := begun(flow.Options{}, plenty, until(start, items(oldEpoch, 200<<10, upTo(200)...)))
	if b := requireClose(t, l, start, message.ReasonTTL, upTo(128)...); b.Bytes != 128*200<<10 {
		t.Fatalf("%d bytes, want those of the records", b.Bytes)
	}
	requireClose(t, l, start, message.ReasonTTL, upTo(200)[128:]...)

	l = begun(flow.Options{BatchBytes: 1000}, plenty, until(start, items(oldEpoch, 1, upTo(4)...)))
	requireClose(t, l, start, message.ReasonTTL, 1, 2, 3) // 300 bytes each, however small the records
	requireClose(t, l, start, message.ReasonTTL, 4)
}

func TestClosesCountAgainstCredit(t *testing.T) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 25, Messages: 10}, until(start, items(oldEpoch, 10, upTo(4)...)))
	requireClose(t, l, start, message.ReasonTTL, 1, 2)
	requireNothing(t, l, start)
	l.Answered(start, oldEpoch, []message.Range{one(1)})
	requireClose(t, l, start, message.ReasonTTL, 3)
}

// TestABatchThatPassesItsUntilPartsAsItLeavesAgain resends after a silence: one batch was a Ship, and some of it is now closed.
func TestABatchThatPassesItsUntilPartsAsItLeavesAgain(t *testing.T) {
	l := begun(flow.Options{}, plenty, slices.Concat(
		items(oldEpoch, 10, 1, 2), until(after(time.Second), items(oldEpoch, 10, 3)), items(oldEpoch, 10, 4)))
	requireShip(t, l, start, 1, 2, 3, 4)
	requireShip(t, l, after(time.Second), 1, 2)
	l.Answered(after(time.Second), oldEpoch, []message.Range{{First: 1, Last: 2}})
	requireClose(t, l, after(2*time.Second), message.ReasonTTL, 3)
	l.Answered(after(2*time.Second), oldEpoch, []message.Range{one(3)})
	requireShip(t, l, after(3*time.Second), 4)
}

func TestHeldInTellsWhatAnAnswerWouldEnd(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 4}, plenty, slices.Concat(items(oldEpoch, 10, 1, 3, 5), items(newEpoch, 10, 6, 8)))
	all := message.Range{First: 0, Last: 1<<64 - 1}
	if got := l.HeldIn(oldEpoch, all); len(got) != 0 {
		t.Fatalf("holds %v before anything was shipped", got)
	}
	requireShip(t, l, start, 1, 3, 5)
	l.Answered(start, oldEpoch, []message.Range{one(3)})
	l.Begin(start, plenty)
	for _, c := range []struct {
		stream message.StreamID
		r      message.Range
		want   []uint64
	}{
		{oldEpoch, all, []uint64{1, 5}},
		{oldEpoch, message.Range{First: 2, Last: 5}, []uint64{5}},
		{oldEpoch, message.Range{First: 2, Last: 4}, nil},
		{newEpoch, all, nil},
		{message.StreamID{9}, all, nil},
	} {
		if got := l.HeldIn(c.stream, c.r); !slices.Equal(got, c.want) {
			t.Errorf("holds %v of stream %x in %v, want %v", got, c.stream[0], c.r, c.want)
		}
	}
}
