package main

import (
	"runtime/debug"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestTheRuntimeIsGivenTheMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		name        string
		configured  uint64
		environment string
		want        int64
	}{
		{"neither", 0, "", before},
		{"GOMEMLIMIT, which the runtime has read by itself", 300 << 20, "200MiB", before},
		{"memory_limit", 300 << 20, "", 300 << 20},
	} {
		limitMemory(c.configured, func(string) string { return c.environment }, hclog.NewNullLogger())
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%s: the limit is %d bytes, want %d", c.name, got, c.want)
		}
	}
}
