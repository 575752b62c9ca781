package bolt

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
)

const (
	// forgetShare is the share of the rows that is forgotten at once when the index is full: each time costs a sweep.
	forgetShare = 16
	// pruneRows bounds how many rows that are past their window one commit removes.
	pruneRows = 64
)

// ledger is the index of the rows in the file, and which rows there are.
type ledger struct {
	index *dedupe.Index
	rows  []uint64 // scratch

	window  int64            // milliseconds for which a row is kept: the longest of what follows
	least   int64            // what the options ask for
	windows map[string]int64 // what peers have announced, by windowKey
	oldest  uint64
	// oldestAt is the spool time of row oldest.
	oldestAt int64
	next     uint64 // the next row's number
	// full says that rows were forgotten before their window had passed, since one was last kept for all of it.
	full bool
	// forgotten counts the rows that went early.
	forgotten uint64
}

func rowKey(row uint64) []byte { return binary.BigEndian.AppendUint64(nil, row) }

// readLedger fills an index from the rows of the file.
func (s *Store) readLedger(b, meta *bbolt.Bucket) (*ledger, error) {
	windows, err := readWindows(meta)
	if err != nil {
		return nil, err
	}
	l := &ledger{index: dedupe.NewIndex(s.options.LedgerMemoryBytes), next: 1, windows: windows}
	for _, q := range s.options.Queues {
		l.least = max(l.least, q.Remember.Milliseconds())
	}
	l.widen()
	began, ids := time.Now(), 0
	kept := uint64(0) // the oldest row that the index has room for
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		number := binary.BigEndian.Uint64(k)
		l.next = number + 1
		row, err := dedupe.ParseRow(v)
		if err != nil {
			// What it held can be admitted again where numbers do not say otherwise. The rest of the ledger is good.
			s.log.Error("ledger row is unreadable, left out", "row", number, "error", err)
			continue
		}
		kept = max(kept, 1)
		for key := range row.Keys() {
			for !l.index.Add(key, number) && kept < number {
				kept += (number-kept)/forgetShare + 1
				l.index.ForgetThrough(kept - 1)
			}
		}
		ids += row.Len()
	}
	if err := l.forget(b, math.MaxInt, func(number uint64, _ int64) bool { return number < kept }); err != nil {
		return nil, err
	}
	if ids > 0 {
		s.log.Info("ledger is read", "count", ids, "bytes", l.index.Bytes(), "took", time.Since(began).Round(time.Millisecond))
	}
	return l, nil
}

// findOldest looks which row is the oldest now.
func (l *ledger) findOldest(b *bbolt.Bucket) {
	l.oldest, l.oldestAt = l.next, 0
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if row, err := dedupe.ParseRow(v); err == nil {
			l.oldest, l.oldestAt = binary.BigEndian.Uint64(k), row.At
			return
		}
	}
}

// find returns the ledger's entry for a key, as of the commits before this one. The index may name rows that do not hold the
// key, so each is looked at; a false duplicate would be a lost message.
func (t *txn) find(k dedupe.Key) (dedupe.Entry, bool) {
	l := t.mem.ledger
	l.rows = l.index.Rows(k, l.rows)
	for _, number := range l.rows {
		row, err := dedupe.ParseRow(t.tx.Bucket(bucketLedger).Get(rowKey(number)))
		if err != nil {
			continue // it was reported as the ledger was read
		}
		if e, ok := row.Find(k); ok {
			return e, true
		}
	}
	return dedupe.Entry{}, false
}

// writeLedger remembers all that this commit stores, in one row, and forgets what is past its window.
func (t *txn) writeLedger() error {
	l, b := t.mem.ledger, t.tx.Bucket(bucketLedger)
	if err := t.prune(l, b); err != nil {
		return err
	}
	var entries []dedupe.Entry
	for _, s := range t.staging {
		for lane := range s.lanes {
			for _, m := range s.lanes[lane] {
				entries = append(entries, dedupe.Entry{Key: m.key, Sum: m.sum, Sequence: m.sequence, Place: m.place})
			}
		}
	}
	if len(entries) == 0 {
		return nil
	}
	row := l.next
	for i := range entries {
		// An index that cannot hold even one group remembers what it can of it.
		for !l.index.Add(entries[i].Key, row) && l.oldest < row {
			if err := t.forgetShare(l, b); err != nil {
				return err
			}
		}
	}
	if l.oldest == row {
		l.oldestAt = t.now
	}
	l.next++
	b.FillPercent = 1
	return b.Put(rowKey(row), dedupe.AppendRow(nil, t.now, entries))
}

// prune removes rows that are past the window.
func (t *txn) prune(l *ledger, b *bbolt.Bucket) error {
	if l.oldestAt == 0 || t.now-l.oldestAt <= l.window {
		return nil
	}
	if l.full {
		l.full = false
		t.store.log.Info("ledger keeps every id for its window again", "count", l.forgotten)
	}
	return l.forget(b, pruneRows, func(_ uint64, at int64) bool { return t.now-at > l.window })
}

// forgetShare makes room in a full index by forgetting the oldest rows before their time.
func (t *txn) forgetShare(l *ledger, b *bbolt.Bucket) error {
	if !l.full {
		l.full = true
		t.store.log.Warn("ledger is full, the oldest ids are forgotten before their window has passed",
			"bytes", l.index.Bytes(), "count", l.index.Len(), "oldest", duration(t.now-l.oldestAt))
	}
	n := (l.next-l.oldest)/forgetShare + 1
	l.forgotten += n
	return l.forget(b, int(n), func(uint64, int64) bool { return true })
}

// forget removes up to n of the oldest rows, as long as they pass. One that is unreadable serves nobody and goes with them.
func (l *ledger) forget(b *bbolt.Bucket, n int, pass func(number uint64, at int64) bool) error {
	var gone [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil && len(gone) < n; k, v = c.Next() {
		if row, err := dedupe.ParseRow(v); err == nil && !pass(binary.BigEndian.Uint64(k), row.At) {
			break
		}
		gone = append(gone, slices.Clone(k))
	}
	for _, k := range gone {
		if err := b.Delete(k); err != nil {
			return err
		}
		l.index.ForgetThrough(binary.BigEndian.Uint64(k))
	}
	l.findOldest(b)
	return nil
}
