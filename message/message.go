// Package message is what all parts of drawbridge agree on: a message with its head, envelope and body, the names and
// limits that apply everywhere, and the bytes in which a message is stored and shipped. It does no I/O and imports nothing
// else of ours.
package message

import (
	"hash/crc32"
	"time"

	"drawbridge/message/pack"
)

// QoS says how often a message may reach the last consumer.
type QoS uint8

const (
	// AtLeastOnce hands a message out until a consumer settles it. It is the default.
	AtLeastOnce QoS = 0
	// AtMostOnce removes a message before it is handed to the last consumer.
	AtMostOnce QoS = 1
)

// String returns the word used in the API and the command line.
func (q QoS) String() string {
	if q == AtMostOnce {
		return "at-most-once"
	}
	return "at-least-once"
}

// DefaultPriority is the priority of a message whose producer named none: the middle of 0 (last) to 9 (first).
const DefaultPriority = 4

// Head is what the source said about a message. It never changes on the way.
type Head struct {
	// ID names the message end to end, together with Origin and Envelope.Generation.
	ID string
	// Origin is the name of the agent that stored the message first.
	Origin string
	// Priority runs from 0 (last) to MaxPriority (first).
	Priority uint8
	// Key groups messages that belong together; empty for none.
	Key string
	QoS QoS
	// StoredAt is the source's wall clock in milliseconds UTC. Information only: no decision depends on it.
	StoredAt time.Time
	Headers  Headers
	// BodyBytes and BodySum are the size of the body and its CRC32C, computed when the message was stored.
	BodyBytes uint64
	BodySum   uint32
}

// Envelope is what changes on the way.
type Envelope struct {
	// Generation rises each time a dead letter is requeued, so that no ledger takes the requeued message for the dead one.
	Generation uint32
	// TTLLeft is how long the message may still live; 0 for no limit.
	TTLLeft time.Duration
	// Hops are the names of the agents that the message has left, the source first.
	Hops []string
	// Deliveries counts how often the message was handed to a consumer of its present queue.
	Deliveries uint32
	// Death is why it lies among the dead letters; nil for a message that lives.
	Death *Death
}

// Message is a message as it is stored, shipped and handed out.
type Message struct {
	Head
	Envelope
	Body []byte
}

// EndToEnd names a message end to end; it is what a ledger hashes.
type EndToEnd struct {
	Origin     string
	ID         string
	Generation uint32
}

// EndToEnd returns the name that the message keeps from its source to its last queue.
func (m *Message) EndToEnd() EndToEnd {
	return EndToEnd{Origin: m.Origin, ID: m.ID, Generation: m.Generation}
}

// ContentSum is the CRC32C over size, body sum and key. Two messages of one id are the same message iff it is equal;
// headers do not count, because an honest retry carries a new traceparent.
func (h *Head) ContentSum() uint32 {
	b := make([]byte, 0, 16+len(h.Key))
	b = pack.AppendUvarint(b, h.BodyBytes)
	b = pack.AppendUint32(b, h.BodySum)
	b = append(b, h.Key...)
	return Checksum(b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC32C (Castagnoli) of b, the checksum used for heads, envelopes and bodies.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
