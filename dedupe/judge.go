package dedupe

import (
	"fmt"

	"drawbridge/message"
)

// Case is one shipped message, or the Close of one, and what the receiver knows of it, read in the transaction that will
// decide.
type Case struct {
	// Close says that the sender does not want to ship the message any more, but to hear that it may end it.
	Close bool
	// Number is the arrival's number in its stream, from 1 on.
	Number uint64
	// Frontier is the highest number of this stream that was admitted or closed in this queue; 0 if none.
	Frontier uint64
	// Closed says that Number itself was closed. It matters only if the number is known.
	Closed bool
	// Prev is the nearest lower message of the lane that the sender still held; zero if none. PrevFrontier is the frontier
	// of its stream, which may be another one.
	Prev         message.Place
	PrevFrontier uint64
	// Key and Sum are the arrival's key and content sum.
	Key Key
	Sum uint32
	// ByKey is the ledger's entry with the arrival's key, if any.
	ByKey *Entry
	// ByPlace is the ledger's entry that names this (stream, number), if any. It matters only if the number is known
	// and ByKey is nil or has another sum; in all other cases a caller may spare itself the search.
	ByPlace *Entry
	// Young says that the message is younger than the effective window: had it been admitted under any number, its row would
	// still be there.
	Young bool
	// Again says that the message may have been delivered in a life of its spool that is lost.
	Again bool
	// ByIDs says that ids carry the guarantee for this queue, and not numbers alone.
	ByIDs bool
}

// Ruling is what is to become of a shipped message as far as numbers and ids tell.
type Ruling uint8

const (
	// Admit: neither number nor id is known. What may still refuse it (rights, size, space) is the caller's to check.
	Admit Ruling = iota + 1
	// Duplicate: the number is known, and the ledger holds this very message. Answer it again.
	Duplicate
	// Below: the number is known and no row says more. The sender may settle it.
	Below
	// Again: the message is here under another place. It is a duplicate, and the frontier advances to its number.
	Again
	// Conflict: the id is here with other content. The message is refused, and the frontier stays.
	Conflict
	// Early: its predecessor is not yet admitted. Nothing is answered.
	Early
	// Closed: the number was closed. The sender may end the message as a dead letter.
	Closed
	// Shut: the Close is obeyed. The frontier advances to its number, which is noted as closed.
	Shut
	// Unsure: it may have been delivered, and its row forgotten. It is refused, and the frontier stays.
	Unsure
	// TooOld: ids carry the guarantee, and the ledger does not reach back to when it may have come first. It is refused, and
	// the frontier stays.
	TooOld
	// Fork: the ledger says that another message came under this number, so two spools number one stream. The route stops.
	Fork
)

// String returns the word used in logs.
func (r Ruling) String() string {
	switch r {
	case Admit:
		return "admit"
	case Duplicate:
		return "duplicate"
	case Below:
		return "below"
	case Again:
		return "again"
	case Conflict:
		return "conflict"
	case Early:
		return "early"
	case Closed:
		return "closed"
	case Shut:
		return "shut"
	case Unsure:
		return "unsure"
	case TooOld:
		return "too old"
	case Fork:
		return "fork"
	}
	return fmt.Sprintf("ruling %d", uint8(r))
}

// Judge decides one shipped message or Close. The order of its rules is the contract: a known number is answered before all else,
// because its answer may have been lost; order is kept before the ledger is asked, because a duplicate by id advances the
// frontier and must not pass over a predecessor that is still to come.
func Judge(c Case) Ruling {
	if c.Number <= c.Frontier {
		return guard(c, known(c))
	}
	if early(c) {
		return Early
	}
	return guard(c, fresh(c))
}

// known judges a number at or below the frontier. It must never say Admit. A row says more than a note that the number was
// closed: the message may have come under another number since.
func known(c Case) Ruling {
	switch {
	case c.ByKey != nil && c.ByKey.Sum == c.Sum:
		return Duplicate
	case c.ByPlace == nil && c.Closed:
		return Closed
	case c.ByPlace == nil:
		return Below
	case c.ByPlace.Key == c.Key && c.ByPlace.Sum == c.Sum:
		return Duplicate // the index forgot the key before its row was deleted
	default:
		return Fork
	}
}

// early tells whether the predecessor is missing. The zero Place has number 0, which is above no frontier.
func early(c Case) bool { return c.Prev.Number > c.PrevFrontier }

// fresh judges a number above the frontier whose predecessor is here. A Close finds the message delivered under another
// number, or ends it: what has the id but other content is another message, and often the very reason for the Close.
func fresh(c Case) Ruling {
	switch {
	case c.ByKey != nil && c.ByKey.Sum == c.Sum:
		return Again
	case c.Close:
		return Shut
	case c.ByKey != nil:
		return Conflict
	case c.Again && !c.Young:
		return Unsure
	case c.ByIDs && !c.Young:
		return TooOld
	default:
		return Admit
	}
}
