package bolt

import (
	"encoding/binary"
	"slices"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
)

// rowIDs is the most ids in one row. Three such rows, streams included, fill a page of 4 KiB almost to its end, while a page
// of bbolt holds at least two keys, so that longer rows leave up to a page empty. A short row is also searched faster.
const rowIDs = 64

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

	ids, bytes uint64 // of all rows
	// gone is the spool time of the youngest row that was forgotten, whyever; 0 if none was.
	gone int64
	// early counts the ids that went before their window had passed.
	early uint64
	// short says that the ledger does not reach back as far as its window, and that this was logged.
	short bool
}

func rowKey(row uint64) []byte { return binary.BigEndian.AppendUint64(nil, row) }

// readLedger fills an index from the rows of the file.
func (s *Store) readLedger(b, meta *bbolt.Bucket) (*ledger, error) {
	windows, err := readWindows(meta)
	if err != nil {
		return nil, err
	}
	l := &ledger{index: dedupe.NewIndex(s.options.LedgerMemoryBytes), next: 1, windows: windows}
	if l.gone, err = readMillis(meta, keyGone); err != nil {
		return nil, err
	}
	for _, q := range s.options.Queues {
		l.least = max(l.least, q.Remember.Milliseconds())
	}
	l.widen()
	began := time.Now()
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
		l.ids += uint64(row.Len())
		l.bytes += rowBytes(v)
	}
	if err := l.forget(b, func(number uint64, _ dedupe.Row) bool { return number < kept }); err != nil {
		return nil, err
	}
	if l.ids > 0 {
		s.log.Info("ledger is read", "count", l.ids, "bytes", l.index.Bytes(), "took", time.Since(began).Round(time.Millisecond))
	}
	return l, nil
}

// find returns the ledger's entry for a key, as of the commits before this one. The index may name rows that do not hold the
// key, so each is looked at; a false duplicate would be a lost message.
func (t *txn) find(k dedupe.Key) (dedupe.Entry, bool) {
	l := t.mem.ledger
	l.rows = l.index.Rows(k, l.rows)
	for _, number := range l.rows {
		row, err := t.row(number)
		if err != nil {
			continue // it was reported as the ledger was read
		}
		if e, ok := row.Find(k); ok {
			return e, true
		}
	}
	return dedupe.Entry{}, false
}

// row returns a row of the file. What comes again comes in the order in which it was stored, so the last one is kept at
// hand; this commit writes to the ledger only when all has been found.
func (t *txn) row(number uint64) (dedupe.Row, error) {
	if t.lastRow == number {
		return t.last, nil
	}
	row, err := dedupe.ParseRow(t.tx.Bucket(bucketLedger).Get(rowKey(number)))
	if err == nil {
		t.lastRow, t.last = number, row
	}
	return row, err
}

// writeLedger remembers all that this commit stores, and forgets what is past its window or has no room.
func (t *txn) writeLedger() error {
	l := t.mem.ledger
	gone := l.gone
	kept, err := t.prune()
	if err != nil {
		return err
	}
	for _, s := range t.staging {
		for lane := range s.lanes {
			for _, m := range s.lanes[lane] {
				kept = append(kept, dedupe.Entry{Key: m.key, Sum: m.sum, Sequence: m.sequence, Place: m.place})
			}
		}
	}
	if err := t.remember(kept); err != nil {
		return err
	}
	t.tellReach()
	if l.gone == gone {
		return nil
	}
	return t.tx.Bucket(bucketMeta).Put(keyGone, binary.BigEndian.AppendUint64(nil, uint64(l.gone)))
}

func (t *txn) remember(entries []dedupe.Entry) error {
	for row := range slices.Chunk(entries, rowIDs) {
		if err := t.addRow(row); err != nil {
			return err
		}
	}
	return nil
}

// addRow forgets old rows for a new one if it has to.
func (t *txn) addRow(entries []dedupe.Entry) error {
	l := t.mem.ledger
	number, row := l.next, dedupe.AppendRow(nil, t.now, entries)
	for l.bytes+rowBytes(row) > t.store.options.LedgerMaxBytes && l.oldest < number {
		if err := t.forgetShare(); err != nil {
			return err
		}
	}
	for i := range entries {
		// An index that cannot hold even one row remembers what it can of it.
		for !l.index.Add(entries[i].Key, number) && l.oldest < number {
			if err := t.forgetShare(); err != nil {
				return err
			}
		}
	}
	if l.oldest == number {
		l.oldestAt = t.now
	}
	l.next++
	l.ids += uint64(len(entries))
	l.bytes += rowBytes(row)
	b := t.tx.Bucket(bucketLedger)
	b.FillPercent = 1
	return b.Put(rowKey(number), row)
}

// rowBytes is what a row takes in a page: its number and bbolt's head of an element, besides itself.
func rowBytes(row []byte) uint64 { return uint64(len(row)) + 8 + 16 }
