package dedupe_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"drawbridge/dedupe"
)

type remembers struct {
	key dedupe.Key
	row uint64
}

// indexModel is an Index beside the list of what it must know.
type indexModel struct {
	index    *dedupe.Index
	maxSlots int // of a table of one shard
	known    []remembers
	row      uint64 // the next to add
	gone     uint64 // rows at or below it are forgotten, unless noneGone
	noneGone bool
	stale    int // ids forgotten whose slots may still be counted
	keys     uint64
}

func (m *indexModel) add(t *rapid.T, k dedupe.Key, row uint64) {
	if !m.index.Add(k, row) {
		low, high := row, row
		for _, r := range m.known {
			low, high = min(low, r.row), max(high, r.row)
		}
		if full := len(m.known) >= m.maxSlots*7/8; !full && high-low < math.MaxUint32 {
			t.Fatalf("no room for row %d beside %d ids of rows %d to %d in %d slots", row, len(m.known), low, high, m.maxSlots)
		}
		m.forget(t, max(m.row, row))
		if !m.index.Add(k, m.row) {
			t.Fatalf("no room for row %d in an empty index", m.row)
		}
		row = m.row
	}
	if m.noneGone || row > m.gone {
		m.known = append(m.known, remembers{k, row})
	}
}

func (m *indexModel) forget(t *rapid.T, row uint64) {
	m.index.ForgetThrough(row)
	if row >= m.row && m.index.Len() != 0 {
		t.Fatalf("%d ids are left of rows through %d, which are all there were", m.index.Len(), row)
	}
	if m.noneGone || row > m.gone {
		m.gone, m.noneGone = row, false
		before := len(m.known)
		m.known = slices.DeleteFunc(m.known, func(r remembers) bool { return r.row <= row })
		m.stale += before - len(m.known)
		m.row = max(m.row, row+1)
	}
}

func (m *indexModel) check(t *rapid.T) {
	var buf []uint64
	for _, r := range m.known {
		buf = m.index.Rows(r.key, buf)
		if !slices.Contains(buf, r.row) {
			t.Fatalf("row %d of key %x is not among %v", r.row, r.key, buf)
		}
		if !slices.IsSortedFunc(buf, func(a, b uint64) int { return cmp.Compare(b, a) }) {
			t.Fatalf("rows %v are not newest first", buf)
		}
		if !m.noneGone && buf[len(buf)-1] <= m.gone {
			t.Fatalf("rows %v through %d are gone", buf, m.gone)
		}
	}
	if n := m.index.Len(); n < len(m.known) || n > len(m.known)+m.stale {
		t.Fatalf("%d ids, want %d and at most %d more", n, len(m.known), m.stale)
	}
	if n := m.index.Bytes(); n > 40+8*m.maxSlots {
		t.Fatalf("%d bytes, at most %d", n, 40+8*m.maxSlots)
	}
}

// TestIndexModel does all at random, with rows that begin, and jump, far apart.
func TestIndexModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &indexModel{maxSlots: rapid.SampledFrom([]int{8, 13, 64, 500}).Draw(t, "slots"), noneGone: true}
		m.index = dedupe.NewIndex(40 + 8*m.maxSlots)
		m.row = rapid.SampledFrom([]uint64{0, 1, math.MaxUint32, 1 << 40}).Draw(t, "first row")
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.check(t) },
			"commit a group": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "ids") {
					m.keys++
					m.add(t, keyOf(m.keys), m.row)
				}
				m.row += rapid.SampledFrom([]uint64{1, 1, 1, 2, 1000, 1 << 31, 1 << 33}).Draw(t, "jump")
			},
			"a key once more": func(t *rapid.T) {
				if len(m.known) > 0 {
					m.add(t, rapid.SampledFrom(m.known).Draw(t, "key").key, m.row)
				}
			},
			"an older row": func(t *rapid.T) {
				m.keys++
				m.add(t, keyOf(m.keys), m.row-min(m.row, rapid.Uint64Range(0, 1<<20).Draw(t, "older by")))
			},
			"take back": func(t *rapid.T) {
				if len(m.known) > 0 {
					i := rapid.IntRange(0, len(m.known)-1).Draw(t, "which")
					m.index.Remove(m.known[i].key, m.known[i].row)
					m.known = slices.Delete(m.known, i, i+1)
				}
			},
			"forget some": func(t *rapid.T) {
				if len(m.known) > 0 {
					m.forget(t, rapid.SampledFrom(m.known).Draw(t, "row").row)
				}
			},
			"forget all": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
					m.forget(t, m.row)
				}
			},
		})
	})
}

// keys makes n keys, beginning with that of first.
func keys(first, n uint64) []dedupe.Key {
	k := make([]dedupe.Key, n)
	for i := range k {
		k[i] = keyOf(first + uint64(i))
	}
	return k
}

const groupSize = 64

// fill adds keys in groups, the first of them as row, and returns the row after the last.
func fill(t testing.TB, x *dedupe.Index, k []dedupe.Key, row uint64) uint64 {
	for len(k) > 0 {
		n := min(groupSize, len(k))
		for _, k := range k[:n] {
			if !x.Add(k, row) {
				t.Fatalf("no room in an index of %d ids and %d bytes", x.Len(), x.Bytes())
			}
		}
		k = k[n:]
		row++
	}
	return row
}

func TestFalseCandidatesAreRare(t *testing.T) {
	const ids = 200_000
	x := dedupe.NewIndex(64 << 20)
	fill(t, x, keys(0, ids), 1)
	var buf []uint64
	wrong := 0
	for i := range uint64(ids) {
		buf = x.Rows(keyOf(ids+i), buf)
		wrong += len(buf)
	}
	t.Logf("%d false candidates in %d searches among %d ids", wrong, ids, ids)
	// 32 bits of the print and 8 that choose the shard: 200,000 × 200,000 / 2^40 are 0.04.
	if wrong > 2 {
		t.Errorf("%d false candidates in %d searches", wrong, ids)
	}
}

func TestAnIDIsSmallInMemory(t *testing.T) {
	x := dedupe.NewIndex(64 << 20)
	least, most := math.Inf(1), 0.0
	row := uint64(1)
	for n := uint64(0); n < 400_000; n += 4000 {
		row = fill(t, x, keys(n, 4000), row)
		if n >= 40_000 {
			per := float64(x.Bytes()) / float64(x.Len())
			least, most = min(least, per), max(most, per)
		}
	}
	t.Logf("%.1f to %.1f bytes an id, from 40,000 to 400,000 ids", least, most)
	if most > 20 {
		t.Errorf("%.1f bytes an id, at most 20", most)
	}
}

// TestASlidingWindowStaysSmall forgets one old row for each new one, as an agent with steady traffic does: what was forgotten
// must not pile up.
func TestASlidingWindowStaysSmall(t *testing.T) {
	const window = 1000 // rows
	x := dedupe.NewIndex(4 << 20)
	n, row := uint64(0), uint64(1)
	for range 5 * window {
		row = fill(t, x, keys(n, groupSize), row)
		n += groupSize
		if row > window {
			x.ForgetThrough(row - window)
		}
	}
	const live = window * groupSize
	per := float64(x.Bytes()) / live
	t.Logf("%d ids remembered, %d counted, %.1f bytes an id", live, x.Len(), per)
	if x.Len() > live*5/4 || per > 20 {
		t.Errorf("%d ids counted, at most a quarter above %d; %.1f bytes an id, at most 20", x.Len(), live, per)
	}
	x.ForgetThrough(row)
	if x.Len() != 0 || x.Bytes() > 1<<10 {
		t.Errorf("%d ids and %d bytes are left of nothing", x.Len(), x.Bytes())
	}
}

// TestAFullIndexGoesOn keeps adding to an index at its limit, whose caller forgets a sixteenth of the rows when told.
func TestAFullIndexGoesOn(t *testing.T) {
	const limit = 1 << 20
	x := dedupe.NewIndex(limit)
	oldest, refused := uint64(1), 0
	added := keys(0, 400_000)
	for i, k := range added {
		row := uint64(i/groupSize) + 1
		for !x.Add(k, row) {
			refused++
			oldest += (row-oldest)/16 + 1
			x.ForgetThrough(oldest - 1)
		}
		if x.Bytes() > limit {
			t.Fatalf("%d bytes, at most %d", x.Bytes(), limit)
		}
	}
	last := uint64(len(added)-1)/groupSize + 1
	if held := int(last-oldest) * groupSize; held < limit/8*3/4 {
		t.Errorf("only %d ids are left in %d bytes", held, limit)
	}
	if refused > 100 {
		t.Errorf("refused %d times", refused)
	}
	var buf []uint64
	for i, k := range added {
		if row := uint64(i/groupSize) + 1; row >= oldest {
			if buf = x.Rows(k, buf); !slices.Contains(buf, row) {
				t.Fatalf("row %d of id %d is not among %v", row, i, buf)
			}
		}
	}
}

// TestRowsTooFarApart goes to the border of what a slot can hold.
func TestRowsTooFarApart(t *testing.T) {
	x := dedupe.NewIndex(1 << 10)
	a, b, c := keyOf(1), keyOf(2), keyOf(3)
	if !x.Add(a, 0) || !x.Add(b, math.MaxUint32-1) {
		t.Fatalf("no room for rows just near enough")
	}
	if x.Add(c, math.MaxUint32) {
		t.Fatalf("a row that no slot can tell from row 0 was added: %v", x.Rows(c, nil))
	}
	x.ForgetThrough(0)
	if !x.Add(c, math.MaxUint32) {
		t.Fatalf("no room once the oldest row is forgotten")
	}
	for k, want := range map[dedupe.Key][]uint64{a: nil, b: {math.MaxUint32 - 1}, c: {math.MaxUint32}} {
		if rows := x.Rows(k, nil); !slices.Equal(rows, want) {
			t.Errorf("rows %v, want %v", rows, want)
		}
	}
}

func TestAnEmptyIndex(t *testing.T) {
	for _, maxBytes := range []int{0, 1, 64 << 20} {
		x := dedupe.NewIndex(maxBytes)
		x.ForgetThrough(5)
		x.Remove(dedupe.Key{1}, 6)
		if rows := x.Rows(dedupe.Key{1}, nil); len(rows) != 0 || x.Len() != 0 {
			t.Errorf("rows %v and %d ids in an empty index", rows, x.Len())
		}
		if !x.Add(dedupe.Key{1}, 5) || x.Len() != 0 {
			t.Errorf("a forgotten row was added: %d ids", x.Len())
		}
		if !x.Add(dedupe.Key{1}, math.MaxUint64) || !slices.Equal(x.Rows(dedupe.Key{1}, nil), []uint64{math.MaxUint64}) {
			t.Errorf("the last row of all is not found")
		}
	}
}

const million = 1_000_000

func BenchmarkIndexAdd1M(b *testing.B) {
	k := keys(0, million)
	b.ReportAllocs()
	for b.Loop() {
		fill(b, dedupe.NewIndex(64<<20), k, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/id")
}

func BenchmarkIndexRows1M(b *testing.B) {
	x := dedupe.NewIndex(64 << 20)
	fill(b, x, keys(0, million), 1)
	for name, k := range map[string][]dedupe.Key{"hit": keys(0, million), "miss": keys(million, million)} {
		b.Run(name, func(b *testing.B) {
			var buf []uint64
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				buf = x.Rows(k[i], buf)
				if i += 7919; i >= million {
					i -= million
				}
			}
		})
	}
}

// BenchmarkIndexSlide1M adds a group and forgets one in a window of a million ids.
func BenchmarkIndexSlide1M(b *testing.B) {
	k := keys(0, 2*million)
	x := dedupe.NewIndex(64 << 20)
	row := fill(b, x, k[:million], 1)
	i := million
	for b.Loop() {
		row = fill(b, x, k[i:i+groupSize], row)
		x.ForgetThrough(row - million/groupSize)
		if i += groupSize; i+groupSize > len(k) {
			i = 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/groupSize, "ns/id")
}
