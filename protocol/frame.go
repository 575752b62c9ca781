package protocol

import (
	"encoding/binary"
	"fmt"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// Type is the first byte of a frame. Types from FirstOptional on are skipped by a peer that does not know them, so a newer
// program may send them unasked; an unknown type below it ends the session.
type Type uint8

// The types of version 1 that this program speaks. docs/protocol.md lists the numbers that are kept for later frames.
const (
	TypeHello     Type = 1
	TypeWelcome   Type = 2
	TypeResume    Type = 3
	TypeShip      Type = 4
	TypeClose     Type = 7
	TypeAccepted  Type = 8
	TypeRefused   Type = 9
	TypeFloor     Type = 10
	TypeCredit    Type = 11
	TypeUse       Type = 12
	TypeHeartbeat Type = 16
	TypeBye       Type = 17

	FirstOptional Type = 0x80
)

// String returns the name of the frame, for logs and errors.
func (t Type) String() string {
	switch t {
	case TypeHello:
		return "Hello"
	case TypeWelcome:
		return "Welcome"
	case TypeResume:
		return "Resume"
	case TypeShip:
		return "Ship"
	case TypeClose:
		return "Close"
	case TypeAccepted:
		return "Accepted"
	case TypeRefused:
		return "Refused"
	case TypeFloor:
		return "Floor"
	case TypeCredit:
		return "Credit"
	case TypeUse:
		return "Use"
	case TypeHeartbeat:
		return "Heartbeat"
	case TypeBye:
		return "Bye"
	}
	return fmt.Sprintf("frame type %d", uint8(t))
}

// Frame is one unit on the wire: a pointer to one of the structs of this package, and nothing else.
type Frame interface {
	// Type says which frame it is.
	Type() Type
	appendPayload(b []byte) []byte
	parse(r *pack.Reader)
}

// Answer says who answers, and about what. It counts only if session, spool and epoch are those of the session in force.
type Answer struct {
	Session message.SessionID
	// Spool and Epoch are the receiver's.
	Spool message.SpoolID
	Epoch message.Epoch
	// Queue and Stream name what was shipped: the far queue, and the sender's stream.
	Queue  string
	Stream message.StreamID
}

// appendSubject writes the answer without its session, which every frame has in its own place.
func (a *Answer) appendSubject(b []byte) []byte {
	b = append(b, a.Spool[:]...)
	b = appendEpoch(b, a.Epoch)
	b = pack.AppendString(b, a.Queue)
	return append(b, a.Stream[:]...)
}

func (a *Answer) readSubject(r *pack.Reader) {
	r.Fixed(a.Spool[:])
	a.Epoch = readEpoch(r)
	a.Queue = readQueue(r)
	r.Fixed(a.Stream[:])
}

// Append appends the whole frame: its type, the length of its payload, the payload. It checks nothing: a value that breaks
// the rules of its type is refused by the peer.
func Append(b []byte, f Frame) []byte {
	b = append(b, byte(f.Type()), 0)
	start := len(b)
	b = f.appendPayload(b)
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(b)-start))
	// One byte was kept for the length. To move a long payload costs less than to encode it twice.
	b = append(b, length[1:n]...)
	copy(b[start+n-1:], b[start:])
	copy(b[start-1:], length[:n])
	return b
}

// Decode reads the payload of a frame of type t. Errors wrap pack.ErrTruncated or pack.ErrMalformed. The records of a Ship
// share memory with payload; all else is copied.
func Decode(t Type, payload []byte) (Frame, error) {
	f := empty(t)
	if f == nil {
		return nil, fmt.Errorf("%w: %s is unknown", pack.ErrMalformed, t)
	}
	r := pack.NewReader(payload)
	f.parse(r)
	if err := r.Finish(); err != nil {
		return nil, fmt.Errorf("read %s: %w", t, err)
	}
	return f, nil
}

// empty returns a frame of type t to parse into, or nil for a type that this program does not know.
func empty(t Type) Frame {
	switch t {
	case TypeHello:
		return new(Hello)
	case TypeWelcome:
		return new(Welcome)
	case TypeResume:
		return new(Resume)
	case TypeShip:
		return new(Ship)
	case TypeClose:
		return new(Close)
	case TypeAccepted:
		return new(Accepted)
	case TypeRefused:
		return new(Refused)
	case TypeFloor:
		return new(Floor)
	case TypeCredit:
		return new(Credit)
	case TypeUse:
		return new(Use)
	case TypeHeartbeat:
		return new(Heartbeat)
	case TypeBye:
		return new(Bye)
	}
	return nil
}
