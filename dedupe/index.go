package dedupe

import (
	"encoding/binary"
	"math"
	"slices"
)

// Index tells which rows may hold a key. It stands in front of the rows, in memory, and is made anew from Row.Keys when a
// spool is opened. It keeps 32 bits of each key beside the row, so it may name a row that does not hold the key: look with
// Row.Find before calling anything a duplicate. It never leaves out a row that does.
//
// An id costs 9 to 16 bytes. The table is cut into shards of at most 256 KiB that grow, shrink and are swept one at a time,
// so that no call stops a commit for long and little is held twice. An Index is not safe for concurrent use.
type Index struct {
	shards   []shard
	maxSlots int // of one shard
	held     int // ids, forgotten ones that are not yet swept included
	slots    int // of all shards

	base uint64 // slots hold rows as distances from here
	dead uint32 // distances at or below it are forgotten
	from uint64 // rows below it are forgotten

	oldest, newest uint64 // rows ever added
	sweepNext      int    // the shard whose turn it is
	sweepDebt      float64
}

const (
	// maxShardBytes bounds what one call has to move: some 0.1 ms.
	maxShardBytes = 256 << 10
	// maxShards is how many the two bytes of a key that choose the shard can tell apart.
	maxShards = 1 << 16
	// sweepsPerWindow is how often each shard is swept while all rows are replaced once. Four leave at most about a quarter
	// more slots than ids are remembered, and cost a forgotten id some ten looks at a slot.
	sweepsPerWindow = 4
)

// NewIndex returns an empty Index that holds at most maxBytes, which is enough for 7 ids in each 64 bytes.
func NewIndex(maxBytes int) *Index {
	n := 1
	for n < maxShards && maxBytes/n > maxShardBytes {
		n *= 2
	}
	x := &Index{
		shards:   make([]shard, n),
		maxSlots: max(minSlots, (maxBytes/n-shardBytes)/slotBytes),
		oldest:   math.MaxUint64,
	}
	for i := range x.shards {
		x.shards[i].oldest = math.MaxUint64
	}
	return x
}

// Add remembers that row holds k. Rows rise from call to call, more or less; one that was forgotten is not added. It returns
// false if there is no room: the caller forgets old rows and asks again. A full index is best relieved of a share of its
// rows, say a sixteenth, at a time, because each shard has to be swept for it.
func (x *Index) Add(k Key, row uint64) (ok bool) {
	if row < x.from {
		return true
	}
	if !x.reaches(row) && !x.moveBase(row) {
		return false
	}
	s, print := x.locate(k)
	i, ok := s.vacancy(print, x.dead)
	if !ok {
		if !x.makeRoom(s) {
			return false
		}
		i, _ = s.vacancy(print, x.dead)
	}
	if s.set(i, slotOf(print, x.distance(row)), row) {
		x.held++
	}
	x.oldest, x.newest = min(x.oldest, row), max(x.newest, row)
	return true
}

// Fits tells that n more ids surely find room. Keys spread over the shards by chance, so it keeps a tenth in hand.
func (x *Index) Fits(n int) bool {
	room := len(x.shards) * (x.maxSlots * 7 / 8)
	if len(x.shards) > 1 {
		room -= room / 10
	}
	return x.held+n <= room
}

// Rows returns the rows that may hold k, newest first. The result takes the memory of buf, whose contents it overwrites.
func (x *Index) Rows(k Key, buf []uint64) []uint64 {
	rows := buf[:0]
	s, print := x.locate(k)
	for slot := range s.cluster(print) {
		if printOf(slot) == print && distanceOf(slot) > x.dead {
			rows = append(rows, x.base+uint64(distanceOf(slot))-1)
		}
	}
	if len(rows) > 1 {
		slices.Sort(rows)
		slices.Reverse(rows)
		rows = slices.Compact(rows)
	}
	return rows
}

// Remove takes back Add(k, row), for a commit that failed. A key that was not added must not be removed: it could take the
// place of another one with the same 32 bits.
func (x *Index) Remove(k Key, row uint64) {
	if row < x.from || !x.reaches(row) {
		return
	}
	s, print := x.locate(k)
	if s.remove(slotOf(print, x.distance(row))) {
		x.held--
	}
}

// ForgetThrough says that the rows up to and including row are gone. Their slots are given to new keys, or swept: each call
// sweeps a share of the shards in proportion to the share of rows it forgets.
func (x *Index) ForgetThrough(row uint64) {
	if row < x.from {
		return
	}
	first := max(x.from, x.oldest)
	x.from = row + min(1, math.MaxUint64-row)
	x.setDead()
	if row < first {
		return
	}
	share := 1.0
	if row < x.newest {
		share = float64(row-first+1) / float64(x.newest-first+1)
	}
	all := float64(len(x.shards))
	for x.sweepDebt = min(x.sweepDebt+share*sweepsPerWindow*all, all); x.sweepDebt >= 1; x.sweepDebt-- {
		x.sweep(&x.shards[x.sweepNext])
		x.sweepNext = (x.sweepNext + 1) % len(x.shards)
	}
}

// Len is how many ids are remembered; among them are some that were forgotten and whose slots are neither taken again nor
// swept, none once every row is forgotten.
func (x *Index) Len() int { return x.held }

// Bytes is the memory of the table.
func (x *Index) Bytes() int { return x.slots*slotBytes + len(x.shards)*shardBytes }

func (x *Index) locate(k Key) (*shard, uint32) {
	return &x.shards[int(binary.BigEndian.Uint16(k[4:]))&(len(x.shards)-1)], binary.BigEndian.Uint32(k[:])
}

// makeRoom drops forgotten slots of s or makes it larger, and tells whether there is a vacancy now.
func (x *Index) makeRoom(s *shard) bool {
	if len(s.slots) == x.maxSlots && s.oldest >= x.from {
		return false // nothing has been forgotten here since the last look
	}
	live := s.survey(x.base, x.dead)
	x.resize(s, fit(live+1, len(s.slots), x.maxSlots))
	return !s.full()
}

// sweep drops the forgotten slots of s and gives back memory that it no longer needs.
func (x *Index) sweep(s *shard) {
	if s.oldest >= x.from {
		return
	}
	x.held -= s.used
	s.compact(x.base, x.dead)
	x.held += s.used
	if size := fit(s.used, len(s.slots), x.maxSlots); size < len(s.slots) {
		x.resize(s, size)
	}
}

func (x *Index) resize(s *shard, slots int) {
	x.held -= s.used
	x.slots -= len(s.slots)
	s.rebuild(slots, x.dead)
	x.held += s.used
	x.slots += len(s.slots)
}

// distance is the row as a slot holds it: 1 and more, so that no slot in use is 0.
func (x *Index) distance(row uint64) uint32 { return uint32(row - x.base + 1) }

func (x *Index) reaches(row uint64) bool { return row >= x.base && row-x.base < math.MaxUint32 }

// moveBase puts the base where it reaches row and all that is remembered, with what remains of its reach on either side. It
// has to happen once in some two thousand million rows, and may touch the whole table. It returns false if too many rows
// lie between.
func (x *Index) moveBase(row uint64) bool {
	low, high := row, row
	if x.newest >= x.from {
		high = max(high, x.newest)
	}
	for i := range x.shards {
		s := &x.shards[i]
		x.sweep(s)
		s.survey(x.base, x.dead)
		low = min(low, s.oldest)
	}
	if high-low >= math.MaxUint32 {
		return false
	}
	base := low - min(low, (math.MaxUint32-1-(high-low))/2)
	for i := range x.shards {
		x.shards[i].shift(uint32(x.base - base))
	}
	x.base = base
	x.setDead()
	return true
}

// setDead computes from which distance on slots live.
func (x *Index) setDead() {
	x.dead = uint32(min(x.from-min(x.from, x.base), math.MaxUint32))
}
