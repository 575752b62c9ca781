package protocol

import (
	"strings"
	"time"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// MaxCloseItems is how many messages a Close may carry.
const MaxCloseItems = 128

// Close asks to end messages of one stream, in the places where they would have been shipped: each is answered that it was
// closed, or that it had come before. It stands alone on a unidirectional stream.
type Close struct {
	Session message.SessionID
	Route   string
	// Queue is the far queue.
	Queue  string
	Stream message.StreamID
	// Items have strictly rising numbers; there is at least one.
	Items []Closing
}

// Closing is one message in a Close. Name and Sum tell the receiver whether it came under another number.
type Closing struct {
	Number uint64
	// Prev is that of a Shipment.
	Prev message.Place
	// Age is that of a Shipment.
	Age  time.Duration
	Name message.EndToEnd
	// Sum is the content sum of the message.
	Sum    uint32
	Reason message.Reason
}

// maxClosingBytes bounds one item: number, prev, age, origin, id, generation, sum, reason.
const maxClosingBytes = 10 + (1 + 16 + 10) + 10 + (1 + message.MaxAgentNameBytes) + (2 + message.MaxIDBytes) + 5 + 4 + (1 + message.MaxReasonBytes)

// Type implements Frame.
func (*Close) Type() Type { return TypeClose }

func (c *Close) appendPayload(b []byte) []byte {
	b = append(b, c.Session[:]...)
	b = pack.AppendString(b, c.Route)
	b = pack.AppendString(b, c.Queue)
	b = append(b, c.Stream[:]...)
	b = pack.AppendUvarint(b, uint64(len(c.Items)))
	var before uint64
	for i := range c.Items {
		item := &c.Items[i]
		b = pack.AppendUvarint(b, item.Number-before)
		b = appendPrev(b, c.Stream, item.Number, item.Prev)
		b = appendDuration(b, item.Age)
		b = pack.AppendString(b, item.Name.Origin)
		b = pack.AppendString(b, item.Name.ID)
		b = pack.AppendUvarint(b, uint64(item.Name.Generation))
		b = pack.AppendUint32(b, item.Sum)
		b = pack.AppendString(b, item.Reason)
		before = item.Number
	}
	return b
}

func (c *Close) parse(r *pack.Reader) {
	c.Session = readSession(r)
	c.Route = readRoute(r)
	c.Queue = readQueue(r)
	r.Fixed(c.Stream[:])
	const leastBytes = 1 + 1 + 1 + 2 + 2 + 1 + 4 + 2
	c.Items = make([]Closing, readCount(r, MaxCloseItems, leastBytes))
	var before uint64
	for i := range c.Items {
		item := &c.Items[i]
		item.Number = readAbove(r, before)
		item.Prev = readPrev(r, c.Stream, item.Number)
		item.Age = readDuration(r)
		item.Name.Origin = readAgent(r)
		item.Name.ID = readName(r, message.MaxIDBytes, message.CheckID)
		item.Name.Generation = uint32(r.Count(1<<32 - 1))
		item.Sum = r.Uint32()
		item.Reason = readReason(r)
		before = item.Number
	}
	if len(c.Items) == 0 {
		r.Failf("a close without a message")
	}
}

func readReason(r *pack.Reader) message.Reason {
	reason := r.String(message.MaxReasonBytes)
	if r.Err() == nil && !isWord(reason) {
		r.Failf("reason %q is not made of a-z and -", reason)
	}
	return message.Reason(reason)
}

// isWord tells whether s is one or more of a-z and -.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && c != '-' })
}
