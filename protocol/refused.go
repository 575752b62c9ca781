package protocol

import (
	"fmt"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// MaxTextBytes bounds the text of a Refused. A longer one is cut as the frame is written.
const MaxTextBytes = 512

// Scope says how far a refusal reaches.
type Scope uint8

const (
	// ScopeSession ends the session or, in place of a Welcome, refuses it. The sender keeps everything and dials anew, slowly.
	ScopeSession Scope = 1
	// ScopeRoute holds one route: its messages stay at the sender, other routes go on.
	ScopeRoute Scope = 2
	// ScopeMessage is about messages that are at fault themselves.
	ScopeMessage Scope = 3
)

// String returns the word used in logs and documents.
func (s Scope) String() string {
	switch s {
	case ScopeSession:
		return "session"
	case ScopeRoute:
		return "route"
	case ScopeMessage:
		return "message"
	}
	return fmt.Sprintf("scope %d", uint8(s))
}

// Refused says what was not accepted and why.
type Refused struct {
	// Answer has only Session when the scope is the session, and that may be zero.
	Answer
	Scope Scope
	// Range is the refused numbers, all of them; with ScopeMessage only.
	Range message.Range
	Code  Code
	// Text is for an operator. Control characters become spaces as the frame is written.
	Text string
}

// Type implements Frame.
func (*Refused) Type() Type { return TypeRefused }

func (f *Refused) appendPayload(b []byte) []byte {
	b = append(b, byte(f.Scope))
	b = append(b, f.Session[:]...)
	if f.Scope != ScopeSession {
		b = f.appendSubject(b)
	}
	if f.Scope == ScopeMessage {
		b = appendRange(b, 0, f.Range)
	}
	b = pack.AppendString(b, f.Code)
	return appendText(b, f.Text, MaxTextBytes)
}

func (f *Refused) parse(r *pack.Reader) {
	f.Scope = Scope(r.Byte())
	switch f.Scope {
	case ScopeSession:
		r.Fixed(f.Session[:])
	case ScopeRoute:
		f.Session = readSession(r)
		f.readSubject(r)
	case ScopeMessage:
		f.Session = readSession(r)
		f.readSubject(r)
		f.Range = readRange(r, 0)
	default:
		r.Failf("%s", f.Scope)
	}
	f.Code = readCode(r)
	f.Text = readText(r, MaxTextBytes)
}
