package api

// Verdict is what became of one message that a producer offered.
type Verdict string

// The verdicts a producer can hear. Silence means VerdictUnknown.
const (
	// VerdictStored: durable now.
	VerdictStored Verdict = "stored"
	// VerdictDuplicate: the queue has or had this id with the same content; the first copy counts.
	VerdictDuplicate Verdict = "duplicate"
	// VerdictDuplicateDead: like VerdictDuplicate, and the first copy lies among the queue's dead letters.
	VerdictDuplicateDead Verdict = "duplicate-dead"
	// VerdictIDConflict: the queue has or had this id with other content; nothing was stored.
	VerdictIDConflict Verdict = "id-conflict"
	// VerdictRefused: certainly not stored.
	VerdictRefused Verdict = "refused"
	// VerdictUnknown: it may or may not be stored. Retrying with the same id is safe.
	VerdictUnknown Verdict = "unknown"
)

// PutLine is one message of a batch, one JSON object a line.
type PutLine struct {
	// ID is minted by the agent when empty; a retry is safe only with an id of the producer's own.
	ID  string `json:"id,omitempty"`
	Key string `json:"key,omitempty"`
	// Priority runs from 0 (last) to 9 (first); absent means message.DefaultPriority.
	Priority *uint8 `json:"priority,omitempty"`
	// QoS is at-least-once (also when absent) or at-most-once.
	QoS     string            `json:"qos,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body
}

// PutResult is the answer to one message.
type PutResult struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	// Sequence is the message's place in the queue; with VerdictDuplicate that of the first copy, with
	// VerdictDuplicateDead its place among the dead letters. 0 when nothing is stored.
	Sequence uint64 `json:"sequence,omitempty"`
	// Code and Detail say why a message of a batch was not stored.
	Code   Code   `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}
