package history_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/message/history"
)

// world draws a history in which everything is as promised.
type world struct {
	t *rapid.T
	h history.History
	// next is the next sequence of each queue at the far side.
	next map[string]uint64
}

func drawWorld(t *rapid.T) history.History {
	w := &world{t: t, next: make(map[string]uint64)}
	producers := rapid.IntRange(1, 4).Draw(t, "producers")
	turns := rapid.IntRange(1, 20).Draw(t, "turns")
	for turn := range turns {
		for producer := range producers {
			w.put(producer, turn)
		}
	}
	held := uint64(len(w.h.Left))
	w.h.Figures = []history.Figure{{Of: "messages", Says: held, Least: held, Most: held}}
	return w.h
}

func (w *world) put(producer, turn int) {
	id := fmt.Sprintf("%d-%d", producer, turn)
	queue := rapid.SampledFrom([]string{"x", "y"}).Draw(w.t, "queue")
	p := history.Put{
		ID: id, Producer: producer, Turn: turn, Queue: "near/" + queue, Sum: history.SumOf([]byte(id)),
		Priority: uint8(rapid.IntRange(0, 2).Draw(w.t, "priority")),
		Heard:    rapid.SampledFrom([]history.Heard{history.Stored, history.Stored, history.Duplicate, history.Unknown, history.Refused}).Draw(w.t, "heard"),
	}
	w.h.Puts = append(w.h.Puts, p)
	if p.Heard == history.Refused || p.Heard == history.Unknown && rapid.Bool().Draw(w.t, "not stored") {
		return
	}
	far := "far/" + queue
	w.next[far]++
	sequence := w.next[far]
	switch rapid.SampledFrom([]string{"acked", "acked", "leased", "waiting", "dead", "died here", "requeued"}).Draw(w.t, "end") {
	case "acked":
		w.see(p, far, sequence)
		w.h.Seen = append(w.h.Seen, history.Sight{ID: id, Queue: far, Sequence: sequence, Acked: true})
	case "leased":
		w.see(p, far, sequence)
		w.leave(p, far, sequence, "")
	case "waiting":
		w.leave(p, far, sequence, "")
	case "dead":
		w.leave(p, p.Queue, sequence, message.ReasonTTL)
	case "died here":
		w.see(p, far, sequence)
		w.leave(p, far, sequence, message.ReasonMaxDeliveries)
	case "requeued":
		w.h.Requeued = append(w.h.Requeued, history.Requeue{ID: id, Queue: p.Queue, Reason: message.ReasonHorizonPassed, Done: true})
		w.h.Seen = append(w.h.Seen,
			history.Sight{ID: id, Generation: 1, Queue: far, Sequence: sequence, Attempt: 1, Sum: p.Sum},
			history.Sight{ID: id, Generation: 1, Queue: far, Sequence: sequence, Acked: true})
	}
}

func (w *world) see(p history.Put, queue string, sequence uint64) {
	attempt := uint32(0)
	for range rapid.IntRange(1, 3).Draw(w.t, "deliveries") {
		attempt += uint32(rapid.IntRange(1, 2).Draw(w.t, "counted"))
		w.h.Seen = append(w.h.Seen, history.Sight{ID: p.ID, Queue: queue, Sequence: sequence, Attempt: attempt, Sum: p.Sum})
	}
}

func (w *world) leave(p history.Put, queue string, sequence uint64, reason message.Reason) {
	w.h.Left = append(w.h.Left, history.Copy{ID: p.ID, Queue: queue, Sequence: sequence, Sum: p.Sum, Reason: reason})
}

// forgery changes one thing, and reports whether the history had what it changes. Found is the count that must then be 1.
type forgery struct {
	name  string
	forge func(t *rapid.T, h *history.History) bool
	found func(f *history.Findings) int
}

func pick[T any](t *rapid.T, from []T, fits func(*T) bool) *T {
	var fitting []int
	for i := range from {
		if fits(&from[i]) {
			fitting = append(fitting, i)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return &from[rapid.SampledFrom(fitting).Draw(t, "victim")]
}

func stored(p *history.Put) bool   { return p.Heard == history.Stored || p.Heard == history.Duplicate }
func handed(s *history.Sight) bool { return !s.Acked }
func acked(s *history.Sight) bool  { return s.Acked }

var forgeries = []forgery{
	{"lost", func(t *rapid.T, h *history.History) bool {
		p := pick(t, h.Puts, stored)
		if p == nil {
			return false
		}
		h.Seen = slices.DeleteFunc(h.Seen, func(s history.Sight) bool { return s.ID == p.ID })
		h.Left = slices.DeleteFunc(h.Left, func(c history.Copy) bool { return c.ID == p.ID })
		return true
	}, func(f *history.Findings) int { return f.Lost }},
	{"doubled", func(t *rapid.T, h *history.History) bool {
		s := pick(t, h.Seen, handed)
		if s == nil {
			return false
		}
		second := *s
		second.Sequence += 1000
		h.Seen = append(h.Seen, second)
		return true
	}, func(f *history.Findings) int { return f.Doubled }},
	{"after its ack", func(t *rapid.T, h *history.History) bool {
		s := pick(t, h.Seen, acked)
		if s == nil {
			return false
		}
		second := *pick(t, h.Seen, func(o *history.Sight) bool { return o.ID == s.ID && !o.Acked })
		second.Attempt += 10
		h.Seen = append(h.Seen, second)
		return true
	}, func(f *history.Findings) int { return f.Doubled }},
	{"corrupt", func(t *rapid.T, h *history.History) bool {
		s := pick(t, h.Seen, func(s *history.Sight) bool {
			return handed(s) && slices.ContainsFunc(h.Puts, func(p history.Put) bool { return p.ID == s.ID && stored(&p) })
		})
		if s == nil {
			return false
		}
		s.Sum[rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1
		return true
	}, func(f *history.Findings) int { return f.Corrupt }},
	{"invented", func(t *rapid.T, h *history.History) bool {
		h.Seen = append(h.Seen, history.Sight{ID: "ghost", Queue: "far/x", Sequence: 7, Attempt: 1})
		return true
	}, func(f *history.Findings) int { return f.Invented }},
	{"both", func(t *rapid.T, h *history.History) bool {
		s := pick(t, h.Seen, acked)
		if s == nil {
			return false
		}
		put := pick(t, h.Puts, func(p *history.Put) bool { return p.ID == s.ID })
		h.Left = append(h.Left, history.Copy{ID: s.ID, Generation: s.Generation, Queue: put.Queue, Sum: put.Sum, Reason: message.ReasonHorizonPassed})
		return true
	}, func(f *history.Findings) int { return f.Both }},
	{"requeued by nobody", func(t *rapid.T, h *history.History) bool {
		s := pick(t, h.Seen, func(s *history.Sight) bool {
			return handed(s) && slices.ContainsFunc(h.Puts, func(p history.Put) bool { return p.ID == s.ID && stored(&p) })
		})
		if s == nil {
			return false
		}
		second := *s
		second.Generation += 2
		h.Seen = append(h.Seen, second)
		return true
	}, func(f *history.Findings) int { return f.Invented }},
	{"requeued and gone", func(t *rapid.T, h *history.History) bool {
		r := pick(t, h.Requeued, func(r *history.Requeue) bool {
			return slices.ContainsFunc(h.Puts, func(p history.Put) bool { return p.ID == r.ID && stored(&p) })
		})
		if r == nil {
			return false
		}
		h.Seen = slices.DeleteFunc(h.Seen, func(s history.Sight) bool { return s.ID == r.ID })
		return true
	}, func(f *history.Findings) int { return f.Lost }},
	{"lying", func(t *rapid.T, h *history.History) bool {
		h.Figures[0].Says++
		return true
	}, func(f *history.Findings) int { return f.Lying }},
	{"out of order", func(t *rapid.T, h *history.History) bool {
		for i := range h.Puts {
			h.Puts[i].Priority = 0
		}
		at := make(map[string]uint64)
		for _, s := range h.Seen {
			if s.Generation == 0 {
				at[s.ID] = s.Sequence
			}
		}
		first := pick(t, h.Puts, func(p *history.Put) bool { return stored(p) && at[p.ID] != 0 })
		if first == nil {
			return false
		}
		second := pick(t, h.Puts, func(p *history.Put) bool {
			return stored(p) && at[p.ID] != 0 && p.Producer == first.Producer && p.Queue == first.Queue && p.Turn > first.Turn
		})
		if second == nil {
			return false
		}
		a, b := *first, *second
		for i := range h.Seen {
			switch h.Seen[i].ID {
			case a.ID:
				h.Seen[i].Sequence = at[b.ID]
			case b.ID:
				h.Seen[i].Sequence = at[a.ID]
			}
		}
		// what lies there still lies in its place
		for i := range h.Left {
			switch c := &h.Left[i]; {
			case c.Reason != "":
			case c.ID == a.ID:
				c.Sequence = at[b.ID]
			case c.ID == b.ID:
				c.Sequence = at[a.ID]
			}
		}
		return true
	}, func(f *history.Findings) int { return min(1, f.OutOfOrder) }}, // all between the two may be out of order too
}

func TestCleanHistoriesStayCleanAndEachForgeryIsFound(t *testing.T) {
	for _, forgery := range forgeries {
		t.Run(forgery.name, func(t *testing.T) {
			found := 0
			rapid.Check(t, func(t *rapid.T) {
				h := drawWorld(t)
				if f := history.Judge(h); !f.Clean() {
					t.Fatalf("a clean history: %+v", f)
				}
				if !forgery.forge(t, &h) {
					return
				}
				if f := history.Judge(h); forgery.found(&f) != 1 {
					t.Fatalf("the forgery is not found: %+v", f)
				}
				found++
			})
			if found == 0 {
				t.Error("no history could be forged")
			}
		})
	}
}

// BenchmarkJudge shows by its figures per message that the time is linear.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			var h history.History
			for i := range n {
				id := fmt.Sprintf("message-%09d", i)
				h.Puts = append(h.Puts, history.Put{ID: id, Producer: i % 16, Turn: i / 16, Heard: history.Stored})
				h.Seen = append(h.Seen,
					history.Sight{ID: id, Sequence: uint64(i), Attempt: 1}, history.Sight{ID: id, Sequence: uint64(i), Acked: true})
			}
			for b.Loop() {
				if f := history.Judge(h); !f.Clean() || f.Delivered != n {
					b.Fatalf("%+v", f)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
		})
	}
}
