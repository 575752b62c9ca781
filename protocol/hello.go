package protocol

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// MaxEpochs is how many epochs a Hello or Welcome may name.
const MaxEpochs = 64

// Hello is the first frame on a control connection, from the side that dialed, and the first one on a data connection.
type Hello struct {
	Versions VersionRange
	// Agent is the dialer's name.
	Agent string
	Spool message.SpoolID
	// Epochs are the present epoch and its predecessors, newest first, 1 to MaxEpochs.
	Epochs []message.Epoch
	// Restored says that the present epoch is the first one of a spool that came from an older copy.
	Restored bool
	// Fence is that of the last Welcome this side made durable; zero if there was none.
	Fence  message.SessionID
	Limits Limits
	// Joins names the session that this connection will carry data for; zero asks for a new session.
	Joins message.SessionID
}

// Limits is what a side grants as a receiver before it says the first Credit.
type Limits struct {
	// MaxMessageBytes is the largest body it takes.
	MaxMessageBytes uint64
	// CreditBytes and CreditMessages bound what may be unanswered, per route.
	CreditBytes    uint64
	CreditMessages uint64
}

// Type implements Frame.
func (*Hello) Type() Type { return TypeHello }

func (h *Hello) appendPayload(b []byte) []byte {
	b = append(b, h.Versions.Min, h.Versions.Max)
	b = appendSelf(b, h.Agent, h.Spool, h.Epochs, h.Restored)
	b = append(b, h.Fence[:]...)
	b = h.Limits.append(b)
	return append(b, h.Joins[:]...)
}

func (h *Hello) parse(r *pack.Reader) {
	h.Versions = VersionRange{Min: r.Byte(), Max: r.Byte()}
	if h.Versions.Min == 0 || h.Versions.Min > h.Versions.Max {
		r.Failf("versions %d to %d are no range", h.Versions.Min, h.Versions.Max)
	}
	h.Agent, h.Spool, h.Epochs, h.Restored = readSelf(r)
	r.Fixed(h.Fence[:])
	h.Limits = readLimits(r)
	r.Fixed(h.Joins[:])
}

// appendSelf writes what Hello and Welcome both say about the side that sends them.
func appendSelf(b []byte, agent string, spool message.SpoolID, epochs []message.Epoch, restored bool) []byte {
	b = pack.AppendString(b, agent)
	b = append(b, spool[:]...)
	b = pack.AppendUvarint(b, uint64(len(epochs)))
	for _, e := range epochs {
		b = appendEpoch(b, e)
	}
	return pack.AppendBool(b, restored)
}

func readSelf(r *pack.Reader) (agent string, spool message.SpoolID, epochs []message.Epoch, restored bool) {
	agent = readAgent(r)
	r.Fixed(spool[:])
	const leastBytes = 1 + 8
	epochs = make([]message.Epoch, readCount(r, MaxEpochs, leastBytes))
	for i := range epochs {
		epochs[i] = readEpoch(r)
		if i > 0 && epochs[i].Counter >= epochs[i-1].Counter {
			r.Failf("epoch %s is not older than %s", epochs[i], epochs[i-1])
		}
	}
	if len(epochs) == 0 {
		r.Failf("no epoch")
	}
	return agent, spool, epochs, r.Bool()
}

func (l Limits) append(b []byte) []byte {
	b = pack.AppendUvarint(b, l.MaxMessageBytes)
	b = pack.AppendUvarint(b, l.CreditBytes)
	return pack.AppendUvarint(b, l.CreditMessages)
}

func readLimits(r *pack.Reader) Limits {
	return Limits{MaxMessageBytes: r.Uvarint(), CreditBytes: r.Uvarint(), CreditMessages: r.Uvarint()}
}
