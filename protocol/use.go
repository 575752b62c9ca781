package protocol

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// Use puts a session in force on both sides and ends the one before. Only the chooser says it: of the two agents, the one
// with the smaller key hash.
type Use struct {
	Session message.SessionID
	// Order rises with every Use of one epoch of the chooser; one that is not above the last one heard is ignored.
	Order uint64
}

// Type implements Frame.
func (*Use) Type() Type { return TypeUse }

func (u *Use) appendPayload(b []byte) []byte {
	b = append(b, u.Session[:]...)
	return pack.AppendUvarint(b, u.Order)
}

func (u *Use) parse(r *pack.Reader) {
	u.Session = readSession(r)
	u.Order = r.Uvarint()
}
