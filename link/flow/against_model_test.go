package flow_test

import (
	"reflect"
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"

	"pgregory.net/rapid"
)

// requireSettle checks that ranges are what a spool may settle: they hold each number that ended and none that is held.
func (m *model) requireSettle(t *rapid.T, ranges []message.Range, ended map[uint64]bool) {
	covered := map[uint64]bool{}
	for _, r := range ranges {
		for _, it := range m.list {
			if it.Number < r.First || it.Number > r.Last {
				continue
			}
			if !it.ended {
				t.Fatalf("settles %v, which holds %d", ranges, it.Number)
			}
			covered[it.Number] = true
		}
	}
	for n := range ended {
		if !covered[n] {
			t.Fatalf("%d ended and is not in %v", n, ranges)
		}
	}
	if len(ended) == 0 && len(ranges) > 0 {
		t.Fatalf("settles %v though nothing ended", ranges)
	}
}

func TestLaneDoesWhatTheModelDoes(t *testing.T) {
	for range 20 { // rare meetings, such as a refusal behind a held route, need a few thousand runs
		rapid.Check(t, laneAgainstModel)
	}
}

func laneAgainstModel(t *rapid.T) {
	o := flow.Options{
		BatchBytes: rapid.SampledFrom([]int{100, 1000}).Draw(t, "bytes"), BatchMessages: rapid.IntRange(1, 6).Draw(t, "batch"),
		ResendAfter: time.Second, ResendMax: 10 * time.Second, Probe: 2 * time.Second, ProbeMax: 15 * time.Second,
	}
	lane, m := flow.NewLane(o), newModel(o)
	now, stream := start, byte(1)
	number := uint64(rapid.IntRange(0, 3).Draw(t, "before"))

	someStream := rapid.Custom(func(t *rapid.T) message.StreamID {
		return message.StreamID{byte(rapid.IntRange(max(1, int(stream)-2), int(stream)+1).Draw(t, "stream"))}
	})
	someRange := rapid.Custom(func(t *rapid.T) message.Range {
		low := uint64(0)
		if i := m.lowest(); i >= 0 {
			low = m.list[i].Number
		}
		first := low + uint64(rapid.IntRange(0, 8).Draw(t, "first"))
		return message.Range{First: first, Last: first + uint64(rapid.IntRange(0, 12).Draw(t, "more"))}
	})
	grant := rapid.Custom(func(t *rapid.T) flow.Grant {
		return flow.Grant{Bytes: uint64(rapid.IntRange(0, 600).Draw(t, "bytes")), Messages: uint64(rapid.IntRange(0, 20).Draw(t, "messages"))}
	})

	t.Repeat(map[string]func(*rapid.T){
		"offer": func(t *rapid.T) {
			var list []flow.Item
			for range rapid.IntRange(1, 12).Draw(t, "items") {
				if rapid.IntRange(0, 9).Draw(t, "epoch") == 0 {
					stream++
				}
				number += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
				list = append(list, items(message.StreamID{stream}, rapid.IntRange(0, 120).Draw(t, "size"), number)...)
				if rapid.IntRange(0, 5).Draw(t, "ends") == 0 {
					it := &list[len(list)-1]
					it.Until, it.Cause = now.Add(time.Duration(rapid.IntRange(-2, 40).Draw(t, "until"))*time.Second), message.ReasonTTL
				}
			}
			lane.Offer(list)
			m.offer(list)
		},
		"next": func(t *rapid.T) {
			via := rapid.IntRange(0, 3).Draw(t, "via")
			for range rapid.IntRange(1, 5).Draw(t, "batches") {
				got, ok := lane.Next(now, via)
				want, wantOK := m.next(now, via)
				if ok != wantOK || !reflect.DeepEqual(got, want) {
					t.Fatalf("ships %v %+v, want %v %+v", ok, got, wantOK, want)
				}
				if wake := lane.Wake(); !ok && !wake.IsZero() && !wake.After(now) {
					t.Fatalf("nothing to ship, yet to be asked again %v ago", now.Sub(wake))
				}
			}
		},
		"pass": func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
		},
		"sleep": func(t *rapid.T) {
			wake := lane.Wake()
			if wake.IsZero() || !wake.After(now) {
				t.Skip("something else must happen first")
			}
			// Whatever the lane has to say before it wakes, it would have said at once.
			for {
				got, ok := lane.Next(now, 0)
				want, wantOK := m.next(now, 0)
				if ok != wantOK || !reflect.DeepEqual(got, want) {
					t.Fatalf("ships %v %+v, want %v %+v", ok, got, wantOK, want)
				}
				if !ok {
					break
				}
			}
			wake = lane.Wake()
			if wake.IsZero() {
				t.Fatal("something was shipped or held, yet the lane never wakes")
			}
			now = wake
			got, ok := lane.Next(now, 0)
			want, _ := m.next(now, 0)
			if !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("woke to ship %v %+v, want %+v", ok, got, want)
			}
		},
		"answer": func(t *rapid.T) {
			id := someStream.Draw(t, "of")
			ranges := rapid.SliceOfN(someRange, 1, 4).Draw(t, "ranges")
			got := lane.Answered(now, id, ranges)
			m.requireSettle(t, got, m.answered(now, id, ranges))
		},
		"lose": func(t *rapid.T) {
			via := rapid.IntRange(0, 3).Draw(t, "via")
			lane.Lost(via)
			m.giveBack(0, func(it modelItem) bool { return it.via == via })
		},
		"begin": func(t *rapid.T) {
			g := grant.Draw(t, "grant")
			lane.Begin(now, g)
			m.begin(now, g)
		},
		"credit": func(t *rapid.T) {
			id, g := someStream.Draw(t, "of"), grant.Draw(t, "credit")
			through := uint64(max(0, int(number)-10)) + g.Messages
			lane.Credit(id, through, g.Bytes)
			m.through[id], m.bytes = through, g.Bytes
		},
		"hold": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
				t.Skip("not now")
			}
			lane.Hold(now, "full")
			m.hold(now)
		},
		"hold at": func(t *rapid.T) {
			id, r := someStream.Draw(t, "of"), someRange.Draw(t, "range")
			lane.HoldAt(now, id, r.First, "unreadable")
			m.holdAt(now, id, r.First)
		},
		"close": func(t *rapid.T) {
			id, r := someStream.Draw(t, "of"), someRange.Draw(t, "range")
			cause := rapid.SampledFrom([]message.Reason{message.ReasonTooLarge, message.ReasonLoop}).Draw(t, "cause")
			lane.Close(now, id, r, cause)
			m.close(now, id, r, cause)
		},
		"": func(t *rapid.T) {
			messages, bytes, oldest := lane.Unanswered()
			wantMessages, wantBytes, wantOldest := m.unanswered()
			if messages != wantMessages || bytes != wantBytes || !oldest.Equal(wantOldest) {
				t.Fatalf("unanswered %d, %d bytes, since %v; want %d, %d, %v", messages, bytes, oldest, wantMessages, wantBytes, wantOldest)
			}
			if _, held := lane.Held(); held != (m.route.on || m.refused.on) {
				t.Fatalf("held: %v", held)
			}
		},
	})
}
