package api

import "time"

// DeadCount says how many dead letters a queue has. Of a queue that is worked on meanwhile it counts what the scan met.
type DeadCount struct {
	// Queue is the queue that they died in.
	Queue string `json:"queue"`
	// Total counts all that can be read, Matching those that the filter lets through. The rest is about the matching ones.
	Total    uint64            `json:"total"`
	Matching uint64            `json:"matching"`
	ByReason map[string]uint64 `json:"by_reason"`
	// OldestAt is when the first of them died; absent if there is none.
	OldestAt *time.Time `json:"oldest_at,omitempty"`
}

// DeadLine is one dead letter of a list that is sent as JSON lines; a bare number does as well.
type DeadLine struct {
	Sequence uint64 `json:"sequence"`
}

// DeadProgress is how far a requeue or a purge has come, one JSON object a line, at least one a second. The last line has
// Finished set, or a Code.
type DeadProgress struct {
	// Done counts the dead letters that were decided, of Of; while they are still being counted, Done is 0 and Of grows.
	Done uint64 `json:"done"`
	Of   uint64 `json:"of"`
	// Requeued and Purged count what was done. With DryRun they stay 0, and nothing was changed.
	Requeued uint64 `json:"requeued,omitempty"`
	Purged   uint64 `json:"purged,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"`
	// Skipped counts those that stay as they are, SkippedFor the same by cause.
	Skipped    uint64              `json:"skipped,omitempty"`
	SkippedFor map[DeadSkip]uint64 `json:"skipped_for,omitempty"`
	// ByReason counts, by the reasons of their deaths, those that were found before the first was touched.
	ByReason map[string]uint64 `json:"by_reason,omitempty"`
	Finished bool              `json:"finished,omitempty"`
	// Code and Detail say why the call ended early. What Done counts was done; calling again goes on with the rest.
	Code   Code   `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// DeadSkip is why a dead letter was left as it is.
type DeadSkip string

// Causes of skipping.
const (
	// SkipGone: nothing lies under that sequence, or nothing any more.
	SkipGone DeadSkip = "gone"
	// SkipLeased: a consumer has it now.
	SkipLeased DeadSkip = "leased"
	// SkipCorrupt: its record cannot be read.
	SkipCorrupt DeadSkip = "corrupt"
)
