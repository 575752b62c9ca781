package dedupe_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/message/pack"
)

func sorted(s []uint64) []uint64 {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// keyOf returns a key that is as random as a hashed one.
func keyOf(n uint64) dedupe.Key {
	return dedupe.NewHasher(secret).Key("q", message.EndToEnd{Origin: "o", ID: string(binary.BigEndian.AppendUint64(nil, n))})
}

// group is what a commit group of two streams, two queues and a local producer leaves behind.
func group() []dedupe.Entry {
	a, b := message.StreamID{0xaa}, message.StreamID{0xbb}
	entry := func(n byte, sequence uint64, p message.Place) dedupe.Entry {
		return dedupe.Entry{Key: dedupe.Key{0: n, 15: n}, Sum: uint32(n) << 24, Sequence: sequence, Place: p}
	}
	return []dedupe.Entry{
		entry(1, 1000, message.Place{Stream: a, Number: 50}),
		entry(2, 1001, message.Place{Stream: a, Number: 51}),
		entry(3, 1002, message.Place{Stream: a, Number: 53}),
		entry(4, 7, message.Place{}),
		entry(5, 8, message.Place{}),
		entry(6, 9, message.Place{Stream: b, Number: 1}),
	}
}

func TestRowGoldenBytes(t *testing.T) {
	golden := unhex(`
		01                               version
		0000018bcfe56800                 at
		06                               entries
		02                               streams
		aa000000000000000000000000000000
		bb000000000000000000000000000000
		02 01 d00f 64                    two, first stream, sequence +1000, number +50
		01 01 02 04                      one, first stream, sequence +1, number +2
		02 00 c50f                       two, local, sequence -995
		01 02 02 67                      one, second stream, sequence +1, number -52
		01000000000000000000000000000001 01000000
		02000000000000000000000000000002 02000000
		03000000000000000000000000000003 03000000
		04000000000000000000000000000004 04000000
		05000000000000000000000000000005 05000000
		06000000000000000000000000000006 06000000
		00c2a07b                         CRC32C`)
	got := dedupe.AppendRow(nil, 1700000000000, group())
	if !slices.Equal(got, golden) {
		t.Fatalf("row\n%x, want\n%x", got, golden)
	}
	requireRow(t, golden, 1700000000000, group())
}

// unhex reads the hexadecimal words of each line up to its first word that is none.
func unhex(text string) (b []byte) {
	for line := range strings.Lines(text) {
		for _, word := range strings.Fields(line) {
			part, err := hex.DecodeString(word)
			if err != nil {
				break
			}
			b = append(b, part...)
		}
	}
	return b
}

// requireRow parses b and looks for each entry by key and by place.
func requireRow(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte, at int64, entries []dedupe.Entry) {
	t.Helper()
	row, err := dedupe.ParseRow(b)
	if err != nil {
		t.Fatalf("parse a row of %d entries: %v", len(entries), err)
	}
	if row.At != at || row.Len() != len(entries) {
		t.Fatalf("%d entries at %d, want %d at %d", row.Len(), row.At, len(entries), at)
	}
	keys := slices.Collect(row.Keys())
	for i, e := range entries {
		if keys[i] != e.Key {
			t.Fatalf("key %d is %x, want %x", i, keys[i], e.Key)
		}
		if got, ok := row.Find(e.Key); !ok || got != e {
			t.Fatalf("find by key: %+v %v, want %+v", got, ok, e)
		}
		got, ok := row.FindPlace(e.Place)
		if local := e.Place == (message.Place{}); local && ok {
			t.Fatalf("a place that names nothing found %+v", got)
		} else if !local && (!ok || got != e) {
			t.Fatalf("find by place: %+v %v, want %+v", got, ok, e)
		}
	}
}

// drawEntries draws a group whose keys and places are all different: runs of several queues, streams and local puts.
func drawEntries(t *rapid.T) (entries []dedupe.Entry) {
	places := make(map[message.Place]bool)
	for range rapid.IntRange(0, 8).Draw(t, "runs") {
		sequence := rapid.Uint64().Draw(t, "sequence")
		var p message.Place
		if rapid.Bool().Draw(t, "shipped") {
			p = message.Place{Stream: message.StreamID{rapid.Byte().Draw(t, "stream") % 4}, Number: rapid.Uint64Range(1, 1<<64-1).Draw(t, "number")}
		}
		for range rapid.IntRange(1, 5).Draw(t, "length") {
			if places[p] {
				break
			}
			e := dedupe.Entry{Key: keyOf(uint64(len(entries))), Sum: rapid.Uint32().Draw(t, "sum"), Sequence: sequence, Place: p}
			entries = append(entries, e)
			sequence++
			if p != (message.Place{}) {
				places[p] = true
				p.Number++
			}
		}
	}
	return entries
}

func TestRowRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		at := rapid.Int64().Draw(t, "at")
		before := []byte("before")
		b := dedupe.AppendRow(before, at, entries)
		if string(b[:len(before)]) != "before" {
			t.Fatalf("what stood before the row is %q", b[:len(before)])
		}
		requireRow(t, b[len(before):], at, entries)
	})
}

func TestRowKnowsWhatItDoesNotHold(t *testing.T) {
	row, err := dedupe.ParseRow(dedupe.AppendRow(nil, 0, group()))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := row.Find(dedupe.Key{1}); ok {
		t.Errorf("found %+v for a key that differs in its last byte", e)
	}
	for _, p := range []message.Place{
		{},
		{Stream: message.StreamID{0xaa}, Number: 49},
		{Stream: message.StreamID{0xaa}, Number: 52},
		{Stream: message.StreamID{0xaa}, Number: 54},
		{Stream: message.StreamID{0xbb}, Number: 50},
		{Stream: message.StreamID{0xcc}, Number: 50},
		{Number: 1},
	} {
		if e, ok := row.FindPlace(p); ok {
			t.Errorf("found %+v for place %v", e, p)
		}
	}
}

func TestEveryPrefixAndEveryFlippedBitFails(t *testing.T) {
	good := dedupe.AppendRow(nil, 1700000000000, group())
	for n := range good {
		if _, err := dedupe.ParseRow(good[:n]); !isRowError(err) {
			t.Errorf("the first %d bytes: error %v", n, err)
		}
	}
	for bit := range len(good) * 8 {
		bad := slices.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := dedupe.ParseRow(bad); !isRowError(err) {
			t.Errorf("bit %d flipped: error %v", bit, err)
		}
	}
	if _, err := dedupe.ParseRow(append(good, 0)); !isRowError(err) {
		t.Errorf("a byte after the end: error %v", err)
	}
}

func isRowError(err error) bool {
	return errors.Is(err, message.ErrCorrupt) || errors.Is(err, pack.ErrTruncated) || errors.Is(err, pack.ErrMalformed)
}

func TestARowWithARightChecksumIsCheckedAllTheSame(t *testing.T) {
	const memo = "00000000000000000000000000000000 00000000 "
	const stream = "aa000000000000000000000000000000 "
	const front = "01 0000000000000000 "
	for name, text := range map[string]string{
		"no version":                "",
		"no time":                   "01 00",
		"more entries than bytes":   front + "ffffffff0f 00",
		"more streams than bytes":   front + "00 ffffffff0f",
		"streams in the entries":    front + "01 01 01 00 00" + memo,
		"a run of none":             front + "00 00 00 00 00",
		"an empty run before all":   front + "01 00 00 00 00 01 00 00" + memo,
		"a run of too many":         front + "01 00 02 00 00" + memo,
		"runs of too few":           front + "02 00 01 00 00" + memo + memo,
		"no run":                    front + "01 00" + memo,
		"a stream that is not":      front + "01 01 " + stream + "01 02 00 00" + memo,
		"a run cut off":             front + "01 01 " + stream + "01 01 00" + memo,
		"a longer varint than need": front + "01 00 01 00 8000" + memo,
		"a varint beyond 64 bits":   front + "01 00 01 00 ffffffffffffffffffff7f" + memo,
	} {
		b := unhex(text)
		b = pack.AppendUint32(b, message.Checksum(b))
		if row, err := dedupe.ParseRow(b); !errors.Is(err, pack.ErrTruncated) && !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s: a row of %d entries, error %v", name, row.Len(), err)
		}
	}
}

// shipped returns n entries as one batch of a stream leaves them; step is how far numbers are apart.
func shipped(n int, step uint64) []dedupe.Entry {
	entries := make([]dedupe.Entry, n)
	for i := range entries {
		entries[i] = dedupe.Entry{
			Key:      keyOf(uint64(i)),
			Sum:      uint32(i),
			Sequence: 1<<40 + uint64(i),
			Place:    message.Place{Stream: message.StreamID{1}, Number: 1<<40 + uint64(i)*step},
		}
	}
	return entries
}

func TestAnEntryIsSmallOnDisk(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []dedupe.Entry
		limit   float64
	}{
		{"a run of 16", shipped(16, 1), 24},
		{"a run of 64", shipped(64, 1), 21},
		{"a run of 512", shipped(512, 1), 20.1},
		{"512 of a lane with gaps", shipped(512, 3), 24.1},
	} {
		per := float64(len(dedupe.AppendRow(nil, 1700000000000, c.entries))) / float64(len(c.entries))
		t.Logf("%s: %.2f bytes an entry", c.name, per)
		if per > c.limit {
			t.Errorf("%s: %.2f bytes an entry, at most %v", c.name, per, c.limit)
		}
	}
}

func TestReadingARowAllocatesNothing(t *testing.T) {
	entries := shipped(512, 3)
	b := dedupe.AppendRow(nil, 0, entries)
	n := testing.AllocsPerRun(20, func() {
		row, _ := dedupe.ParseRow(b)
		row.Find(entries[500].Key)
		row.FindPlace(entries[500].Place)
	})
	if n != 0 {
		t.Errorf("%v allocations to parse and search", n)
	}
}

// FuzzParseRow tries the bytes as a row, and as the content of a row whose checksum is right, which no fuzzer guesses.
func FuzzParseRow(f *testing.F) {
	for _, entries := range [][]dedupe.Entry{nil, group(), shipped(5, 1), shipped(5, 3)} {
		b := dedupe.AppendRow(nil, 1700000000000, entries)
		f.Add(b)
		f.Add(b[:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tryRow(t, b)
		tryRow(t, pack.AppendUint32(slices.Clone(b), message.Checksum(b)))
	})
}

func tryRow(t *testing.T, b []byte) {
	row, err := dedupe.ParseRow(b)
	if err != nil {
		if !isRowError(err) {
			t.Fatalf("error %v wraps none of the three", err)
		}
		return
	}
	var entries []dedupe.Entry
	seen := make(map[dedupe.Key]bool)
	for k := range row.Keys() {
		e, ok := row.Find(k)
		if !ok || e.Key != k {
			t.Fatalf("key %x found %+v %v", k, e, ok)
		}
		if e.Place != (message.Place{}) {
			if at, ok := row.FindPlace(e.Place); !ok || at.Place != e.Place {
				t.Fatalf("place %v found %+v %v", e.Place, at, ok)
			}
		}
		if !seen[k] {
			seen[k] = true
			entries = append(entries, e)
		}
	}
	again, err := dedupe.ParseRow(dedupe.AppendRow(nil, row.At, entries))
	if err != nil {
		t.Fatalf("parse what was parsed before: %v", err)
	}
	for _, e := range entries {
		if got, _ := again.Find(e.Key); got != e {
			t.Fatalf("%+v came back as %+v", e, got)
		}
	}
}

func BenchmarkAppendRow512(b *testing.B) {
	entries := shipped(512, 1)
	buf := dedupe.AppendRow(nil, 0, entries)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = dedupe.AppendRow(buf[:0], 0, entries)
	}
}

func BenchmarkParseAndFind512(b *testing.B) {
	entries := shipped(512, 1)
	buf := dedupe.AppendRow(nil, 0, entries)
	b.ReportAllocs()
	for b.Loop() {
		row, _ := dedupe.ParseRow(buf)
		row.Find(entries[256].Key)
	}
}
