package protocol

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// Bounds of payloads, checked before anything is allocated. A Ship's depends on the largest body that a reader takes.
const (
	maxHelloBytes    = 4 << 10
	maxResumeBytes   = 64 << 10
	maxCloseBytes    = shipHeadBytes + MaxCloseItems*maxClosingBytes
	maxAcceptedBytes = 32 << 10
	maxRefusedBytes  = 2 << 10
	maxOtherBytes    = 256
	maxOptionalBytes = 64 << 10
)

// firstReadBytes is allocated on a frame's mere claim to be that long or longer; more only as bytes arrive.
const firstReadBytes = 160 << 10

// Reader takes frames off a byte stream. Not safe for concurrent use.
type Reader struct {
	in           *bufio.Reader
	maxShipBytes uint64
	ask          func(bytes int) error
	err          error
}

// NewReader reads from r, and past the end of a frame too. A Ship may hold one message with a body of maxBodyBytes, or a
// batch of BatchBytes if that is more.
func NewReader(r io.Reader, maxBodyBytes uint64) *Reader {
	// Whatever is configured, lengths stay far from overflow.
	maxBodyBytes = min(maxBodyBytes, math.MaxInt32/2)
	return &Reader{in: bufio.NewReader(r), maxShipBytes: shipHeadBytes + MaxShipItems*itemHeadBytes +
		max(BatchBytes, message.MaxRecordBytes(maxBodyBytes))}
}

// Ask has the reader call ask with the length of each payload before it takes memory for it. ask may block; its error is that of
// Next.
func (r *Reader) Ask(ask func(bytes int) error) { r.ask = ask }

// Next blocks until a whole frame was read. Optional frames of unknown type are skipped. It returns io.EOF at the end of the
// stream between two frames, an error that wraps io.ErrUnexpectedEOF inside a frame, pack.ErrMalformed or pack.ErrTruncated
// if a frame breaks a rule, and otherwise the stream's own error. After an error, Next returns that same one.
func (r *Reader) Next() (Frame, error) {
	if r.err != nil {
		return nil, r.err
	}
	f, err := r.next()
	r.err = err
	return f, err
}

func (r *Reader) next() (Frame, error) {
	for {
		first, err := r.in.ReadByte()
		if err != nil {
			return nil, err
		}
		t := Type(first)
		n, err := r.length(t)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t, inside(err))
		}
		if empty(t) == nil {
			if _, err := r.in.Discard(n); err != nil {
				return nil, fmt.Errorf("skip %s: %w", t, inside(err))
			}
			continue
		}
		payload, err := r.payload(n)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t, inside(err))
		}
		return Decode(t, payload)
	}
}

// length reads the length of a payload and refuses one that the type forbids.
func (r *Reader) length(t Type) (int, error) {
	limit, err := r.limit(t)
	if err != nil {
		return 0, err
	}
	var buf [binary.MaxVarintLen64]byte
	for i := range buf {
		if buf[i], err = r.in.ReadByte(); err != nil {
			return 0, err
		}
		if buf[i] < 0x80 {
			length := pack.NewReader(buf[:i+1])
			n := length.Count(limit)
			return int(n), length.Err()
		}
	}
	return 0, fmt.Errorf("%w: the length does not end", pack.ErrMalformed)
}

func (r *Reader) limit(t Type) (uint64, error) {
	switch t {
	case TypeHello, TypeWelcome:
		return maxHelloBytes, nil
	case TypeResume:
		return maxResumeBytes, nil
	case TypeShip:
		return r.maxShipBytes, nil
	case TypeClose:
		return maxCloseBytes, nil
	case TypeAccepted:
		return maxAcceptedBytes, nil
	case TypeRefused:
		return maxRefusedBytes, nil
	case TypeFloor, TypeCredit, TypeUse, TypeHeartbeat, TypeBye:
		return maxOtherBytes, nil
	}
	if t >= FirstOptional {
		return maxOptionalBytes, nil
	}
	return 0, fmt.Errorf("%w: the type is unknown", pack.ErrMalformed)
}

// payload reads n bytes into memory of their own, which a Ship keeps.
func (r *Reader) payload(n int) ([]byte, error) {
	if r.ask != nil {
		if err := r.ask(n); err != nil {
			return nil, err
		}
	}
	b := make([]byte, 0, min(n, firstReadBytes))
	for len(b) < n {
		if len(b) == cap(b) {
			b = slices.Grow(b, min(n-len(b), len(b)))
		}
		got, err := io.ReadFull(r.in, b[len(b):min(cap(b), n)])
		b = b[:len(b)+got]
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// inside says of an error that it came within a frame, where the stream must not end.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
