// Package pack lays out the bytes of records, frames and rows: unsigned varints in their shortest form, length-prefixed
// strings, fixed big-endian words. It knows no message and no frame; it only makes sure that one value has one form, that
// nothing is allocated before its bound was checked, and that every truncated input ends in an error.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTruncated is returned by Reader.Err when the input ended inside a value.
var ErrTruncated = errors.New("truncated")

// ErrMalformed is wrapped by every other decoding error of this package: a value out of bounds, or one not in its only
// permitted form.
var ErrMalformed = errors.New("malformed")

// AppendUvarint appends v in its shortest varint form, 1 to 10 bytes.
func AppendUvarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendUint32 appends v as 4 big-endian bytes.
func AppendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// AppendUint64 appends v as 8 big-endian bytes.
func AppendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// AppendBool appends 1 for true and 0 for false.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendString appends the length of s as a varint and then s.
func AppendString[T ~string | ~[]byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Reader takes values off the front of a byte slice. The first failure sticks: later calls return zero values, and Err
// tells what went wrong, so a decoder may read a whole structure and look once at its end. The zero Reader is empty. Not
// safe for concurrent use.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads from b, which the Reader never changes and of which Bytes returns parts.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Err returns the first failure, or nil.
func (r *Reader) Err() error { return r.err }

// Rest returns the bytes that are not yet read.
func (r *Reader) Rest() []byte { return r.rest }

// Fail makes err the Reader's failure unless it already has one; a decoder uses it for rules of its own.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
		r.rest = nil
	}
}

// Failf is Fail with a formatted text that wraps ErrMalformed.
func (r *Reader) Failf(format string, args ...any) {
	if r.err == nil {
		r.Fail(fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...)))
	}
}

// Finish returns the first failure, or an error if bytes are left over.
func (r *Reader) Finish() error {
	if r.err == nil && len(r.rest) > 0 {
		return fmt.Errorf("%w: %d bytes after the end", ErrMalformed, len(r.rest))
	}
	return r.err
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Bool reads one byte that must be 0 or 1.
func (r *Reader) Bool() bool {
	b := r.Byte()
	if b > 1 {
		r.Failf("a flag is %d, not 0 or 1", b)
	}
	return b == 1
}

// Uint32 reads 4 big-endian bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads 8 big-endian bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Uvarint reads a varint and refuses one that is longer than it needs to be, so that a value has one form only.
func (r *Reader) Uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.rest)
	switch {
	case n == 0:
		r.Fail(ErrTruncated)
		return 0
	case n < 0:
		r.Failf("a varint does not fit 64 bits")
		return 0
	case n > 1 && r.rest[n-1] == 0:
		r.Failf("a varint is longer than it needs to be")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Count reads a varint that must not exceed limit. Read a length with it before allocating.
func (r *Reader) Count(limit uint64) uint64 {
	v := r.Uvarint()
	if v > limit {
		r.Failf("a count is %d, at most %d are allowed", v, limit)
		return 0
	}
	return v
}

// Bytes reads a length-prefixed byte string of at most limit bytes. The result shares memory with the input.
func (r *Reader) Bytes(limit uint64) []byte {
	return r.take(r.Count(limit))
}

// String reads a length-prefixed string of at most limit bytes.
func (r *Reader) String(limit uint64) string { return string(r.Bytes(limit)) }

// Fixed copies len(dst) bytes into dst.
func (r *Reader) Fixed(dst []byte) {
	if b := r.take(uint64(len(dst))); b != nil {
		copy(dst, b)
	}
}

func (r *Reader) take(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(len(r.rest)) < n {
		r.Fail(ErrTruncated)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
