package protocol

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// Credit raises what the sender may have unanswered. Its values are absolute: one that is lost or late does no harm.
type Credit struct {
	Session message.SessionID
	// Queue and Stream name what may be shipped: the far queue, and the sender's stream.
	Queue  string
	Stream message.StreamID
	// Through is the highest number that may be shipped.
	Through uint64
	// Bytes is how many bytes of the route may be unanswered.
	Bytes uint64
}

// Type implements Frame.
func (*Credit) Type() Type { return TypeCredit }

func (c *Credit) appendPayload(b []byte) []byte {
	b = append(b, c.Session[:]...)
	b = pack.AppendString(b, c.Queue)
	b = append(b, c.Stream[:]...)
	b = pack.AppendUvarint(b, c.Through)
	return pack.AppendUvarint(b, c.Bytes)
}

func (c *Credit) parse(r *pack.Reader) {
	c.Session = readSession(r)
	c.Queue = readQueue(r)
	r.Fixed(c.Stream[:])
	c.Through = r.Uvarint()
	c.Bytes = r.Uvarint()
}
