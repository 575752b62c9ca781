//go:build drawbridge_no_dedupe

package dedupe_test

import (
	"testing"

	"drawbridge/dedupe"
	"drawbridge/message"
)

func TestNothingIsADuplicateInThisBuild(t *testing.T) {
	known := &dedupe.Entry{Sum: 7}
	missing := message.Place{Number: 4}
	for _, c := range []struct {
		name string
		c    dedupe.Case
		want dedupe.Ruling
	}{
		{"duplicate", dedupe.Case{Number: 5, Frontier: 5, Sum: 7, ByKey: known}, dedupe.Admit},
		{"below", dedupe.Case{Number: 5, Frontier: 5, Sum: 7}, dedupe.Admit},
		{"again", dedupe.Case{Number: 6, Frontier: 5, Sum: 7, ByKey: known}, dedupe.Admit},
		{"below, prev missing", dedupe.Case{Number: 5, Frontier: 5, Sum: 7, Prev: missing, PrevFrontier: 3}, dedupe.Early},
		{"prev missing", dedupe.Case{Number: 6, Frontier: 5, Sum: 7, Prev: missing, PrevFrontier: 3}, dedupe.Early},
		{"conflict", dedupe.Case{Number: 6, Frontier: 5, Sum: 8, ByKey: known}, dedupe.Conflict},
	} {
		if got := dedupe.Judge(c.c); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
