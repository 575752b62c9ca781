package protocol

import "drawbridge/message/pack"

// MaxByeTextBytes bounds the text of a Bye. A longer one is cut as the frame is written.
const MaxByeTextBytes = 200

// Bye is the last frame on a connection that ends in order.
type Bye struct {
	Code Code
	// Text is for an operator. Control characters become spaces as the frame is written.
	Text string
}

// Type implements Frame.
func (*Bye) Type() Type { return TypeBye }

func (y *Bye) appendPayload(b []byte) []byte {
	b = pack.AppendString(b, y.Code)
	return appendText(b, y.Text, MaxByeTextBytes)
}

func (y *Bye) parse(r *pack.Reader) {
	y.Code = readCode(r)
	y.Text = readText(r, MaxByeTextBytes)
}
