package flow_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

var (
	start    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	oldEpoch = message.StreamID{1}
	newEpoch = message.StreamID{2}
	plenty   = flow.Grant{Bytes: 1 << 30, Messages: 1 << 20}
)

func after(d time.Duration) time.Time { return start.Add(d) }

func items(stream message.StreamID, bytes int, numbers ...uint64) (list []flow.Item) {
	for _, n := range numbers {
		list = append(list, flow.Item{Place: message.Place{Stream: stream, Number: n}, Bytes: bytes})
	}
	return list
}

func upTo(last uint64) (numbers []uint64) {
	for n := uint64(1); n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

func numbers(b flow.Batch) (list []uint64) {
	for _, s := range b.Items {
		list = append(list, s.Number)
	}
	return list
}

// begun is a lane in its first session, with items of one stream to ship.
func begun(o flow.Options, grant flow.Grant, list []flow.Item) *flow.Lane {
	l := flow.NewLane(o)
	l.Offer(list)
	l.Begin(start, grant)
	return l
}

func requireNext(t *testing.T, l *flow.Lane, now time.Time, via int, want ...uint64) flow.Batch {
	t.Helper()
	b, ok := l.Next(now, via)
	if !ok && len(want) > 0 {
		t.Fatalf("nothing to ship after %v, want %v", now.Sub(start), want)
	}
	if got := numbers(b); !slices.Equal(got, want) {
		t.Fatalf("shipped %v after %v, want %v", got, now.Sub(start), want)
	}
	return b
}

func requireNothing(t *testing.T, l *flow.Lane, now time.Time) {
	t.Helper()
	requireNext(t, l, now, 0)
	if wake := l.Wake(); !wake.IsZero() && !wake.After(now) {
		t.Fatalf("nothing to ship, yet the lane wants to be asked again %v ago", now.Sub(wake))
	}
}

func requireWake(t *testing.T, l *flow.Lane, want time.Time) {
	t.Helper()
	if got := l.Wake(); !got.Equal(want) {
		t.Fatalf("wakes at %v, want %v", got, want)
	}
}

func requireSettled(t *testing.T, got []message.Range, want ...message.Range) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("settles %v, want %v", got, want)
	}
}

func TestNothingIsShippedBeforeASession(t *testing.T) {
	l := flow.NewLane(flow.Options{})
	l.Offer(items(oldEpoch, 10, 1, 2))
	requireNothing(t, l, start)
	requireWake(t, l, time.Time{})
}

func TestOfferIgnoresWhatIsKnown(t *testing.T) {
	l := begun(flow.Options{}, plenty, items(oldEpoch, 10, 3, 5))
	l.Offer(items(oldEpoch, 10, 3, 5, 8))
	if l.Last() != 8 {
		t.Fatalf("last is %d, want 8", l.Last())
	}
	requireNext(t, l, start, 0, 3, 5, 8)
}

func TestABatchHoldsOneStreamAndIsBounded(t *testing.T) {
	l := begun(flow.Options{BatchBytes: 100, BatchMessages: 3}, plenty, slices.Concat(
		items(oldEpoch, 10, 1, 2, 3, 4), items(newEpoch, 60, 5, 6), items(newEpoch, 1000, 7), items(newEpoch, 50, 8, 9)))
	requireNext(t, l, start, 0, 1, 2, 3) // three messages
	requireNext(t, l, start, 0, 4)       // one stream
	requireNext(t, l, start, 0, 5)       // a hundred bytes
	requireNext(t, l, start, 0, 6)
	if b := requireNext(t, l, start, 0, 7); b.Stream != newEpoch || b.Bytes != 1000 { // one larger message
		t.Fatalf("the large batch is %+v", b)
	}
	requireNext(t, l, start, 0, 8, 9)
	requireNothing(t, l, start)
}

func TestPrevIsTheNearestLowerUnanswered(t *testing.T) {
	l := begun(flow.Options{}, plenty, slices.Concat(items(oldEpoch, 10, 2, 4, 7), items(newEpoch, 10, 9, 12)))
	b := requireNext(t, l, start, 0, 2, 4, 7)
	want := []flow.Shipment{
		{Number: 2, Bytes: 10},
		{Number: 4, Bytes: 10, Prev: message.Place{Stream: oldEpoch, Number: 2}},
		{Number: 7, Bytes: 10, Prev: message.Place{Stream: oldEpoch, Number: 4}},
	}
	if !reflect.DeepEqual(b.Items, want) {
		t.Fatalf("items %+v, want %+v", b.Items, want)
	}
	if b := requireNext(t, l, start, 0, 9, 12); b.Items[0].Prev != (message.Place{Stream: oldEpoch, Number: 7}) {
		t.Fatalf("prev does not reach into the epoch before: %+v", b.Items[0])
	}

	l.Answered(start, oldEpoch, []message.Range{{First: 4, Last: 7}}) // out of order
	l.Lost(0)
	requireNext(t, l, start, 1, 2)
	if b := requireNext(t, l, start, 1, 9, 12); b.Items[0].Prev != (message.Place{Stream: oldEpoch, Number: 2}) || b.Resent != 2 {
		t.Fatalf("prev is not computed anew: %+v", b)
	}
}

func TestCreditBoundsWhatIsNewAndNotWhatIsResent(t *testing.T) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 1000, Messages: 3}, items(oldEpoch, 10, upTo(9)...))
	requireNext(t, l, start, 0, 1, 2, 3) // messages of the grant
	requireNothing(t, l, start)
	l.Credit(oldEpoch, 7, 50)
	requireNext(t, l, start, 0, 4, 5) // bytes of the credit
	requireNothing(t, l, start)
	l.Credit(oldEpoch, 7, 0)
	l.Lost(0)
	requireNext(t, l, start, 1, 1, 2, 3, 4, 5) // resends are free
	l.Credit(oldEpoch, 7, 1000)
	requireNext(t, l, start, 1, 6, 7) // through
	requireNothing(t, l, start)
	l.Answered(start, oldEpoch, []message.Range{{First: 1, Last: 7}})
	l.Credit(oldEpoch, 0, 0)
	requireNext(t, l, start, 1, 8) // one message whatever the credit
	requireNothing(t, l, start)
}

func TestAGapDoesNotStrandTheLane(t *testing.T) {
	l := begun(flow.Options{}, plenty, items(oldEpoch, 10, 1, 2, 1_000_000, 2_000_000))
	l.Credit(oldEpoch, 512, 1000)
	requireNext(t, l, start, 0, 1, 2)
	requireNothing(t, l, start)
	l.Answered(start, oldEpoch, []message.Range{{First: 1, Last: 2}})
	requireNext(t, l, start, 0, 1_000_000)
	requireNothing(t, l, start)
}

func TestCreditMayComeBeforeItsStreamIsLoaded(t *testing.T) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 1000, Messages: 1}, nil)
	l.Credit(newEpoch, 2, 1000)
	l.Offer(items(newEpoch, 10, 1, 2, 3))
	requireNext(t, l, start, 0, 1, 2)
}

func TestAPeerThatGrantsAllAndAnswersNothingIsBounded(t *testing.T) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 1 << 60, Messages: 1 << 60}, nil)
	next := uint64(1)
	for range 1000 {
		room := l.Room()
		if room == 0 {
			break
		}
		var list []uint64
		for range room {
			list = append(list, next)
			next++
		}
		l.Offer(items(oldEpoch, 10, list...))
		for {
			if _, ok := l.Next(start, 0); !ok {
				break
			}
		}
	}
	if messages, _, _ := l.Unanswered(); messages != 65536 || l.Room() != 0 {
		t.Fatalf("%d messages unanswered, room for %d more", messages, l.Room())
	}
}

func TestCreditForManyStrangeStreamsIsForgotten(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 1}, flow.Grant{Bytes: 1000, Messages: 1}, nil)
	for i := range 1000 {
		l.Credit(message.StreamID{byte(i), byte(i >> 8)}, 100, 1000)
	}
	first, last := message.StreamID{0, 0}, message.StreamID{byte(999 & 0xff), 999 >> 8}
	l.Offer(slices.Concat(items(first, 10, 1, 2), items(last, 10, 3, 4)))
	requireNext(t, l, start, 0, 1)
	requireNext(t, l, start, 0, 2)
	requireNothing(t, l, start) // the grant's one message: the last stream's credit was not kept
	l.Credit(last, 4, 1000)
	requireNext(t, l, start, 0, 3)
}

func TestABrokenConnectionGivesBackOnlyItsOwn(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 2}, plenty, items(oldEpoch, 10, upTo(8)...))
	requireNext(t, l, start, 0, 1, 2)
	requireNext(t, l, start, 1, 3, 4)
	requireNext(t, l, start, 0, 5, 6)
	l.Lost(0)
	requireNext(t, l, start, 2, 1, 2)
	requireNext(t, l, start, 2, 5, 6)
	requireNext(t, l, start, 2, 7, 8) // what is new comes last
	requireNothing(t, l, start)
	if s := l.Stats(); s.Offered != 8 || s.Shipped != 12 || s.Resent != 4 {
		t.Fatalf("stats %+v", s)
	}
}

func TestASessionShipsAllUnansweredAnew(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 3}, plenty, items(oldEpoch, 10, upTo(6)...))
	requireNext(t, l, start, 0, 1, 2, 3)
	l.Answered(start, oldEpoch, []message.Range{{First: 2, Last: 2}})
	l.Hold(start, "no space")
	l.Begin(after(time.Hour), flow.Grant{Bytes: 1000, Messages: 3})
	if messages, _, _ := l.Unanswered(); messages != 0 {
		t.Fatalf("%d messages count as unanswered in a session that has shipped none", messages)
	}
	if b := requireNext(t, l, after(time.Hour), 0, 1, 3, 4); b.Resent != 2 {
		t.Fatalf("%d resent, want 2", b.Resent)
	}
	requireNothing(t, l, after(time.Hour)) // the grant counts anew
	messages, bytes, oldest := l.Unanswered()
	if messages != 3 || bytes != 30 || !oldest.Equal(after(time.Hour)) {
		t.Fatalf("unanswered: %d messages, %d bytes, since %v", messages, bytes, oldest)
	}
}

func TestSilenceResendsTheLowestBatchAlone(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 2}, plenty, items(oldEpoch, 10, upTo(6)...))
	requireNext(t, l, start, 0, 1, 2)
	requireNext(t, l, start, 0, 3, 4)
	requireNext(t, l, start, 0, 5, 6)
	at := time.Duration(0)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		at += wait * time.Second
		requireNothing(t, l, after(at-1))
		requireWake(t, l, after(at))
		requireNext(t, l, after(at), 0, 1, 2)
		requireNothing(t, l, after(at))
	}
	l.Answered(after(at), oldEpoch, []message.Range{{First: 1, Last: 1}})
	requireWake(t, l, after(at+time.Second)) // an answer takes the wait back to its base
	requireNext(t, l, after(at+time.Second), 0, 2)
	l.Begin(after(time.Hour), plenty)
	requireNext(t, l, after(time.Hour), 0, 2, 3)
	requireWake(t, l, after(time.Hour+time.Second)) // so does a session
	if s := l.Stats(); s.Timeouts != 8 {
		t.Fatalf("%d timeouts, want 8", s.Timeouts)
	}
}

func TestAHeldRouteProbesTheLowestAlone(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 2}, plenty, items(oldEpoch, 10, upTo(6)...))
	requireNext(t, l, start, 0, 1, 2)
	requireNext(t, l, start, 0, 3, 4)
	l.Hold(start, "queue unknown")
	at := time.Duration(0)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		at += wait * time.Second
		requireNothing(t, l, after(at-1))
		requireWake(t, l, after(at))
		requireNext(t, l, after(at), 0, 1)
		l.Hold(after(at), "still unknown")
		l.Lost(0)
		requireNothing(t, l, after(at))
	}
	if reason, ok := l.Held(); !ok || reason != "still unknown" {
		t.Fatalf("held: %q %v", reason, ok)
	}
	l.Answered(after(at), oldEpoch, []message.Range{{First: 1, Last: 1}})
	if _, ok := l.Held(); ok {
		t.Fatal("an answer does not end the hold")
	}
	requireNext(t, l, after(at), 0, 2, 3) // what the peer dropped goes again at once, two messages first
	requireNothing(t, l, after(at))
	l.Answered(after(at), oldEpoch, []message.Range{{First: 2, Last: 3}})
	requireNext(t, l, after(at), 0, 4)
	requireNext(t, l, after(at), 0, 5, 6)
}

// TestAFullPeerIsNotFlooded has a peer with room for ten messages each second and a sender with a window of a thousand.
func TestAFullPeerIsNotFlooded(t *testing.T) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 1 << 30, Messages: 1000}, items(oldEpoch, 10, upTo(2000)...))
	taken, room := uint64(0), 10
	for second := range 100 {
		now, full := after(time.Duration(second)*time.Second), false
		for !full {
			b, ok := l.Next(now, 0)
			if !ok {
				break
			}
			for _, s := range b.Items {
				if full = room == 0; full {
					l.Hold(now, "full")
					break
				}
				room--
				taken = s.Number
				l.Answered(now, oldEpoch, []message.Range{{First: s.Number, Last: s.Number}})
			}
		}
		room = 10
	}
	// The first window was shipped before the peer said anything.
	if s := l.Stats(); taken < 900 || s.Shipped > 1000+3*taken {
		t.Fatalf("%d messages taken of %d shipped", taken, s.Shipped)
	}
}

func TestAnUnreadableMessageHoldsTheLaneAtIt(t *testing.T) {
	l := begun(flow.Options{BatchMessages: 2}, plenty, items(oldEpoch, 10, upTo(8)...))
	requireNext(t, l, start, 0, 1, 2)
	requireNext(t, l, start, 0, 3, 4)
	l.HoldAt(start, oldEpoch, 7, "never shipped")
	l.HoldAt(start, newEpoch, 3, "another stream")
	if reason, ok := l.Held(); ok {
		t.Fatalf("held for %q", reason)
	}
	l.HoldAt(start, oldEpoch, 3, "too large")
	l.HoldAt(start, oldEpoch, 4, "too large as well") // it is told again in its turn
	requireNothing(t, l, start)                       // 1 and 2 are under way, 3 stops the rest
	l.Lost(0)
	requireNext(t, l, start, 1, 1, 2)
	requireNothing(t, l, start)
	requireSettled(t, l.Answered(start, oldEpoch, []message.Range{{First: 1, Last: 2}}), message.Range{First: 1, Last: 2})
	if reason, ok := l.Held(); !ok || reason != "too large" {
		t.Fatalf("held: %q %v", reason, ok)
	}
	requireNothing(t, l, start)
	requireWake(t, l, after(time.Second))
	requireNext(t, l, after(time.Second), 1, 3)
	l.HoldAt(after(time.Second), oldEpoch, 3, "too large")
	requireWake(t, l, after(3*time.Second))
	l.Answered(after(2*time.Second), oldEpoch, []message.Range{{First: 3, Last: 3}})
	requireNext(t, l, after(2*time.Second), 1, 4)
	requireNext(t, l, after(2*time.Second), 1, 5, 6)
}

func TestAnswersAreCoalescedOverWhatIsHeld(t *testing.T) {
	l := begun(flow.Options{}, plenty, slices.Concat(items(oldEpoch, 10, 2, 4, 6, 8), items(newEpoch, 10, 11, 13, 15)))
	requireNext(t, l, start, 0, 2, 4, 6, 8)
	requireSettled(t, l.Answered(start, newEpoch, []message.Range{{First: 1, Last: 99}})) // never shipped
	requireNext(t, l, start, 0, 11, 13, 15)

	requireSettled(t, l.Answered(start, oldEpoch, []message.Range{{First: 4, Last: 4}}), message.Range{First: 4, Last: 4})
	requireSettled(t, l.Answered(start, oldEpoch, []message.Range{{First: 1, Last: 6}, {First: 8, Last: 12}}),
		message.Range{First: 2, Last: 6}, message.Range{First: 8, Last: 8}) // 11 and above are another stream's
	requireSettled(t, l.Answered(start, oldEpoch, []message.Range{{First: 1, Last: 1<<64 - 1}})) // gone already
	requireSettled(t, l.Answered(start, newEpoch, []message.Range{{First: 15, Last: 11}, {First: 13, Last: 13}}), message.Range{First: 13, Last: 13})
	requireSettled(t, l.Answered(start, newEpoch, []message.Range{{First: 0, Last: 1<<64 - 1}}), message.Range{First: 11, Last: 15})
	requireNothing(t, l, start)
	requireWake(t, l, time.Time{})
}

func TestAnAnswerFromBeforeTheSessionStillSettles(t *testing.T) {
	l := begun(flow.Options{}, plenty, items(oldEpoch, 10, upTo(4)...))
	requireNext(t, l, start, 0, 1, 2, 3, 4)
	l.Begin(start, plenty)
	requireSettled(t, l.Answered(start, oldEpoch, []message.Range{{First: 2, Last: 3}}), message.Range{First: 2, Last: 3})
	b := requireNext(t, l, start, 0, 1, 4)
	if b.Items[1].Prev.Number != 1 {
		t.Fatalf("prev of 4 is %d, want 1", b.Items[1].Prev.Number)
	}
}

func TestRoomIsTwoWindows(t *testing.T) {
	l := flow.NewLane(flow.Options{BatchMessages: 100})
	for _, c := range []struct {
		messages uint64
		room     int
	}{{0, 200}, {100, 200}, {1000, 2000}, {5000, 8192}, {1 << 63, 8192}} {
		l.Begin(start, flow.Grant{Bytes: 1 << 30, Messages: c.messages})
		if got := l.Room(); got != c.room {
			t.Fatalf("room for %d with a window of %d, want %d", got, c.messages, c.room)
		}
	}
	l.Begin(start, flow.Grant{Bytes: 1 << 30, Messages: 50})
	l.Offer(items(oldEpoch, 10, upTo(180)...))
	if l.Room() != 20 {
		t.Fatalf("room for %d, want 20", l.Room())
	}
	requireNext(t, l, start, 0, upTo(50)...)
	if l.Room() != 70 {
		t.Fatalf("room for %d, want 70", l.Room())
	}
}
