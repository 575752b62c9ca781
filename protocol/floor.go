package protocol

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// Floor says that the sender has ended, durably, all numbers of a stream below one: which of them were closed, the receiver
// may forget.
type Floor struct {
	Session message.SessionID
	// Queue is the far queue.
	Queue  string
	Stream message.StreamID
	// Floor is 1 or more.
	Floor uint64
}

// Type implements Frame.
func (*Floor) Type() Type { return TypeFloor }

func (f *Floor) appendPayload(b []byte) []byte {
	b = append(b, f.Session[:]...)
	b = pack.AppendString(b, f.Queue)
	b = append(b, f.Stream[:]...)
	return pack.AppendUvarint(b, f.Floor)
}

func (f *Floor) parse(r *pack.Reader) {
	f.Session = readSession(r)
	f.Queue = readQueue(r)
	r.Fixed(f.Stream[:])
	f.Floor = readAbove(r, 0)
}
