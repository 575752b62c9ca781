package bolt

import (
	"encoding/binary"
	"slices"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
)

// rowIDs is the most ids in one row. Three such rows, streams included, fill a page of 4 KiB almost to its end, while a page
// of bbolt holds at least two keys, so that longer rows leave up to a page empty. A short row is also searched faster.
const rowIDs = 64

// ledger is the index of the rows in one bucket of the file, and which rows there are. A spool has two: the open one, and
// that of what was promised (spool.QueueOptions.ByIDs), which forgets nothing for want of room.
type ledger struct {
	bucket, keyGone []byte
	promised        bool
	maxBytes        uint64

	index *dedupe.Index
	rows  []uint64 // scratch

	window int64 // milliseconds for which a row is kept
	oldest uint64
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

// readLedgers reads the open ledger and the promised one. Where a queue goes by ids, each has half of what the caps allow.
func (s *Store) readLedgers(tx *bbolt.Tx, m *memory) (err error) {
	meta := tx.Bucket(bucketMeta)
	m.open = &ledger{bucket: bucketLedger, keyGone: keyGone, maxBytes: s.options.LedgerMaxBytes}
	m.promised = &ledger{bucket: bucketPromised, keyGone: keyPromisedGone, promised: true}
	openMemory, promisedMemory := s.options.LedgerMemoryBytes, 0
	if k, _ := tx.Bucket(bucketPromised).Cursor().First(); k != nil || s.options.anyByIDs() {
		openMemory /= 2
		promisedMemory = openMemory
		m.open.maxBytes /= 2
		m.promised.maxBytes = m.open.maxBytes
	}
	if m.windows, err = readWindows(meta); err != nil {
		return err
	}
	if m.since, err = s.readPromises(meta); err != nil {
		return err
	}
	s.widen(m)
	if err := s.readLedger(m.open, openMemory, tx.Bucket(bucketLedger), meta); err != nil {
		return err
	}
	return s.readLedger(m.promised, promisedMemory, tx.Bucket(bucketPromised), meta)
}

func (o *Options) anyByIDs() bool {
	for _, q := range o.Queues {
		if q.ByIDs {
			return true
		}
	}
	return false
}

// readLedger fills an index of at most memoryBytes from the rows of the file.
func (s *Store) readLedger(l *ledger, memoryBytes int, b, meta *bbolt.Bucket) (err error) {
	l.index, l.next = dedupe.NewIndex(memoryBytes), 1
	if l.gone, err = readMillis(meta, l.keyGone); err != nil {
		return err
	}
	began := time.Now()
	damaged := false
	kept := uint64(0) // the oldest row that the index has room for
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		number := binary.BigEndian.Uint64(k)
		l.next = number + 1
		row, err := dedupe.ParseRow(v)
		if err != nil {
			// What it held can be admitted again where numbers do not say otherwise. The rest of the ledger is good.
			s.log.Error("ledger row is unreadable, left out", "row", number, "error", err)
			damaged = true
			continue
		}
		if damaged {
			l.gone, damaged = max(l.gone, row.At), false // what it held is not known, and was not younger than this
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
	if err := l.forgetAtOpening(b, meta, kept); err != nil {
		return err
	}
	if l.ids > 0 {
		s.log.Info("ledger is read", "count", l.ids, "bytes", l.index.Bytes(), "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// forgetAtOpening forgets the rows below kept, which the index has no room for. That they are gone is stored with it: else the
// next opening would take the ledger to reach back further than it does, and admit once more what they remembered.
func (l *ledger) forgetAtOpening(b, meta *bbolt.Bucket, kept uint64) error {
	before, gone := l.ids, l.gone
	if err := l.forget(b, func(number uint64, _ dedupe.Row) bool { return number < kept }); err != nil {
		return err
	}
	l.early += before - l.ids
	if l.gone == gone {
		return nil
	}
	return meta.Put(l.keyGone, binary.BigEndian.AppendUint64(nil, uint64(l.gone)))
}

// find returns the entry for a key, as of the commits before this one.
func (t *txn) find(k dedupe.Key) (dedupe.Entry, bool) {
	if e, ok := t.findIn(&t.openRows, k); ok {
		return e, true
	}
	return t.findIn(&t.promisedRows, k)
}

// findIn looks in one ledger. The index may name rows that do not hold the key, so each is looked at; a false duplicate would
// be a lost message.
func (t *txn) findIn(in *rowsOf, k dedupe.Key) (dedupe.Entry, bool) {
	l := in.ledger
	l.rows = l.index.Rows(k, l.rows)
	for _, number := range l.rows {
		row, err := t.row(in, number)
		if err != nil {
			continue // it was reported as the ledger was read
		}
		if e, ok := row.Find(k); ok {
			return e, true
		}
	}
	return dedupe.Entry{}, false
}

// rowsOf is a ledger in a transaction, with the row that was read last: what comes again comes in the order in which it was
// stored, and the transaction writes to the ledger only when all has been found.
type rowsOf struct {
	ledger *ledger
	number uint64 // of last, 0 for none: they are counted from 1
	last   dedupe.Row
}

func (t *txn) row(in *rowsOf, number uint64) (dedupe.Row, error) {
	if in.number == number {
		return in.last, nil
	}
	row, err := dedupe.ParseRow(t.tx.Bucket(in.ledger.bucket).Get(rowKey(number)))
	if err == nil {
		in.number, in.last = number, row
	}
	return row, err
}

// writeLedger remembers all that this commit stores, and forgets what is past its window or has no room.
func (t *txn) writeLedger() error {
	var fresh [2][]dedupe.Entry
	for _, s := range t.staging {
		for lane := range s.lanes {
			for _, m := range s.lanes[lane] {
				e := dedupe.Entry{Key: m.key, Sum: m.sum, Sequence: m.sequence, Place: m.place}
				if m.promised {
					fresh[1] = append(fresh[1], e)
				} else {
					fresh[0] = append(fresh[0], e)
				}
				if m.alias != (dedupe.Key{}) {
					e.Key, e.Place = m.alias, message.Place{}
					fresh[0] = append(fresh[0], e)
				}
			}
		}
	}
	for i, l := range []*ledger{t.mem.open, t.mem.promised} {
		if err := t.writeRows(l, fresh[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) writeRows(l *ledger, fresh []dedupe.Entry) error {
	gone := l.gone
	kept, err := t.prune(l)
	if err != nil {
		return err
	}
	if err := t.remember(l, append(kept, fresh...)); err != nil {
		return err
	}
	t.tellReach(l)
	if l.gone == gone {
		return nil
	}
	return t.tx.Bucket(bucketMeta).Put(l.keyGone, binary.BigEndian.AppendUint64(nil, uint64(l.gone)))
}

func (t *txn) remember(l *ledger, entries []dedupe.Entry) error {
	for row := range slices.Chunk(entries, rowIDs) {
		if err := t.addRow(l, row); err != nil {
			return err
		}
	}
	return nil
}

// addRow forgets old rows for a new one if it has to and may.
func (t *txn) addRow(l *ledger, entries []dedupe.Entry) error {
	number, row := l.next, dedupe.AppendRow(nil, t.now, entries)
	for !l.promised && l.bytes+rowBytes(row) > l.maxBytes && l.oldest < number {
		if err := t.forgetShare(l); err != nil {
			return err
		}
	}
	for i := range entries {
		// An index that cannot hold even one row remembers what it can of it.
		for !l.index.Add(entries[i].Key, number) && l.oldest < number {
			if l.promised {
				// Room was made sure of before the message was admitted; only what is carried over can be more than that.
				l.early++
				break
			}
			if err := t.forgetShare(l); err != nil {
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
	b := t.tx.Bucket(l.bucket)
	b.FillPercent = 1
	return b.Put(rowKey(number), row)
}

// rowBytes is what a row takes in a page: its number and bbolt's head of an element, besides itself.
func rowBytes(row []byte) uint64 { return uint64(len(row)) + 8 + 16 }
