package spooltest_test

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/spool"
)

// This file is what local programs ask of the twins.

func (w *twins) put(t *rapid.T) {
	puts := make([]spool.Put, rapid.IntRange(1, 5).Draw(t, "puts"))
	for i := range puts {
		puts[i] = spool.Put{
			Queue:    w.anyQueue(t),
			ID:       fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(t, "id")),
			Priority: w.priority(t),
			Key:      rapid.SampledFrom([]string{"", "", "", "k"}).Draw(t, "key"),
			Body:     []byte(rapid.SampledFrom([]string{"x", "x", "x", "x", "y", "", "too large"}).Draw(t, "body")),
		}
		if rapid.IntRange(0, 19).Draw(t, "malformed") == 19 {
			puts[i].ID = "with space"
		}
	}
	w.putOf(t, puts...)
}

func (w *twins) putOf(t *rapid.T, puts ...spool.Put) {
	w.same(t, "put", func(_ int, x *twin) (said string) {
		results, err := x.Put(context.Background(), puts)
		for _, r := range results {
			said += fmt.Sprintln(r.ID, r.Status, r.Sequence, kind(r.Err))
		}
		return said + fmt.Sprint(kind(err))
	})
}

func (w *twins) seen(t *rapid.T) {
	queue, id := w.queue(t), fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(t, "id"))
	m := message.Message{Head: message.Head{ID: id}, Body: []byte(rapid.SampledFrom([]string{"x", "x", "y"}).Draw(t, "body"))}
	m.Seal()
	w.same(t, "seen", func(_ int, x *twin) string {
		r, err := x.Seen(context.Background(), queue, id, m.ContentSum())
		return fmt.Sprint(r.ID, r.Status, r.Sequence, kind(r.Err), kind(err))
	})
}

func (w *twins) lease(t *rapid.T) {
	req := spool.LeaseRequest{
		Queue:      w.anyQueue(t),
		Max:        rapid.IntRange(0, 6).Draw(t, "max"),
		MaxBytes:   rapid.SampledFrom([]int{0, 0, 1, 150, 300}).Draw(t, "bytes"),
		Visibility: time.Duration(rapid.IntRange(0, 60).Draw(t, "visibility")) * time.Second,
	}
	var given [][2]spool.Receipt
	w.same(t, "lease", func(i int, x *twin) (said string) {
		deliveries, err := x.Lease(context.Background(), req)
		for n, d := range deliveries {
			if i == 0 {
				given = append(given, [2]spool.Receipt{})
			}
			if n < len(given) {
				given[n][i] = d.Receipt
			}
			said += sayMessage(&d.Message) + fmt.Sprintln(d.Sequence, d.Deadline)
		}
		return said + fmt.Sprint(kind(err))
	})
	w.receipts = append(w.receipts, given...)
}

// giveBack gives back, buries, extends and acks.
func (w *twins) giveBack(t *rapid.T) {
	if len(w.receipts) == 0 {
		t.Skip("nothing was leased")
	}
	from := max(0, len(w.receipts)-12)
	which := rapid.SliceOfN(rapid.IntRange(from, len(w.receipts)-1), 1, 6).Draw(t, "receipts")
	acts := rapid.SliceOfN(rapid.SampledFrom([]spool.Act{spool.Nack, spool.Bury, spool.Extend, spool.Ack}), len(which), len(which)).Draw(t, "acts")
	after := rapid.SampledFrom([]time.Duration{-1, 0, time.Second, time.Hour}).Draw(t, "after")
	w.same(t, "settle", func(i int, x *twin) string {
		settlements := make([]spool.Settlement, len(which))
		for j, n := range which {
			settlements[j] = spool.Settlement{Receipt: w.receipts[n][i], Act: acts[j], After: after, Text: "why"}
		}
		results, err := x.Settle(context.Background(), settlements)
		said := fmt.Sprintln(kind(err))
		for _, r := range results {
			said += fmt.Sprintln(kind(r.Err), r.Left, r.Died)
		}
		return said
	})
}

// requeue gives dead letters another life, or purges messages, by sequences of which some are nobody's.
func (w *twins) requeue(t *rapid.T) {
	queue := rapid.SampledFrom(w.names).Draw(t, "queue")
	sequences := rapid.SliceOfN(rapid.Uint64Range(1, 40), 0, 8).Draw(t, "sequences")
	purge := rapid.Bool().Draw(t, "purge")
	w.same(t, "requeue", func(_ int, x *twin) string {
		call := x.Requeue
		if purge {
			call = x.Purge
		}
		answers, err := call(context.Background(), queue, sequences)
		return fmt.Sprint(kinds(answers), kind(err))
	})
}

func (w *twins) ack(t *rapid.T) {
	var which []int
	if len(w.receipts) > 0 {
		// The latest are the likeliest to run still.
		from := max(0, len(w.receipts)-12)
		which = rapid.SliceOfN(rapid.IntRange(from, len(w.receipts)-1), 0, 6).Draw(t, "receipts")
	}
	wrong := rapid.Bool().Draw(t, "wrong")
	w.same(t, "ack", func(i int, x *twin) string {
		var receipts []spool.Receipt
		for _, n := range which {
			receipts = append(receipts, w.receipts[n][i])
			if wrong {
				receipts = append(receipts, w.receipts[n][1-i], w.receipts[n][i]+"A")
			}
		}
		if wrong {
			receipts = append(receipts, "id-1", "rcpt-")
		}
		answers, err := x.Ack(context.Background(), receipts)
		return fmt.Sprint(kinds(answers), kind(err))
	})
}

func (w *twins) peek(t *rapid.T) {
	queue, from := w.anyQueue(t), rapid.Uint64Range(0, 40).Draw(t, "from")
	most := rapid.IntRange(0, 10).Draw(t, "max")
	w.same(t, "peek", func(_ int, x *twin) string { return w.peekAt(x, queue, from, most) })
}

func (w *twins) peekAt(x *twin, queue string, from uint64, most int) (said string) {
	peeked, err := x.Peek(context.Background(), queue, from, most)
	for _, p := range peeked {
		said += sayMessage(&p.Message) + fmt.Sprintln(p.Sequence, p.Leased, p.InDoubt)
	}
	return said + fmt.Sprint(kind(err))
}

// sayMessage is a message as both can say it: they store it at moments of their own.
func sayMessage(m *message.Message) string {
	said := *m
	said.StoredAt, said.Death = time.Time{}, nil
	if m.Death == nil {
		return fmt.Sprintf("%+v ", said)
	}
	return fmt.Sprintf("%+v died of %+v ", said, *m.Death)
}

func (w *twins) meta(t *rapid.T) {
	key, value := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "value")
	set := rapid.Bool().Draw(t, "set")
	if rapid.IntRange(0, 3).Draw(t, "remove") == 3 {
		value = nil
	}
	w.same(t, "meta", func(_ int, x *twin) string {
		if set {
			if err := x.SetMeta(context.Background(), key, value); err != nil {
				return err.Error()
			}
		}
		v, err := x.Meta(key)
		notes, listErr := x.ListMeta("")
		return fmt.Sprint(v, v == nil, err, notes, listErr)
	})
}
