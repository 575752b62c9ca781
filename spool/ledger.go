package spool

import (
	"context"
	"time"
)

// Ledger is what an operator can learn of the ids that an engine remembers, and decide about them.
type Ledger interface {
	// LedgerStats returns the state of the ledger as of the last commit. It does not block.
	LedgerStats() LedgerStats
	// AcceptTime accepts the jump of spool time that LedgerStats tells of. After it, what is past its window is forgotten again.
	// Without a jump it does nothing.
	AcceptTime(ctx context.Context) error
}

// LedgerStats are the figures of the ledger of ids.
type LedgerStats struct {
	// IDs is how many ids are remembered. MemoryBytes is the table in front of the rows, DiskBytes the rows.
	IDs         uint64
	MemoryBytes uint64
	DiskBytes   uint64
	// Window is how long an id is kept at least if the caps leave room. EffectiveWindow is for how long all ids are known
	// now: it is shorter when rows were forgotten early, or when the window has grown and they were forgotten before.
	Window          time.Duration
	EffectiveWindow time.Duration
	// PromisedWindow and PromisedEffective are the same for queues with QueueOptions.ByIDs, of several the least.
	PromisedWindow    time.Duration
	PromisedEffective time.Duration
	// PromisedIDs of IDs came into queues with QueueOptions.ByIDs and are not forgotten before their window has passed.
	PromisedIDs uint64
	// ForgottenEarly counts ids that were forgotten for want of room since the store was opened.
	ForgottenEarly uint64
	// Jump is by how much spool time jumped at a start, more than MaxTimeJump, and nobody has accepted yet: until then
	// nothing is forgotten for its age. 0 if there is none.
	Jump time.Duration
}

// MaxTimeJump is the longest stop that is believed without asking: a wall clock that is wrong at a start by years must not
// empty the ledger.
const MaxTimeJump = 24 * time.Hour
