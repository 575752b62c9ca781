package bolt

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// stateVersion is the first byte of every state row this program writes.
const stateVersion = 1

// state is what has become of the messages of one group: which are settled, and how often the others were handed out. A
// group without a row has none settled and none handed out.
type state struct {
	settled bitmap
	leases  map[int]*lease
}

// lease is the last handing-out of one message. It stays when it has run out, for its count. Without a nonce the message was
// given back and waits until deadline.
type lease struct {
	deliveries uint32
	deadline   int64 // spool time
	nonce      nonce
	place      int // in due, counted from 1; 0 for a lease that has run out
}

// append appends the row of a group of count messages:
//
//	version | settled | leases | {index, deliveries, deadline, nonce} ... | CRC32C of all before
func (s *state) append(b []byte, count int) []byte {
	start := len(b)
	b = append(b, stateVersion)
	b = s.settled.append(b, count)
	b = pack.AppendUvarint(b, uint64(len(s.leases)))
	for _, i := range sortedKeys(s.leases) {
		l := s.leases[i]
		b = pack.AppendUvarint(b, uint64(i))
		b = pack.AppendUvarint(b, uint64(l.deliveries))
		b = pack.AppendUvarint(b, uint64(l.deadline))
		b = append(b, l.nonce[:]...)
	}
	return pack.AppendUint32(b, message.Checksum(b[start:]))
}

// parseState reads a row; no bytes are the state of a group without a row.
func parseState(b []byte, count int) (s state, err error) {
	if b == nil {
		return s, nil
	}
	if len(b) < 5 {
		return s, fmt.Errorf("state row: %w", pack.ErrTruncated)
	}
	content, sum := b[:len(b)-4], pack.NewReader(b[len(b)-4:])
	if message.Checksum(content) != sum.Uint32() {
		return s, fmt.Errorf("state row: %w", message.ErrCorrupt)
	}
	r := pack.NewReader(content)
	if v := r.Byte(); v != stateVersion {
		return s, fmt.Errorf("state row: %w: version %d, this program reads %d", pack.ErrMalformed, v, stateVersion)
	}
	s.settled = parseBitmap(r, count)
	n := int(r.Count(uint64(count)))
	if n > 0 {
		s.leases = make(map[int]*lease, n)
	}
	for range n {
		i := int(r.Count(uint64(count - 1)))
		l := &lease{deliveries: uint32(r.Count(1<<32 - 1)), deadline: int64(r.Uvarint())}
		r.Fixed(l.nonce[:])
		s.leases[i] = l
	}
	if err := r.Finish(); err != nil {
		return state{}, fmt.Errorf("state row: %w", err)
	}
	return s, nil
}

// bitmap is a set of positions in a group. Nil is the empty set.
type bitmap []uint64

func (m bitmap) has(i int) bool { return m != nil && m[i>>6]&(1<<(i&63)) != 0 }

// add adds i to a set over count positions.
func (m *bitmap) add(i, count int) {
	if *m == nil {
		*m = make(bitmap, (count+63)/64)
	}
	(*m)[i>>6] |= 1 << (i & 63)
}

func (m bitmap) len() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}

// append appends the set as: words that are full from the start on, words that follow, these words. A queue is mostly
// consumed from its head, so that a row stays short however large its group is.
func (m bitmap) append(b []byte, count int) []byte {
	full := 0
	for full < len(m) && m[full] == ^uint64(0) {
		full++
	}
	rest := m[full:]
	for len(rest) > 0 && rest[len(rest)-1] == 0 {
		rest = rest[:len(rest)-1]
	}
	b = pack.AppendUvarint(b, uint64(full))
	b = pack.AppendUvarint(b, uint64(len(rest)))
	for _, w := range rest {
		b = pack.AppendUint64(b, w)
	}
	return b
}

func parseBitmap(r *pack.Reader, count int) bitmap {
	words := uint64((count + 63) / 64)
	full := r.Count(words)
	rest := r.Count(words - full)
	if full+rest == 0 {
		return nil
	}
	m := make(bitmap, words)
	for i := range full {
		m[i] = ^uint64(0)
	}
	for i := range rest {
		m[full+i] = r.Uint64()
	}
	if beyond := count & 63; beyond != 0 && m[words-1]>>beyond != 0 {
		r.Fail(errors.Join(pack.ErrMalformed, errors.New("positions beyond the group")))
	}
	return m
}

func sortedKeys(m map[int]*lease) []int {
	keys := make([]int, 0, len(m))
	for i := range m {
		keys = append(keys, i)
	}
	slices.Sort(keys)
	return keys
}
