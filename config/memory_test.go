package config_test

import "testing"

func TestMemoryLimitIsReadAndByDefaultNone(t *testing.T) {
	for src, want := range map[string]uint64{
		"agent: a":                       0,
		"agent: a\nmemory_limit: 256MiB": 256 << 20,
		"agent: a\nmemory_limit: 40MiB\nledger_memory: 8MiB": 40 << 20,
	} {
		if got := good(t, src).MemoryLimitBytes; got != want {
			t.Errorf("%q: %d bytes, want %d", src, got, want)
		}
	}
}

func TestAbsurdMemoryLimitsAreTold(t *testing.T) {
	requireProblems(t, []badFile{
		{"less than any agent needs", "agent: a\nmemory_limit: 1MiB", []string{
			`2:15 memory_limit: 1MiB is out of range, want 32MiB to 1048576GiB`,
		}},
		{"more than any host has", "agent: a\nmemory_limit: 2000000GiB", []string{
			`2:15 memory_limit: 2000000GiB is out of range, want 32MiB to 1048576GiB`,
		}},
		{"less than the ledger may take", "agent: a\nmemory_limit: 64MiB", []string{
			`2:15 memory_limit: 64MiB is too little: the ledger may take 64MiB (ledger_memory) and the agent needs 32MiB beside it, want at least 96MiB`,
		}},
	})
}
