package protocol

import "drawbridge/message/pack"

// Heartbeat asks the peer for a sign of life, or is one, or both. Its fields have a fixed width because a packet must be large
// enough for a restarted peer to answer it with a stateless reset: shorter ones it passes over, and the old connection would
// look alive until the silence is noticed.
type Heartbeat struct {
	// Seq is to be echoed at once; 0 for a mere reply.
	Seq uint64
	// Echo is the Seq that this answers; 0 for none.
	Echo uint64
}

// Type implements Frame.
func (*Heartbeat) Type() Type { return TypeHeartbeat }

func (h *Heartbeat) appendPayload(b []byte) []byte {
	b = pack.AppendUint64(b, h.Seq)
	return pack.AppendUint64(b, h.Echo)
}

func (h *Heartbeat) parse(r *pack.Reader) {
	h.Seq = r.Uint64()
	h.Echo = r.Uint64()
}
