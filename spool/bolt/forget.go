package bolt

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
)

const (
	// forgetShare is the share of the rows that is forgotten at once when there is no room: each time costs a sweep.
	forgetShare = 16
	// pruneRows bounds how many rows that are past their window one commit removes, and carryIDs after how many ids of
	// messages that are still here it stops: they are written again.
	pruneRows = 64
	carryIDs  = 1024
)

// prune removes rows that are past the window. It returns what they say of messages that are still in their queues, which
// goes into this commit's rows: an id is known as long as its message is here. So a message that waits for ever costs one
// entry a window, and the rows stay in the order of their age.
func (t *txn) prune(l *ledger) (kept []dedupe.Entry, err error) {
	if t.mem.jump > 0 || l.oldestAt == 0 || t.now-l.oldestAt <= l.window {
		return nil, nil
	}
	rows := 0
	var failed error
	err = l.forget(t.tx.Bucket(l.bucket), func(_ uint64, row dedupe.Row) bool {
		if rows == pruneRows || len(kept) >= carryIDs || t.now-row.At <= l.window {
			return false
		}
		rows++
		var live []dedupe.Entry
		if live, failed = t.living(row); failed != nil {
			return false
		}
		kept = append(kept, live...)
		return true
	})
	return kept, errors.Join(failed, err)
}

// living returns the entries of a row whose messages are still in their queues. A row does not say which queue an entry is
// of; but where a queue holds nothing as old as the row there is nothing to look at, and that is the usual case.
func (t *txn) living(row dedupe.Row) (live []dedupe.Entry, err error) {
	for _, name := range t.mem.names {
		q := t.mem.queues[name]
		for lane := range q.lanes {
			if q.live[lane] == 0 {
				continue
			}
			if live, err = t.livingIn(q, uint8(lane), row, live); err != nil {
				return nil, err
			}
		}
	}
	return live, nil
}

// livingIn appends the entries of a row whose messages are live in one lane. Queues count their sequences each by itself, so
// only the key says whether a message is the one that an entry remembers.
func (t *txn) livingIn(q *queue, lane uint8, row dedupe.Row, live []dedupe.Entry) ([]dedupe.Entry, error) {
	b, err := t.open(q)
	if err != nil {
		return nil, err
	}
	var g *group // the last that was looked at, with its blob: neighbours in a row are neighbours in a group
	var bl blob
	for e := range row.Entries() {
		if e.Sequence < q.lanes[lane].head.first {
			continue
		}
		if _, in := bl.index(e.Sequence); g == nil || !in {
			g = nil
			err := t.walk(q, lane, e.Sequence, e.Sequence, func(found *group) (err error) {
				g = found
				bl, err = b.blob(groupKey(lane, g.first))
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if g == nil {
			continue
		}
		i := int(e.Sequence - g.first)
		if g.settled.has(i) {
			continue
		}
		m, err := message.ParseFront(bl.record(i))
		if err == nil && (t.store.hasher.Key(q.name, m.EndToEnd()) == e.Key || t.store.alias(q.name, m.EndToEnd()) == e.Key) {
			live = append(live, e)
		}
	}
	return live, nil
}

// forgetShare makes room by forgetting the oldest rows before their time, those of messages that are still here included.
func (t *txn) forgetShare(l *ledger) error {
	through, before := l.oldest+(l.next-l.oldest)/forgetShare, l.ids
	err := l.forget(t.tx.Bucket(l.bucket), func(number uint64, _ dedupe.Row) bool { return number <= through })
	l.early += before - l.ids
	return err
}

// forget removes the oldest rows, as long as they pass. One that is unreadable serves nobody and goes with them.
func (l *ledger) forget(b *bbolt.Bucket, pass func(number uint64, row dedupe.Row) bool) error {
	var forgotten [][]byte
	l.oldest, l.oldestAt = l.next, 0
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		number := binary.BigEndian.Uint64(k)
		row, err := dedupe.ParseRow(v)
		if err == nil && !pass(number, row) {
			l.oldest, l.oldestAt = number, row.At
			break
		}
		if err == nil {
			l.ids -= uint64(row.Len())
			l.bytes -= rowBytes(v)
			l.gone = max(l.gone, row.At)
		}
		forgotten = append(forgotten, slices.Clone(k))
	}
	for _, k := range forgotten {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	if n := len(forgotten); n > 0 {
		l.index.ForgetThrough(binary.BigEndian.Uint64(forgotten[n-1]))
	}
	return nil
}

// reach is for how long back, in milliseconds, the ledger knows every id. Its window is as far as anybody may count on it.
func (l *ledger) reach(now int64) int64 { return reach(l.window, l.gone, now) }

func reach(window, gone, now int64) int64 {
	if gone == 0 {
		return window
	}
	return min(window, max(0, now-gone))
}

// tellReach logs when the ledger begins to reach back less than its window, and when it does again.
func (t *txn) tellReach(l *ledger) {
	back := l.reach(t.certain())
	switch short := back < l.window; {
	case short && !l.short:
		t.store.log.Warn("ledger remembers ids for less than its window", "effective", duration(back).Round(time.Second),
			"window", duration(l.window), "count", l.ids, "bytes", l.bytes, "forgotten", l.early)
	case !short && l.short:
		t.store.log.Info("ledger remembers every id for its window again", "window", duration(l.window), "forgotten", l.early)
	}
	l.short = back < l.window
}
