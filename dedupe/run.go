package dedupe

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// A run is entries in a row whose sequences, and whose numbers in one stream, rise by one. Local puts, which have no number,
// have runs of their own. Its bytes are varints:
//
//	count | stream, 0 for local, else its position from 1 on | step of the sequence | step of the number, unless local
//
// A step leads from the last entry before to the first of the run and may be negative, because a group serves several queues
// and streams.
type run struct {
	first, count int // entries first to first+count-1
	sequence     uint64
	shipped      bool
	place        message.Place // of the first entry, if shipped
}

// appendRuns appends the count of streams, the streams in the order in which they first appear, and the runs.
func appendRuns(b []byte, entries []Entry) []byte {
	var runs []byte
	var streams []message.StreamID
	position := make(map[message.StreamID]uint64)
	var sequence, number uint64 // of the last entry before
	for len(entries) > 0 {
		n := runLength(entries)
		first, last := &entries[0], &entries[n-1]
		entries = entries[n:]

		runs = pack.AppendUvarint(runs, uint64(n))
		if !first.shipped() {
			runs = pack.AppendUvarint(runs, 0)
			runs = appendStep(runs, sequence, first.Sequence)
		} else {
			p, ok := position[first.Place.Stream]
			if !ok {
				streams = append(streams, first.Place.Stream)
				p = uint64(len(streams))
				position[first.Place.Stream] = p
			}
			runs = pack.AppendUvarint(runs, p)
			runs = appendStep(runs, sequence, first.Sequence)
			runs = appendStep(runs, number, first.Place.Number)
			number = last.Place.Number
		}
		sequence = last.Sequence
	}
	b = pack.AppendUvarint(b, uint64(len(streams)))
	for _, s := range streams {
		b = append(b, s[:]...)
	}
	return append(b, runs...)
}

// runLength returns how many entries, at least one, make up the first run.
func runLength(entries []Entry) int {
	for i := 1; i < len(entries); i++ {
		before, here := &entries[i-1], &entries[i]
		next := before.Place
		if before.shipped() {
			next.Number++
		}
		if here.Sequence != before.Sequence+1 || here.shipped() != before.shipped() || here.Place != next {
			return i
		}
	}
	return len(entries)
}

// appendStep appends the step between two numbers with its sign in the lowest bit, so that small steps either way are short.
func appendStep(b []byte, from, to uint64) []byte {
	d := int64(to - from)
	return pack.AppendUvarint(b, uint64(d)<<1^uint64(d>>63))
}

func takeStep(r *pack.Reader, from uint64) uint64 {
	v := r.Uvarint()
	return from + (v>>1 ^ -(v & 1))
}

// walk goes through the runs of a row. A row that was parsed has no run that fails.
type walk struct {
	rest             pack.Reader
	streams          []byte
	left             int    // entries not yet in a run
	sequence, number uint64 // of the last entry in a run, and of the last that was shipped
	run              run    // the present one, after next has returned true
}

func (r Row) walk() walk {
	return walk{rest: *pack.NewReader(r.runs), streams: r.streams, left: r.Len()}
}

// next steps to the next run. It returns false at the end, or when the bytes make no sense.
func (w *walk) next() bool {
	if len(w.rest.Rest()) == 0 {
		return false
	}
	w.run.first += w.run.count
	w.run.count = int(w.rest.Count(uint64(w.left)))
	position := int(w.rest.Count(uint64(len(w.streams) / streamBytes)))
	w.run.sequence = takeStep(&w.rest, w.sequence)
	w.sequence = w.run.sequence + uint64(w.run.count) - 1
	w.run.shipped = position > 0
	if w.run.shipped {
		stream := w.streams[(position-1)*streamBytes : position*streamBytes]
		w.run.place = message.Place{Stream: message.StreamID(stream), Number: takeStep(&w.rest, w.number)}
		w.number = w.run.place.Number + uint64(w.run.count) - 1
	}
	if w.run.count == 0 {
		w.rest.Failf("a run of no entries")
	}
	w.left -= w.run.count
	return w.rest.Err() == nil
}

// checkRuns refuses a row whose runs do not make up its entries.
func checkRuns(r Row) error {
	w := r.walk()
	for w.next() {
	}
	if w.left > 0 {
		w.rest.Failf("%d entries are in no run", w.left)
	}
	return w.rest.Err()
}
