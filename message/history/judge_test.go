package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"drawbridge/message"
	"drawbridge/message/history"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// forged is a clean history of two producers with three messages each, all acked, which a test then spoils.
func forged() history.History {
	var h history.History
	for turn := range 3 {
		for producer := range 2 {
			id := fmt.Sprintf("p%dt%d", producer, turn)
			sum := history.SumOf([]byte(id))
			sequence := uint64(10 + 2*turn + producer)
			h.Puts = append(h.Puts, history.Put{ID: id, Producer: producer, Turn: turn, Queue: "near", Sum: sum, BeganAt: noon, Heard: history.Stored})
			at := noon.Add(time.Duration(sequence) * time.Millisecond)
			h.Seen = append(h.Seen,
				history.Sight{ID: id, Queue: "far", Sequence: sequence, Attempt: 1, Sum: sum, At: at},
				history.Sight{ID: id, Queue: "far", Sequence: sequence, Acked: true})
		}
	}
	return h
}

// again is a later handing out of the message behind the first sight.
func again(h *history.History, sequence uint64, attempt uint32) history.Sight {
	s := h.Seen[0]
	s.Sequence, s.Attempt = sequence, attempt
	return s
}

// unacked takes away the answer to the first message's ack.
func unacked(h *history.History) { h.Seen = slices.Delete(h.Seen, 1, 2) }

// unseen takes away all that was seen of the first message.
func unseen(h *history.History) { h.Seen = h.Seen[2:] }

// left is the first message as it lies in a queue.
func left(queue string, sequence uint64, reason message.Reason) history.Copy {
	return history.Copy{ID: "p0t0", Queue: queue, Sequence: sequence, Sum: history.SumOf([]byte("p0t0")), Reason: reason}
}

func (c *spoiled) leave(copies ...history.Copy) { c.h.Left = append(c.h.Left, copies...) }

// requeue notes that an operator found the first message dead, and requeued it.
func (c *spoiled) requeue(queue string, reason message.Reason, done bool) {
	c.h.Requeued = append(c.h.Requeued, history.Requeue{ID: "p0t0", Queue: queue, Reason: reason, Done: done})
}

// spoiled is a history in the hands of a forger, and what the judge should say of it.
type spoiled struct {
	h    history.History
	want history.Findings
}

func TestJudgeFindsEachFault(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(c *spoiled)
		fault string
	}{
		{"clean", func(*spoiled) {}, ""},
		{"never handed out", func(c *spoiled) { unseen(&c.h); c.want.Delivered, c.want.Lost = 5, 1 }, "lost: p0t0"},
		{"a duplicate never handed out", func(c *spoiled) {
			unseen(&c.h)
			c.h.Puts[0].Heard = history.Duplicate
			c.want.Delivered, c.want.Lost = 5, 1
		}, "lost: p0t0"},
		{"no answer and never handed out", func(c *spoiled) {
			unseen(&c.h)
			c.h.Puts[0].Heard = history.Unknown
			c.want.Stored, c.want.Delivered = 5, 5
		}, ""},
		{"no answer and handed out", func(c *spoiled) {
			c.h.Puts[0].Heard = history.Unknown
			c.want.Stored, c.want.Delivered = 5, 5
		}, ""},
		{"refused and handed out", func(c *spoiled) {
			c.h.Puts[0].Heard = history.Refused
			c.want.Stored, c.want.Delivered, c.want.Invented = 5, 5, 1
		}, "invented: p0t0"},
		{"refused in the end after no answer, and handed out", func(c *spoiled) {
			c.h.Puts[0].Heard = history.Unknown
			again := c.h.Puts[0]
			again.Heard = history.Refused
			c.h.Puts = append(c.h.Puts, again)
			c.want.Stored, c.want.Delivered = 5, 5
		}, ""},
		{"id in use with other content", func(c *spoiled) {
			other := c.h.Puts[0]
			other.Turn, other.Sum, other.Heard = 3, history.SumOf([]byte("other")), history.Conflict
			c.h.Puts = append(c.h.Puts, other)
		}, ""},
		{"the content that was a conflict is handed out", func(c *spoiled) {
			other := c.h.Puts[0]
			other.Turn, other.Sum, other.Heard = 3, history.SumOf([]byte("other")), history.Conflict
			c.h.Puts = append(c.h.Puts, other)
			c.h.Seen[0].Sum = other.Sum
			c.want.Corrupt = 1
		}, "corrupt: p0t0"},
		{"stored twice", func(c *spoiled) {
			other := c.h.Puts[0]
			other.Turn = 3
			c.h.Puts = append(c.h.Puts, other)
			c.want.Doubled = 1
		}, "doubled: p0t0 was answered as stored twice"},
		{"stored, and put again", func(c *spoiled) {
			other := c.h.Puts[0]
			other.Turn, other.Heard = 3, history.Duplicate
			c.h.Puts = append(c.h.Puts, other)
		}, ""},
		{"a duplicate of other bytes", func(c *spoiled) {
			other := c.h.Puts[0]
			other.Turn, other.Heard, other.Sum = 3, history.Duplicate, history.SumOf([]byte("other"))
			c.h.Puts = append(c.h.Puts, other)
			c.want.Corrupt = 1
		}, "corrupt: p0t0 was answered as a duplicate of other bytes"},
		{"placed by a try without an answer", func(c *spoiled) {
			later := c.h.Puts[0]
			c.h.Puts[0].Heard = history.Unknown
			later.Turn, later.Heard = 3, history.Duplicate
			c.h.Puts = append(c.h.Puts, later)
		}, ""},
		{"two sequences", func(c *spoiled) {
			unacked(&c.h)
			c.h.Seen = append(c.h.Seen, again(&c.h, 99, 1))
			c.want.Doubled = 1
		}, "doubled: p0t0 was handed out with sequence 10 of far, and with sequence 99 of far"},
		{"two queues", func(c *spoiled) {
			unacked(&c.h)
			other := again(&c.h, 10, 2)
			other.Queue = "elsewhere"
			c.h.Seen = append(c.h.Seen, other)
			c.want.Doubled = 1
		}, "and with sequence 10 of elsewhere"},
		{"two sequences, often", func(c *spoiled) {
			c.h.Seen = append(c.h.Seen, again(&c.h, 99, 1), again(&c.h, 99, 2), again(&c.h, 7, 1))
			c.want.Doubled = 1
		}, "doubled: p0t0"},
		{"handed out after its ack was answered", func(c *spoiled) {
			c.h.Seen = append(c.h.Seen, again(&c.h, 10, 2))
			c.want.Doubled = 1
		}, "after its ack was answered"},
		{"the same delivery twice", func(c *spoiled) {
			unacked(&c.h)
			c.h.Seen = append(c.h.Seen, again(&c.h, 10, 1))
			c.want.Doubled = 1
		}, "as delivery 1 after delivery 1"},
		{"redelivered", func(c *spoiled) {
			unacked(&c.h)
			c.h.Seen = append(c.h.Seen, again(&c.h, 10, 2), again(&c.h, 10, 4))
			c.want.Redelivered = 2
		}, ""},
		{"redelivered, then acked, then again", func(c *spoiled) {
			unacked(&c.h)
			c.h.Seen = append(c.h.Seen, again(&c.h, 10, 2), history.Sight{ID: "p0t0", Queue: "far", Sequence: 10, Acked: true}, again(&c.h, 10, 3))
			c.want.Redelivered, c.want.Doubled = 1, 1
		}, "after its ack was answered"},
		{"lower than an earlier turn", func(c *spoiled) {
			c.h.Seen[8].Sequence, c.h.Seen[9].Sequence = 9, 9
			c.want.OutOfOrder = 1
		}, "out of order: p0t2 (producer 0, turn 2) has sequence 9, turn 1 has 12"},
		{"lower than an earlier turn of another priority", func(c *spoiled) {
			c.h.Seen[8].Sequence, c.h.Seen[9].Sequence = 9, 9
			c.h.Puts[4].Priority = 7
		}, ""},
		{"lower than an earlier turn of another queue", func(c *spoiled) {
			c.h.Seen[8].Sequence, c.h.Seen[9].Sequence = 9, 9
			c.h.Puts[4].Queue = "second"
		}, ""},
		{"seen late in its place", func(c *spoiled) { c.h.Seen = append(c.h.Seen[2:], c.h.Seen[:2]...) }, ""},
		{"puts told in another order", func(c *spoiled) { slices.Reverse(c.h.Puts) }, ""},
		{"other bytes", func(c *spoiled) { c.h.Seen[4].Sum[31] ^= 1; c.want.Corrupt = 1 }, "corrupt: p0t1"},
		{"another message's bytes", func(c *spoiled) {
			c.h.Seen[4].Sum, c.h.Seen[6].Sum = c.h.Seen[6].Sum, c.h.Seen[4].Sum
			c.want.Corrupt = 2
		}, "corrupt: p0t1"},
		{"put by nobody", func(c *spoiled) {
			c.h.Seen = append(c.h.Seen, history.Sight{ID: "ghost", Sequence: 50, Attempt: 1})
			c.want.Invented = 1
		}, "invented: ghost"},
		{"left by nobody", func(c *spoiled) { c.leave(history.Copy{ID: "ghost", Queue: "far"}); c.want.Invented = 1 }, "invented: ghost is left in far"},
		{"still waiting", func(c *spoiled) {
			unseen(&c.h)
			c.leave(left("near", 3, ""))
			c.want.Delivered, c.want.Waiting = 5, 1
		}, ""},
		{"leased and still there", func(c *spoiled) { unacked(&c.h); c.leave(left("far", 10, "")) }, ""},
		{"acked and still there", func(c *spoiled) { c.leave(left("far", 10, "")); c.want.Doubled = 1 }, "after its ack was answered"},
		{"delivered and still at its source", func(c *spoiled) {
			unacked(&c.h)
			c.leave(left("near", 3, ""))
			c.want.Doubled = 1
		}, "is left with sequence 3 of near"},
		{"twice in the queues", func(c *spoiled) {
			unseen(&c.h)
			c.leave(left("near", 3, ""), left("far", 10, ""))
			c.want.Delivered, c.want.Waiting, c.want.Doubled = 5, 1, 1
		}, "doubled: p0t0 is left with sequence 3 of near, and with sequence 10 of far"},
		{"left with other bytes", func(c *spoiled) {
			unseen(&c.h)
			c.leave(history.Copy{ID: "p0t0", Queue: "near"})
			c.want.Delivered, c.want.Waiting, c.want.Corrupt = 5, 1, 1
		}, "corrupt: p0t0 is left in near"},
		{"dead letter", func(c *spoiled) {
			unseen(&c.h)
			c.leave(left("near", 3, message.ReasonHorizonPassed))
			c.want.Delivered, c.want.Dead = 5, 1
		}, ""},
		{"dead letter twice", func(c *spoiled) {
			unseen(&c.h)
			c.leave(left("near", 3, message.ReasonTTL), left("far", 4, message.ReasonTTL))
			c.want.Delivered, c.want.Dead, c.want.Doubled = 5, 1, 1
		}, "doubled: p0t0 is a dead letter of near, and of far"},
		{"delivered, and a dead letter at its source", func(c *spoiled) {
			c.leave(left("near", 3, message.ReasonHorizonPassed))
			c.want.Both = 1
		}, "both: p0t0 is a dead letter of near (horizon-passed)"},
		{"handed out without an ack, and a dead letter at its source", func(c *spoiled) {
			unacked(&c.h)
			c.leave(left("near", 3, message.ReasonTTL))
			c.want.Both = 1
		}, "both: p0t0"},
		{"delivered, and in doubt", func(c *spoiled) { c.leave(left("near", 3, message.ReasonInDoubt)) }, ""},
		{"waiting, and a dead letter", func(c *spoiled) {
			unseen(&c.h)
			c.leave(left("near", 3, message.ReasonTTL), left("far", 10, ""))
			c.want.Delivered, c.want.Waiting, c.want.Both = 5, 1, 1
		}, "both: p0t0"},
		{"handed out too often", func(c *spoiled) { unacked(&c.h); c.leave(left("far", 3, message.ReasonMaxDeliveries)) }, ""},
		{"acked, and a dead letter where it was", func(c *spoiled) {
			c.leave(left("far", 3, message.ReasonMaxDeliveries))
			c.want.Both = 1
		}, "both: p0t0"},
		{"dead, requeued, and acked in the next generation", func(c *spoiled) {
			c.requeue("near", message.ReasonHorizonPassed, true)
			c.h.Seen[0].Generation, c.h.Seen[1].Generation = 1, 1
			c.want.Requeued = 1
		}, ""},
		{"requeued at the far side after it was handed out there", func(c *spoiled) {
			unacked(&c.h)
			second := again(&c.h, 99, 1)
			second.Generation, second.Kept = 1, true
			c.h.Seen[0].Kept = true
			c.h.Seen = append(c.h.Seen, second)
			c.requeue("far", message.ReasonMaxDeliveries, true)
			c.leave(history.Copy{ID: "p0t0", Generation: 1, Queue: "far", Sequence: 99, Sum: second.Sum, Reason: message.ReasonRejected})
			c.want.Requeued = 1
		}, ""},
		{"requeued without an answer, and still dead", func(c *spoiled) {
			unseen(&c.h)
			c.requeue("near", message.ReasonHorizonPassed, false)
			c.leave(left("near", 3, message.ReasonHorizonPassed))
			c.want.Delivered, c.want.Dead = 5, 1
		}, ""},
		{"requeued without an answer, and nowhere", func(c *spoiled) {
			unseen(&c.h)
			c.requeue("near", message.ReasonHorizonPassed, false)
			c.want.Delivered, c.want.Lost = 5, 1
		}, "lost: p0t0"},
		{"requeued, and nowhere since", func(c *spoiled) {
			unacked(&c.h)
			c.requeue("far", message.ReasonMaxDeliveries, true)
			c.want.Delivered, c.want.Lost, c.want.Requeued = 5, 1, 1
		}, "ended by nobody, in generation 1"},
		{"requeued, and still dead", func(c *spoiled) {
			c.requeue("near", message.ReasonHorizonPassed, true)
			c.h.Seen[0].Generation, c.h.Seen[1].Generation = 1, 1
			c.leave(left("near", 3, message.ReasonHorizonPassed))
			c.want.Requeued, c.want.Doubled = 1, 1
		}, "doubled: p0t0 is left as a dead letter"},
		{"requeued twice in one generation", func(c *spoiled) {
			c.requeue("near", message.ReasonHorizonPassed, true)
			c.requeue("near", message.ReasonHorizonPassed, true)
			c.h.Seen[0].Generation, c.h.Seen[1].Generation = 1, 1
			c.want.Requeued, c.want.Doubled = 2, 1
		}, "requeued twice"},
		{"delivered in the generation that died, and requeued", func(c *spoiled) {
			c.requeue("near", message.ReasonHorizonPassed, false)
			c.want.Both = 1
		}, "both: p0t0 is a dead letter of near (horizon-passed)"},
		{"twice in the generation after the requeue", func(c *spoiled) {
			c.requeue("near", message.ReasonHorizonPassed, true)
			c.h.Seen[0].Generation, c.h.Seen[1].Generation = 1, 1
			second := again(&c.h, 99, 2)
			c.h.Seen = append(c.h.Seen, second)
			c.want.Requeued, c.want.Doubled = 1, 1
		}, "and with sequence 99 of far"},
		{"in a generation that nobody began", func(c *spoiled) {
			c.h.Seen[0].Generation, c.h.Seen[1].Generation = 1, 1
			c.want.Invented = 1
		}, "invented: generation 1 of p0t0"},
		{"requeued to a place below its successors", func(c *spoiled) {
			c.requeue("near", message.ReasonHorizonPassed, true)
			c.h.Seen[0].Generation, c.h.Seen[1].Generation = 1, 1
			c.h.Seen[0].Sequence, c.h.Seen[1].Sequence = 99, 99
			c.want.Requeued = 1
		}, ""},
		{"kept by its consumer, and nowhere", func(c *spoiled) {
			unacked(&c.h)
			c.h.Seen[0].Kept = true
			c.want.Delivered, c.want.Lost = 5, 1
		}, "lost: p0t0 (producer 0, turn 0) was handed out and ended by nobody"},
		{"kept by one consumer, and acked by another without an answer", func(c *spoiled) {
			unacked(&c.h)
			c.h.Seen[0].Kept = true
			c.h.Seen = append(c.h.Seen, again(&c.h, 10, 2))
			c.h.Seen[len(c.h.Seen)-1].Kept = false
			c.want.Redelivered = 1
		}, ""},
		{"figure as seen", func(c *spoiled) {
			c.h.Figures = append(c.h.Figures, history.Figure{Of: "messages of far", Says: 2, Least: 2, Most: 4})
		}, ""},
		{"figure too low", func(c *spoiled) {
			c.h.Figures = append(c.h.Figures, history.Figure{Of: "messages of far", Says: 1, Least: 2, Most: 4})
			c.want.Lying = 1
		}, "lying: messages of far is told as 1 and is 2 to 4"},
		{"figure too high", func(c *spoiled) {
			c.h.Figures = append(c.h.Figures, history.Figure{Of: "messages of far", Says: 5, Least: 2, Most: 4})
			c.want.Lying = 1
		}, "lying: messages of far"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spoiled{forged(), history.Findings{Stored: 6, Delivered: 6}}
			c.spoil(&s)
			got := history.Judge(s.h)
			faults := strings.Join(got.Faults, "\n")
			if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
				t.Errorf("faults %q, want one with %q", faults, c.fault)
			}
			if got.Clean() != (c.fault == "") {
				t.Errorf("clean: %v", got.Clean())
			}
			got.Faults = nil
			if fmt.Sprint(got) != fmt.Sprint(s.want) {
				t.Errorf("\n got %+v\nwant %+v", got, s.want)
			}
		})
	}
}

func TestJudgeDescribesOnlyTheFirstFaults(t *testing.T) {
	h := forged()
	h.Seen = nil
	f := history.Judge(h)
	if f.Lost != 6 || len(f.Faults) != 3 {
		t.Errorf("lost %d, described %d, want 6 and 3", f.Lost, len(f.Faults))
	}
}

func TestJudgeOfNothingIsClean(t *testing.T) {
	if f := history.Judge(history.History{}); !f.Clean() || f.Stored != 0 {
		t.Errorf("%+v", f)
	}
}

func TestLatencyEndsAtTheFirstHandingOut(t *testing.T) {
	h := forged()
	late := again(&h, 10, 2)
	late.At = noon.Add(time.Hour)
	h.Seen = append(h.Seen, late)
	got := history.Latencies(h)
	if len(got) != 6 || got[0] != 10*time.Millisecond || got[5] != 15*time.Millisecond {
		t.Errorf("latencies %v, want 10ms to 15ms", got)
	}
}
