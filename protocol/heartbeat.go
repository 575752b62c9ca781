package protocol

import "drawbridge/message/pack"

// Heartbeat asks the peer for a sign of life, or is one, or both.
type Heartbeat struct {
	// Seq is to be echoed at once; 0 for a mere reply.
	Seq uint64
	// Echo is the Seq that this answers; 0 for none.
	Echo uint64
}

// Type implements Frame.
func (*Heartbeat) Type() Type { return TypeHeartbeat }

func (h *Heartbeat) appendPayload(b []byte) []byte {
	b = pack.AppendUvarint(b, h.Seq)
	return pack.AppendUvarint(b, h.Echo)
}

func (h *Heartbeat) parse(r *pack.Reader) {
	h.Seq = r.Uvarint()
	h.Echo = r.Uvarint()
}
