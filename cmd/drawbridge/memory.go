package main

import (
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
)

// limitMemory sets the configured limit, if there is one. GOMEMLIMIT goes before it: the runtime has obeyed it since before
// the configuration was read, and whoever starts a process knows its container best.
func limitMemory(bytes uint64, getenv func(string) string, log hclog.Logger) {
	if limit := getenv("GOMEMLIMIT"); limit != "" {
		log.Info("memory limit", "limit", limit, "from", "GOMEMLIMIT")
		return
	}
	if bytes > 0 {
		debug.SetMemoryLimit(int64(bytes))
		log.Info("memory limit", "limit", sizeOf(bytes), "from", "memory_limit")
	}
}
