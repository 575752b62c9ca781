package dedupe

import (
	"encoding/binary"
	"fmt"
	"iter"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// Entry is what the ledger remembers of one admitted message.
type Entry struct {
	Key Key
	// Sum is the message's content sum (message.Head.ContentSum).
	Sum uint32
	// Sequence is the message's place in its queue here.
	Sequence uint64
	// Place is the number under which it came; zero for a local put.
	Place message.Place
}

func (e *Entry) shipped() bool { return e.Place != (message.Place{}) }

// RowVersion is the first byte of every row this program writes.
const RowVersion = 1

const (
	keyBytes    = len(Key{})
	memoBytes   = keyBytes + 4 // a key and its sum
	streamBytes = len(message.StreamID{})
	sumBytes    = 4
)

// AppendRow appends the row that remembers the entries of one commit group, admitted at the spool time at in milliseconds:
//
//	version | at | count of entries | count of streams | streams | runs | key and sum of each entry | CRC32C of all before
//
// Sequences and numbers stand in runs (see run), so that in the usual case an entry costs its key and its sum: 20 bytes.
// An empty group gives a valid row.
func AppendRow(b []byte, at int64, entries []Entry) []byte {
	start := len(b)
	b = append(b, RowVersion)
	b = pack.AppendUint64(b, uint64(at))
	b = pack.AppendUvarint(b, uint64(len(entries)))
	b = appendRuns(b, entries)
	for i := range entries {
		b = append(b, entries[i].Key[:]...)
		b = pack.AppendUint32(b, entries[i].Sum)
	}
	return pack.AppendUint32(b, message.Checksum(b[start:]))
}

// Row is a parsed row. It shares memory with the bytes it was parsed from and is good as long as they are; reading it
// allocates nothing. It is safe for concurrent use.
type Row struct {
	// At is the spool time of the group in milliseconds.
	At int64

	streams []byte // ids, end to end
	runs    []byte
	memos   []byte // key and sum of each entry, end to end
}

// ParseRow checks the bounds and the checksum of a row and of all that is in it; what it returns can be searched without an
// error. A checksum that does not match wraps message.ErrCorrupt; the other errors wrap pack.ErrTruncated or
// pack.ErrMalformed.
func ParseRow(b []byte) (Row, error) {
	if len(b) > 0 && b[0] != RowVersion {
		return Row{}, fmt.Errorf("ledger row: %w: version %d, this program reads %d", pack.ErrMalformed, b[0], RowVersion)
	}
	if len(b) <= sumBytes {
		return Row{}, fmt.Errorf("ledger row: %w", pack.ErrTruncated)
	}
	content, sum := b[:len(b)-sumBytes], b[len(b)-sumBytes:]
	if message.Checksum(content) != binary.BigEndian.Uint32(sum) {
		return Row{}, fmt.Errorf("ledger row: %w", message.ErrCorrupt)
	}
	r, err := parseContent(content)
	if err != nil {
		return Row{}, fmt.Errorf("ledger row: %w", err)
	}
	return r, nil
}

// parseContent parses a row whose checksum is right. It is as strict all the same: whoever can write the file can write a
// checksum.
func parseContent(b []byte) (Row, error) {
	r := pack.NewReader(b[1:])
	at := int64(r.Uint64())
	entries := int(r.Count(uint64(len(r.Rest()) / memoBytes)))
	streams := int(r.Count(uint64(len(r.Rest()) / streamBytes)))
	if err := r.Err(); err != nil {
		return Row{}, err
	}
	rest := r.Rest()
	runs := len(rest) - streams*streamBytes - entries*memoBytes
	if runs < 0 {
		return Row{}, pack.ErrTruncated
	}
	row := Row{At: at}
	row.streams, rest = rest[:streams*streamBytes], rest[streams*streamBytes:]
	row.runs, row.memos = rest[:runs], rest[runs:]
	return row, checkRuns(row)
}

// Len is the number of entries.
func (r Row) Len() int { return len(r.memos) / memoBytes }

// Find returns the first entry with key k.
func (r Row) Find(k Key) (Entry, bool) {
	for i := range r.Len() {
		if r.key(i) == k {
			return r.entry(i), true
		}
	}
	return Entry{}, false
}

// FindPlace returns the first entry that came under p. The zero Place names none.
func (r Row) FindPlace(p message.Place) (Entry, bool) {
	if p == (message.Place{}) {
		return Entry{}, false
	}
	for w := r.walk(); w.next(); {
		if i := p.Number - w.run.place.Number; w.run.place.Stream == p.Stream && w.run.shipped && i < uint64(w.run.count) {
			return r.build(w.run.first+int(i), w.run), true
		}
	}
	return Entry{}, false
}

// Keys yields the key of each entry in the order of the group.
func (r Row) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for i := range r.Len() {
			if !yield(r.key(i)) {
				return
			}
		}
	}
}

// Entries yields the entries in the order of the group.
func (r Row) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for w := r.walk(); w.next(); {
			for i := range w.run.count {
				if !yield(r.build(w.run.first+i, w.run)) {
					return
				}
			}
		}
	}
}

func (r Row) key(i int) Key { return Key(r.memos[i*memoBytes : i*memoBytes+keyBytes]) }

func (r Row) entry(i int) Entry {
	w := r.walk()
	for w.next() && i >= w.run.first+w.run.count {
	}
	return r.build(i, w.run)
}

// build makes the entry i, which lies in run.
func (r Row) build(i int, run run) Entry {
	e := Entry{
		Key:      r.key(i),
		Sum:      binary.BigEndian.Uint32(r.memos[i*memoBytes+keyBytes:]),
		Sequence: run.sequence + uint64(i-run.first),
	}
	if run.shipped {
		e.Place = message.Place{Stream: run.place.Stream, Number: run.place.Number + uint64(i-run.first)}
	}
	return e
}
