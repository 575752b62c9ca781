package message

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// SpoolID names a spool for its whole life. It is random.
type SpoolID [16]byte

// StreamID names one lane of one queue in one epoch of a spool. It is random and durable before its first number.
type StreamID [16]byte

// SessionID names a session between two agents. It is random; the zero value names none.
type SessionID [8]byte

// NewSpoolID returns a random id.
func NewSpoolID() (id SpoolID) { fill(id[:]); return id }

// NewStreamID returns a random id.
func NewStreamID() (id StreamID) { fill(id[:]); return id }

// NewSessionID returns a random id that is not zero.
func NewSessionID() (id SessionID) {
	for id == (SessionID{}) {
		fill(id[:])
	}
	return id
}

// String returns the id in hexadecimal.
func (id SpoolID) String() string { return hex.EncodeToString(id[:]) }

// String returns the id in hexadecimal.
func (id StreamID) String() string { return hex.EncodeToString(id[:]) }

// String returns the id in hexadecimal.
func (id SessionID) String() string { return hex.EncodeToString(id[:]) }

// Epoch names one opening of a spool for writing. Counter rises by one each time; Tag is random, so that the epochs of a
// spool and of its restored or cloned copy differ although both count on from the same number.
type Epoch struct {
	Counter uint64
	Tag     uint64
}

// String returns counter and tag, for logs.
func (e Epoch) String() string { return fmt.Sprintf("%d-%016x", e.Counter, e.Tag) }

// Place names a message on one hop: its number in a stream. The zero Place names none; numbers start at 1.
type Place struct {
	Stream StreamID
	Number uint64
}

// Range is an inclusive run of numbers. Gaps inside it mean nothing: it stands for those of its numbers that were given.
type Range struct {
	First, Last uint64
}

// Verdict is what a receiver decided about a shipped message. Its numbers are on the wire.
type Verdict uint8

const (
	// Undecided is the zero value: no answer was given.
	Undecided Verdict = iota
	// Accepted: stored by this very frame, together with its ledger row.
	Accepted
	// Duplicate: an earlier copy was stored; settle it like Accepted.
	Duplicate
	// Below: the number is known and no row says more; settle it like Accepted.
	Below
	// Closed: a Close was obeyed for this number, so the message was not and will not be stored under it.
	Closed
	// Retired: the stream was not heard of for so long that nothing is known of its numbers any more.
	Retired
	// Refused: not stored. The code beside it says why; the number stays open. It is no verdict on the wire.
	Refused
)

// String returns the word used in logs and documents.
func (v Verdict) String() string {
	switch v {
	case Undecided:
		return "undecided"
	case Accepted:
		return "accepted"
	case Duplicate:
		return "duplicate"
	case Below:
		return "below"
	case Closed:
		return "closed"
	case Retired:
		return "retired"
	case Refused:
		return "refused"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}

// fill cannot fail: crypto/rand ends the process rather than return weak bytes.
func fill(b []byte) { _, _ = rand.Read(b) }
