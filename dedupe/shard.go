package dedupe

import (
	"iter"
	"math"
	"slices"
)

// shard is a part of the Index: an open table with linear probing. A slot holds 32 bits of a key, its print, above the row's
// distance from the index's base; 0 is empty. The home of a print is its share of the table, so a table of any size will do.
type shard struct {
	slots []uint64
	used  int // slots that are not empty
	// oldest is at or below every row in the table: where nothing was forgotten, sweeping finds nothing.
	oldest uint64
}

const (
	slotBytes  = 8
	shardBytes = 40
	minSlots   = 8
)

func slotOf(print, distance uint32) uint64 { return uint64(print)<<32 | uint64(distance) }
func printOf(slot uint64) uint32           { return uint32(slot >> 32) }
func distanceOf(slot uint64) uint32        { return uint32(slot) }

func (s *shard) home(print uint32) int { return int(uint64(print) * uint64(len(s.slots)) >> 32) }

func (s *shard) after(i int) int {
	if i++; i == len(s.slots) {
		return 0
	}
	return i
}

// full tells that an eighth of the table is empty and must stay so: it ends every search, and keeps it short.
func (s *shard) full() bool { return s.used >= len(s.slots)*7/8 }

// vacancy finds where a slot with this print may be put: over a forgotten one or, unless the table is full, in an empty one.
func (s *shard) vacancy(print, dead uint32) (at int, ok bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	i := s.home(print)
	for distanceOf(s.slots[i]) > dead {
		i = s.after(i)
	}
	return i, s.slots[i] != 0 || !s.full()
}

// set puts slot at i and tells whether i was empty.
func (s *shard) set(i int, slot, row uint64) (wasEmpty bool) {
	wasEmpty = s.slots[i] == 0
	if wasEmpty {
		s.used++
	}
	s.slots[i] = slot
	s.oldest = min(s.oldest, row)
	return wasEmpty
}

// cluster yields the slots from the home of print to the next empty one.
func (s *shard) cluster(print uint32) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if len(s.slots) == 0 {
			return
		}
		for i := s.home(print); s.slots[i] != 0 && yield(s.slots[i]); i = s.after(i) {
		}
	}
}

// remove empties one slot and closes the gap, because a search ends at an empty slot. It tells whether slot was there.
func (s *shard) remove(slot uint64) bool {
	if len(s.slots) == 0 {
		return false
	}
	gap := s.home(printOf(slot))
	for s.slots[gap] != slot {
		if s.slots[gap] == 0 {
			return false
		}
		gap = s.after(gap)
	}
	for i := s.after(gap); s.slots[i] != 0; i = s.after(i) {
		if s.distanceFromHome(i) >= s.steps(gap, i) {
			s.slots[gap], gap = s.slots[i], i
		}
	}
	s.slots[gap] = 0
	s.used--
	return true
}

func (s *shard) distanceFromHome(i int) int { return s.steps(s.home(printOf(s.slots[i])), i) }

// steps counts how far it is from one slot on to another, round the end.
func (s *shard) steps(from, to int) int {
	if to < from {
		to += len(s.slots)
	}
	return to - from
}

// survey counts the slots that are not forgotten and finds the oldest row anew.
func (s *shard) survey(base uint64, dead uint32) (live int) {
	oldest := uint32(math.MaxUint32)
	for _, slot := range s.slots {
		if d := distanceOf(slot); d > dead {
			live++
			oldest = min(oldest, d)
		}
	}
	s.oldest = math.MaxUint64
	if live > 0 {
		s.oldest = base + uint64(oldest) - 1
	}
	return live
}

// compact drops what is forgotten and finds the oldest row anew. It takes the slots in their order from one that is empty on,
// so that each slot behind a gap can be put back where it was or before, over what has been dealt with.
func (s *shard) compact(base uint64, dead uint32) {
	oldest := uint32(math.MaxUint32)
	s.used = 0
	gap := false
	for n, i := 0, slices.Index(s.slots, 0); n < len(s.slots); n, i = n+1, s.after(i) {
		slot := s.slots[i]
		d := distanceOf(slot)
		switch {
		case slot == 0:
			gap = false
			continue
		case d <= dead:
			s.slots[i] = 0
			gap = true
			continue
		case gap:
			s.slots[i] = 0
			at := s.home(printOf(slot))
			for s.slots[at] != 0 {
				at = s.after(at)
			}
			s.slots[at] = slot
		}
		oldest = min(oldest, d)
		s.used++
	}
	s.oldest = math.MaxUint64
	if s.used > 0 {
		s.oldest = base + uint64(oldest) - 1
	}
}

// fit returns the size of a table for so many slots in use, given its present size: half as large again when it gets tight,
// smaller when three quarters are empty.
func fit(used, size, maxSize int) int {
	switch {
	case used == 0:
		return 0
	case used > size*3/4:
		return min(max(minSlots, size*3/2), maxSize)
	case used < size/4:
		return max(minSlots, used*2)
	}
	return size
}

// rebuild moves what is not forgotten into a new table.
func (s *shard) rebuild(size int, dead uint32) {
	old := s.slots
	s.used, s.slots = 0, nil
	if size > 0 {
		s.slots = make([]uint64, size)
	}
	for _, slot := range old {
		if distanceOf(slot) <= dead {
			continue
		}
		i := s.home(printOf(slot))
		for s.slots[i] != 0 {
			i = s.after(i)
		}
		s.slots[i] = slot
		s.used++
	}
}

// shift adds by, modulo 2^32, to every distance.
func (s *shard) shift(by uint32) {
	for i, slot := range s.slots {
		if slot != 0 {
			s.slots[i] = slotOf(printOf(slot), distanceOf(slot)+by)
		}
	}
}
