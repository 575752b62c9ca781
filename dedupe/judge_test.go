//go:build !drawbridge_no_dedupe

package dedupe_test

import (
	"testing"

	"pgregory.net/rapid"

	"drawbridge/dedupe"
	"drawbridge/message"
)

var (
	mine, other = dedupe.Key{1}, dedupe.Key{2}
	here, there = message.StreamID{1}, message.StreamID{2}
)

// remembered is an entry with what Judge compares.
func remembered(k dedupe.Key, sum uint32) *dedupe.Entry {
	return &dedupe.Entry{Key: k, Sum: sum, Sequence: 100}
}

func TestJudge(t *testing.T) {
	const sum, otherSum = 7, 8
	prev := func(stream message.StreamID, n uint64) message.Place { return message.Place{Stream: stream, Number: n} }
	for _, c := range []struct {
		name string
		c    dedupe.Case
		want dedupe.Ruling
	}{
		{"the first of a stream", dedupe.Case{Number: 1}, dedupe.Admit},
		{"just above the frontier", dedupe.Case{Number: 6, Frontier: 5}, dedupe.Admit},
		{"after a gap", dedupe.Case{Number: 60, Frontier: 5}, dedupe.Admit},
		{"the highest number", dedupe.Case{Number: 1<<64 - 1, Frontier: 1<<64 - 2}, dedupe.Admit},

		{"at the frontier, no row", dedupe.Case{Number: 5, Frontier: 5}, dedupe.Below},
		{"below the frontier, no row", dedupe.Case{Number: 1, Frontier: 5}, dedupe.Below},
		{"at the frontier, its row", dedupe.Case{Number: 5, Frontier: 5, ByKey: remembered(mine, sum), ByPlace: remembered(mine, sum)}, dedupe.Duplicate},
		{"below the frontier, its row", dedupe.Case{Number: 1, Frontier: 5, ByKey: remembered(mine, sum), ByPlace: remembered(mine, sum)}, dedupe.Duplicate},
		{"known, its row found by key only", dedupe.Case{Number: 5, Frontier: 5, ByKey: remembered(mine, sum)}, dedupe.Duplicate},
		{"known, its row found by place only", dedupe.Case{Number: 5, Frontier: 5, ByPlace: remembered(mine, sum)}, dedupe.Duplicate},
		{"known, here under another place, which another holds", dedupe.Case{Number: 5, Frontier: 5, ByKey: remembered(mine, sum), ByPlace: remembered(other, otherSum)}, dedupe.Duplicate},
		{"known, another id holds its place", dedupe.Case{Number: 5, Frontier: 5, ByPlace: remembered(other, sum)}, dedupe.Fork},
		{"known, other content under its place", dedupe.Case{Number: 5, Frontier: 5, ByKey: remembered(mine, otherSum), ByPlace: remembered(mine, otherSum)}, dedupe.Fork},
		{"known, other content under its place, found by place only", dedupe.Case{Number: 5, Frontier: 5, ByPlace: remembered(mine, otherSum)}, dedupe.Fork},
		{"known, other content under another place", dedupe.Case{Number: 5, Frontier: 5, ByKey: remembered(mine, otherSum)}, dedupe.Below},
		{"known is answered though prev is missing", dedupe.Case{Number: 5, Frontier: 5, Prev: prev(there, 9), PrevFrontier: 8}, dedupe.Below},

		{"prev at its frontier", dedupe.Case{Number: 6, Frontier: 5, Prev: prev(here, 5), PrevFrontier: 5}, dedupe.Admit},
		{"prev below its frontier", dedupe.Case{Number: 9, Frontier: 8, Prev: prev(here, 5), PrevFrontier: 8}, dedupe.Admit},
		{"prev missing", dedupe.Case{Number: 7, Frontier: 5, Prev: prev(here, 6), PrevFrontier: 5}, dedupe.Early},
		{"prev of another stream admitted", dedupe.Case{Number: 1, Prev: prev(there, 40), PrevFrontier: 40}, dedupe.Admit},
		{"prev of another stream missing", dedupe.Case{Number: 1, Prev: prev(there, 41), PrevFrontier: 40}, dedupe.Early},
		{"prev of a stream never seen", dedupe.Case{Number: 1, Prev: prev(there, 1)}, dedupe.Early},
		{"prev missing, known by id", dedupe.Case{Number: 7, Frontier: 5, Prev: prev(here, 6), PrevFrontier: 5, ByKey: remembered(mine, sum)}, dedupe.Early},
		{"prev missing, in conflict", dedupe.Case{Number: 7, Frontier: 5, Prev: prev(here, 6), PrevFrontier: 5, ByKey: remembered(mine, otherSum)}, dedupe.Early},

		{"known by id at a new number", dedupe.Case{Number: 6, Frontier: 5, ByKey: remembered(mine, sum)}, dedupe.Again},
		{"known by id, prev admitted", dedupe.Case{Number: 6, Frontier: 5, Prev: prev(here, 5), PrevFrontier: 5, ByKey: remembered(mine, sum)}, dedupe.Again},
		{"other content at a new number", dedupe.Case{Number: 6, Frontier: 5, ByKey: remembered(mine, otherSum)}, dedupe.Conflict},
	} {
		c.c.Key, c.c.Sum = mine, sum
		if got := dedupe.Judge(c.c); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestNoResendIsAdmittedTwice sends one lane's messages again and again in any order, as lost answers and new sessions make
// a sender do, while rows are forgotten at any moment: the frontier alone must hold.
func TestNoResendIsAdmittedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1000), 1, 20, rapid.ID[uint64]).Draw(t, "numbers")
		lane := sorted(numbers)
		var frontier uint64
		ledger := make(map[uint64]*dedupe.Entry)
		var admitted []uint64
		for range rapid.IntRange(0, 100).Draw(t, "frames") {
			i := rapid.IntRange(0, len(lane)-1).Draw(t, "frame")
			n := lane[i]
			c := dedupe.Case{Number: n, Frontier: frontier, Key: dedupe.Key{byte(i)}, Sum: uint32(n), ByKey: ledger[n], ByPlace: ledger[n]}
			if i > 0 {
				c.Prev, c.PrevFrontier = message.Place{Stream: here, Number: lane[i-1]}, frontier
			}
			if dedupe.Judge(c) == dedupe.Admit {
				admitted = append(admitted, n)
				frontier = n
				ledger[n] = &dedupe.Entry{Key: c.Key, Sum: c.Sum}
			}
			if rapid.Bool().Draw(t, "forget") {
				clear(ledger)
			}
		}
		for i, n := range admitted {
			if n != lane[i] {
				t.Fatalf("admitted %v of lane %v: not each once and in order", admitted, lane)
			}
		}
	})
}
