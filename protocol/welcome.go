package protocol

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// Welcome answers a Hello that asked for a new session.
type Welcome struct {
	// Version is the one that both sides speak from here on.
	Version uint8
	// Agent to Limits are as in Hello, of the side that was dialed.
	Agent    string
	Spool    message.SpoolID
	Epochs   []message.Epoch
	Restored bool
	Limits   Limits
	// Session is new and random. It counts when Use has named it.
	Session message.SessionID
	// Fence is stored by the dialer before its first Ship, and presented in its next Hello: a copy of its spool that still
	// lives presents an older one.
	Fence message.SessionID
}

// Type implements Frame.
func (*Welcome) Type() Type { return TypeWelcome }

func (w *Welcome) appendPayload(b []byte) []byte {
	b = append(b, w.Version)
	b = appendSelf(b, w.Agent, w.Spool, w.Epochs, w.Restored)
	b = w.Limits.append(b)
	b = append(b, w.Session[:]...)
	return append(b, w.Fence[:]...)
}

func (w *Welcome) parse(r *pack.Reader) {
	w.Version = r.Byte()
	if w.Version == 0 {
		r.Failf("version 0")
	}
	w.Agent, w.Spool, w.Epochs, w.Restored = readSelf(r)
	w.Limits = readLimits(r)
	w.Session = readSession(r)
	r.Fixed(w.Fence[:])
}
