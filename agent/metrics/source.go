package metrics

import (
	"drawbridge/link"
	"drawbridge/spool"
)

// Source is where figures are read from, at each look. Every function is needed, is called from several goroutines at once,
// and should return at once.
type Source struct {
	// Agent and Version name who tells.
	Agent, Version string
	Queues         func() []spool.QueueStats
	Ledger         func() spool.LedgerStats
	Links          func() []link.Status
	Spool          func() Spool
	Health         func() Health
	// LedgerMemoryBytes and LedgerDiskBytes are the caps of the ledger.
	LedgerMemoryBytes, LedgerDiskBytes uint64
}

// Spool is the spool's file and the disk it lies on. What is not known is 0.
type Spool struct {
	// Commits and Reopened count since the agent opened its spool.
	Commits, Reopened uint64
	FileBytes         uint64
	// DiskFreeBytes is what is left for the agent, of DiskBytes.
	DiskFreeBytes, DiskBytes uint64
}

// Health is the agent's verdict on itself, as numbers.
type Health struct {
	Ready bool
	// Parts are those that every agent has; links tell their states themselves.
	Parts []Part
}

// Part is one part of an agent.
type Part struct {
	Name string
	OK   bool
}
