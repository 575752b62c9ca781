package demo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"drawbridge/cmd/drawbridge/demo"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// forged is a clean history of two producers with three messages each, all acked, which a test then spoils.
func forged() demo.History {
	var h demo.History
	for turn := range 3 {
		for producer := range 2 {
			id := fmt.Sprintf("p%dt%d", producer, turn)
			sum := demo.SumOf([]byte(id))
			sequence := uint64(10 + 2*turn + producer)
			h.Puts = append(h.Puts, demo.Put{ID: id, Producer: producer, Turn: turn, Sum: sum, BeganAt: noon, Stored: true})
			at := noon.Add(time.Duration(sequence) * time.Millisecond)
			h.Seen = append(h.Seen,
				demo.Sight{ID: id, Sequence: sequence, Attempt: 1, Sum: sum, At: at},
				demo.Sight{ID: id, Sequence: sequence, Acked: true})
		}
	}
	return h
}

// again is a later handing out of the message behind the first sight.
func again(h demo.History, sequence uint64, attempt uint32) demo.Sight {
	s := h.Seen[0]
	s.Sequence, s.Attempt = sequence, attempt
	return s
}

// unacked takes away the answer to the first message's ack.
func unacked(h *demo.History) { h.Seen = slices.Delete(h.Seen, 1, 2) }

func TestJudgeFindsEachFault(t *testing.T) {
	clean := demo.Findings{Stored: 6, Delivered: 6}
	for _, c := range []struct {
		name  string
		spoil func(h *demo.History)
		want  func(f *demo.Findings)
		fault string
	}{
		{"clean", func(*demo.History) {}, func(*demo.Findings) {}, ""},
		{"never handed out", func(h *demo.History) { h.Seen = h.Seen[2:] },
			func(f *demo.Findings) { f.Delivered, f.Lost = 5, 1 }, "lost: p0t0"},
		{"not stored and never handed out", func(h *demo.History) { h.Seen = h.Seen[2:]; h.Puts[0].Stored = false },
			func(f *demo.Findings) { f.Stored, f.Delivered = 5, 5 }, ""},
		{"no answer and handed out", func(h *demo.History) { h.Puts[0].Stored = false },
			func(f *demo.Findings) { f.Stored, f.Delivered = 5, 5 }, ""},
		{"two sequences", func(h *demo.History) { unacked(h); h.Seen = append(h.Seen, again(*h, 99, 1)) },
			func(f *demo.Findings) { f.Doubled = 1 }, "doubled: p0t0 was handed out with sequence 10, and with 99"},
		{"two sequences, often", func(h *demo.History) { h.Seen = append(h.Seen, again(*h, 99, 1), again(*h, 99, 2), again(*h, 7, 1)) },
			func(f *demo.Findings) { f.Doubled = 1 }, "doubled: p0t0"},
		{"handed out after its ack was answered", func(h *demo.History) { h.Seen = append(h.Seen, again(*h, 10, 2)) },
			func(f *demo.Findings) { f.Doubled = 1 }, "after its ack was answered"},
		{"the same delivery twice", func(h *demo.History) { unacked(h); h.Seen = append(h.Seen, again(*h, 10, 1)) },
			func(f *demo.Findings) { f.Doubled = 1 }, "as delivery 1 after delivery 1"},
		{"redelivered", func(h *demo.History) { unacked(h); h.Seen = append(h.Seen, again(*h, 10, 2), again(*h, 10, 4)) },
			func(f *demo.Findings) { f.Redelivered = 2 }, ""},
		{"redelivered, then acked, then again", func(h *demo.History) {
			unacked(h)
			h.Seen = append(h.Seen, again(*h, 10, 2), demo.Sight{ID: "p0t0", Sequence: 10, Acked: true}, again(*h, 10, 3))
		}, func(f *demo.Findings) { f.Redelivered, f.Doubled = 1, 1 }, "after its ack was answered"},
		{"lower than an earlier turn", func(h *demo.History) { h.Seen[8].Sequence, h.Seen[9].Sequence = 9, 9 },
			func(f *demo.Findings) { f.OutOfOrder = 1 }, "out of order: p0t2 (producer 0, turn 2) has sequence 9, turn 1 has 12"},
		{"seen late in its place", func(h *demo.History) { h.Seen = append(h.Seen[2:], h.Seen[:2]...) },
			func(*demo.Findings) {}, ""},
		{"puts told in another order", func(h *demo.History) { slices.Reverse(h.Puts) },
			func(*demo.Findings) {}, ""},
		{"other bytes", func(h *demo.History) { h.Seen[4].Sum[31] ^= 1 },
			func(f *demo.Findings) { f.Corrupt = 1 }, "corrupt: p0t1"},
		{"another message's bytes", func(h *demo.History) { h.Seen[4].Sum, h.Seen[6].Sum = h.Seen[6].Sum, h.Seen[4].Sum },
			func(f *demo.Findings) { f.Corrupt = 2 }, "corrupt: p0t1"},
		{"put by nobody", func(h *demo.History) { h.Seen = append(h.Seen, demo.Sight{ID: "ghost", Sequence: 50, Attempt: 1}) },
			func(f *demo.Findings) { f.Invented = 1 }, "invented: ghost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, want := forged(), clean
			c.spoil(&h)
			c.want(&want)
			got := demo.Judge(h)
			faults := strings.Join(got.Faults, "\n")
			if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
				t.Errorf("faults %q, want one with %q", faults, c.fault)
			}
			if got.Clean() != (c.fault == "") {
				t.Errorf("clean: %v", got.Clean())
			}
			got.Faults = nil
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestJudgeDescribesOnlyTheFirstFaults(t *testing.T) {
	h := forged()
	h.Seen = nil
	f := demo.Judge(h)
	if f.Lost != 6 || len(f.Faults) != 3 {
		t.Errorf("lost %d, described %d, want 6 and 3", f.Lost, len(f.Faults))
	}
}

func TestJudgeOfNothingIsClean(t *testing.T) {
	if f := demo.Judge(demo.History{}); !f.Clean() || f.Stored != 0 {
		t.Errorf("%+v", f)
	}
}

func TestLatencyEndsAtTheFirstHandingOut(t *testing.T) {
	h := forged()
	late := again(h, 10, 2)
	late.At = noon.Add(time.Hour)
	h.Seen = append(h.Seen, late)
	got := demo.Latencies(h)
	if len(got) != 6 || got[0] != 10*time.Millisecond || got[5] != 15*time.Millisecond {
		t.Errorf("latencies %v, want 10ms to 15ms", got)
	}
}
