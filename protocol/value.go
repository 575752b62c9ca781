package protocol

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// appendDuration writes whole milliseconds. What cannot be said is written as the nearest that can: a frame that every peer
// refuses would be resent for ever.
func appendDuration(b []byte, d time.Duration) []byte {
	return pack.AppendUvarint(b, uint64(min(max(d, 0), message.MaxDuration).Milliseconds()))
}

func readDuration(r *pack.Reader) time.Duration {
	return time.Duration(r.Count(uint64(message.MaxDuration/time.Millisecond))) * time.Millisecond
}

// readCount reads how many items of at least leastBytes follow, and refuses more of them than the input can hold, so that a
// claim never allocates more than a small multiple of the bytes that came with it.
func readCount(r *pack.Reader, limit, leastBytes uint64) uint64 {
	n := r.Count(limit)
	if n*leastBytes > uint64(len(r.Rest())) {
		r.Fail(pack.ErrTruncated)
		return 0
	}
	return n
}

// readAbove reads a number as its distance from the one before it, so numbers that are written so can only rise.
func readAbove(r *pack.Reader, before uint64) uint64 {
	distance := r.Uvarint()
	switch {
	case distance == 0:
		r.Failf("a number does not rise above %d", before)
		return before
	case before+distance < before:
		r.Failf("a number does not fit 64 bits")
		return before
	}
	return before + distance
}

// appendRange writes rg by its distance from the number before it and by how many numbers follow its first.
func appendRange(b []byte, before uint64, rg message.Range) []byte {
	b = pack.AppendUvarint(b, rg.First-before)
	return pack.AppendUvarint(b, rg.Last-rg.First)
}

func readRange(r *pack.Reader, before uint64) message.Range {
	first := readAbove(r, before)
	more := r.Uvarint()
	if first+more < first {
		r.Failf("a number does not fit 64 bits")
		return message.Range{}
	}
	return message.Range{First: first, Last: first + more}
}

func appendEpoch(b []byte, e message.Epoch) []byte {
	b = pack.AppendUvarint(b, e.Counter)
	return pack.AppendUint64(b, e.Tag)
}

func readEpoch(r *pack.Reader) message.Epoch {
	return message.Epoch{Counter: r.Uvarint(), Tag: r.Uint64()}
}

// readSession reads a session that must be named; where none is allowed, the frame reads it itself.
func readSession(r *pack.Reader) (id message.SessionID) {
	r.Fixed(id[:])
	if id == (message.SessionID{}) {
		r.Failf("no session")
	}
	return id
}

func readQueue(r *pack.Reader) string {
	return readName(r, message.MaxQueueNameBytes, message.CheckQueue)
}

func readAgent(r *pack.Reader) string {
	return readName(r, message.MaxAgentNameBytes, message.CheckAgent)
}

func readRoute(r *pack.Reader) string { return readName(r, message.MaxRouteNameBytes, CheckRoute) }

func readName(r *pack.Reader, limit uint64, check func(string) error) string {
	name := r.String(limit)
	if r.Err() != nil {
		return ""
	}
	if err := check(name); err != nil {
		r.Fail(fmt.Errorf("%w: %w", pack.ErrMalformed, err))
		return ""
	}
	return name
}

// CheckRoute refuses what cannot be the name of a route.
func CheckRoute(name string) error {
	if name == "" || len(name) > message.MaxRouteNameBytes || strings.ContainsFunc(name, func(c rune) bool { return c < '!' || c > '~' }) {
		return fmt.Errorf("route name %.150q: %w, use 1 to %d of the printable ASCII characters without space",
			name, message.ErrName, message.MaxRouteNameBytes)
	}
	return nil
}

func readCode(r *pack.Reader) Code {
	code := Code(r.String(MaxCodeBytes))
	if r.Err() == nil && !isWord(string(code)) {
		r.Failf("code %q is not made of a-z and -", code)
	}
	return code
}

// appendText writes what of text a peer may show to its operator: UTF-8 without control characters, which could drive a
// terminal, and at most limit bytes of it.
func appendText(b []byte, text string, limit int) []byte {
	text = strings.Map(func(c rune) rune {
		if control(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit]
	}
	return pack.AppendString(b, text)
}

func readText(r *pack.Reader, limit uint64) string {
	text := r.String(limit)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, control) {
		r.Failf("a text is not UTF-8 without control characters")
	}
	return text
}

func control(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 }
