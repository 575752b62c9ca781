// Package history judges what happened to messages by what was heard and seen outside the agents: what producers were
// answered, what consumers were handed, and what the queues hold at the end. It trusts no agent's word about another, knows
// nothing of how messages travel, and never looks into one.
package history

import (
	"crypto/sha256"
	"time"

	"drawbridge/message"
)

// Sum identifies a body.
type Sum [sha256.Size]byte

// SumOf returns the sum of body.
func SumOf(body []byte) Sum { return sha256.Sum256(body) }

// Heard is the answer that ended a producer's tries.
type Heard uint8

const (
	// Unknown: silence, or `unknown`. The message may be stored or not.
	Unknown Heard = iota
	// Stored: the message is stored.
	Stored
	// Duplicate: a try of this id and content before this one was stored.
	Duplicate
	// Refused: this try stored nothing.
	Refused
	// Conflict: this try stored nothing, and the id is in use with other content.
	Conflict
)

// Put is one message as its producer knows it. Several Puts may share an id: a producer may put an id again after its
// tries have ended.
type Put struct {
	// ID names the message in the whole history. Who lets producers of two agents use the same id puts the agent before it.
	ID string
	// Producer and Turn place it: a producer puts its messages one after the other, in turns 0, 1, 2 …
	Producer, Turn int
	// Queue is where it was put. All queues of a history may be named as the caller likes, if two have two names.
	Queue    string
	Priority uint8
	Sum      Sum
	// BeganAt is when the first try was begun.
	BeganAt time.Time
	Heard   Heard
}

// promised says that the agent owes the message to its producer.
func (p *Put) promised() bool { return p.Heard == Stored || p.Heard == Duplicate }

// Sight is one thing a consumer saw: a message handed out, or the answer to its ack.
type Sight struct {
	ID string
	// Generation is how often the message had been requeued.
	Generation uint32
	Queue      string
	Sequence   uint64
	// Acked says that this is the answer to an ack, and no handing out; Attempt, Sum and At are zero then.
	Acked bool
	// Attempt is which delivery of the message this is, as the agent counted: the first is 1.
	Attempt uint32
	// Kept says that its consumer did not try to ack it. A message of which all sights are so is still owed.
	Kept bool
	Sum  Sum
	At   time.Time
}

// Copy is a message that lies somewhere when all is over.
type Copy struct {
	ID         string
	Generation uint32
	Queue      string
	Sequence   uint64
	Sum        Sum
	// Reason is set for a dead letter; Queue is the queue it died in then.
	Reason message.Reason
}

// Requeue is a dead letter that an operator found, and tried to give another life under the next generation.
type Requeue struct {
	ID string
	// Generation is that of the dead letter, Queue the queue it died in.
	Generation uint32
	Queue      string
	Reason     message.Reason
	// Done says that the agent answered that it is requeued. Without it the dead letter may be requeued or not.
	Done bool
}

// Figure is a number that an agent tells of itself, with the least and the most that it may be by what was seen.
type Figure struct {
	// Of says which one, for people.
	Of          string
	Says        uint64
	Least, Most uint64
}

// History is all that a judge may use.
type History struct {
	// Puts are what the producers heard, in any order.
	Puts []Put
	// Seen is what the consumers saw, in the order in which they saw it.
	Seen []Sight
	// Requeued is what the operators did, in any order.
	Requeued []Requeue
	// Left are the copies that the queues hold at the end, dead letters included.
	Left []Copy
	// Figures are what the agents told of themselves at the end.
	Figures []Figure
}
