package message

import (
	"errors"
	"fmt"
	"time"

	"drawbridge/message/pack"
)

// RecordVersion is the first byte of every record this program writes.
const RecordVersion = 1

// ErrCorrupt is wrapped by errors of records whose bytes do not match a checksum. The message must not be handed out.
var ErrCorrupt = errors.New("checksum does not match")

// These bound what a decoder allocates. A head is at most its strings, its headers and some varints.
const (
	maxHeadBytes     = MaxIDBytes + MaxAgentNameBytes + MaxKeyBytes + MaxHeadersBytes + MaxHeaders*4 + 128
	maxEnvelopeBytes = 64 + MaxHops*(MaxAgentNameBytes+1) + maxDeathBytes
)

// MaxRecordBytes is the largest record of a message with a body of at most bodyBytes.
func MaxRecordBytes(bodyBytes uint64) uint64 { return bodyBytes + maxHeadBytes + maxEnvelopeBytes + 32 }

// Seal computes BodyBytes and BodySum from the body. The source calls it once, before the message is stored.
func (m *Message) Seal() {
	m.BodyBytes = uint64(len(m.Body))
	m.BodySum = Checksum(m.Body)
}

// Check refuses a message that breaks a limit of names, headers, hops, priority or key. It does not look at the body.
func (m *Message) Check() error {
	if err := CheckID(m.ID); err != nil {
		return err
	}
	if err := CheckAgent(m.Origin); err != nil {
		return err
	}
	if m.Priority > MaxPriority {
		return fmt.Errorf("priority %d: %w, use 0 to %d", m.Priority, ErrName, MaxPriority)
	}
	if m.QoS > AtMostOnce {
		return fmt.Errorf("qos %d: %w", m.QoS, ErrName)
	}
	if len(m.Key) > MaxKeyBytes {
		return fmt.Errorf("key of %d bytes: %w, at most %d", len(m.Key), ErrName, MaxKeyBytes)
	}
	if len(m.Hops) > MaxHops {
		return fmt.Errorf("%d hops: %w, at most %d", len(m.Hops), ErrName, MaxHops)
	}
	for _, hop := range m.Hops {
		if err := CheckAgent(hop); err != nil {
			return err
		}
	}
	return m.Headers.Check()
}

// AppendRecord appends the record of m:
//
//	version | head length | head | head sum | envelope length | envelope | envelope sum | body
//
// The sums are CRC32C; the body's own sum stands in the head. A message has one record, so equal bytes mean equal messages.
func AppendRecord(b []byte, m *Message) []byte {
	b = append(b, RecordVersion)
	head := appendHead(make([]byte, 0, 128+m.Headers.Bytes()), &m.Head)
	b = pack.AppendString(b, head)
	b = pack.AppendUint32(b, Checksum(head))
	b = appendEnvelope(b, &m.Envelope)
	return append(b, m.Body...)
}

func appendHead(b []byte, h *Head) []byte {
	b = pack.AppendString(b, h.ID)
	b = pack.AppendString(b, h.Origin)
	b = append(b, h.Priority)
	b = pack.AppendString(b, h.Key)
	b = append(b, byte(h.QoS))
	b = pack.AppendUint64(b, uint64(h.StoredAt.UnixMilli()))
	b = pack.AppendUvarint(b, uint64(len(h.Headers)))
	for _, e := range h.Headers {
		b = pack.AppendString(b, e.Name)
		b = pack.AppendString(b, e.Value)
	}
	b = pack.AppendUvarint(b, h.BodyBytes)
	return pack.AppendUint32(b, h.BodySum)
}

func appendEnvelope(b []byte, e *Envelope) []byte {
	env := make([]byte, 0, 64)
	env = pack.AppendUvarint(env, uint64(e.Generation))
	env = pack.AppendUvarint(env, ttlMillis(e.TTLLeft))
	env = pack.AppendUvarint(env, uint64(len(e.Hops)))
	for _, hop := range e.Hops {
		env = pack.AppendString(env, hop)
	}
	env = pack.AppendUvarint(env, uint64(e.Deliveries))
	if e.Death != nil {
		env = e.Death.append(env)
	}
	b = pack.AppendString(b, env)
	return pack.AppendUint32(b, Checksum(env))
}

// ttlMillis rounds up: 0 stands for no limit, and a message whose limit is nearly or wholly used up must not lose it.
func ttlMillis(left time.Duration) uint64 {
	if left == 0 {
		return 0
	}
	left = min(max(left, 1), MaxDuration)
	return uint64((left + time.Millisecond - 1) / time.Millisecond)
}

// ParseRecord reads the record of one message and verifies all three checksums. The body shares memory with b; all else is
// copied. Errors wrap ErrCorrupt, pack.ErrTruncated or pack.ErrMalformed; with ErrCorrupt of the body the message is
// returned as well, so that a caller can say whose body rotted.
func ParseRecord(b []byte) (Message, error) {
	m, err := ParseFront(b)
	if err != nil {
		return Message{}, err
	}
	switch n := uint64(len(m.Body)); {
	case n < m.BodyBytes:
		return Message{}, fmt.Errorf("body of %d bytes, the head says %d: %w", n, m.BodyBytes, pack.ErrTruncated)
	case n > m.BodyBytes:
		return Message{}, fmt.Errorf("body of %d bytes, the head says %d: %w", n, m.BodyBytes, pack.ErrMalformed)
	}
	if Checksum(m.Body) != m.BodySum {
		return m, fmt.Errorf("body of message %q: %w", clip(m.ID), ErrCorrupt)
	}
	return m, nil
}

// ReplaceEnvelope appends to dst the record in b with its envelope exchanged. It verifies neither head nor body: whoever
// receives the record does, and so a byte that rotted here is found there.
func ReplaceEnvelope(dst, b []byte, e *Envelope) ([]byte, error) {
	r := pack.NewReader(b)
	readVersion(r)
	r.Bytes(maxHeadBytes)
	r.Uint32()
	front := len(b) - len(r.Rest())
	r.Bytes(maxEnvelopeBytes)
	r.Uint32()
	if err := r.Err(); err != nil {
		return dst, fmt.Errorf("record: %w", err)
	}
	dst = append(dst, b[:front]...)
	dst = appendEnvelope(dst, e)
	return append(dst, r.Rest()...), nil
}

// ParseFront reads head and envelope of a record and verifies their checksums; the body is returned unverified.
func ParseFront(b []byte) (Message, error) {
	r := pack.NewReader(b)
	readVersion(r)
	head := r.Bytes(maxHeadBytes)
	headSum := r.Uint32()
	env := r.Bytes(maxEnvelopeBytes)
	envSum := r.Uint32()
	if err := r.Err(); err != nil {
		return Message{}, fmt.Errorf("record: %w", err)
	}
	if Checksum(head) != headSum {
		return Message{}, fmt.Errorf("record head: %w", ErrCorrupt)
	}
	if Checksum(env) != envSum {
		return Message{}, fmt.Errorf("record envelope: %w", ErrCorrupt)
	}
	var m Message
	if err := parseHead(head, &m.Head); err != nil {
		return Message{}, fmt.Errorf("record head: %w", err)
	}
	if err := parseEnvelope(env, &m.Envelope); err != nil {
		return Message{}, fmt.Errorf("record envelope: %w", err)
	}
	if err := m.Check(); err != nil {
		return Message{}, fmt.Errorf("record: %w: %w", pack.ErrMalformed, err)
	}
	m.Body = r.Rest()
	return m, nil
}

func readVersion(r *pack.Reader) {
	if v := r.Byte(); v != RecordVersion {
		r.Failf("version %d, this program reads %d", v, RecordVersion)
	}
}

func parseHead(b []byte, h *Head) error {
	r := pack.NewReader(b)
	h.ID = r.String(MaxIDBytes)
	h.Origin = r.String(MaxAgentNameBytes)
	h.Priority = r.Byte()
	h.Key = r.String(MaxKeyBytes)
	h.QoS = QoS(r.Byte())
	h.StoredAt = time.UnixMilli(int64(r.Uint64())).UTC()
	if n := r.Count(MaxHeaders); n > 0 {
		h.Headers = make(Headers, n)
		for i := range h.Headers {
			h.Headers[i] = Header{Name: r.String(MaxHeaderNameBytes), Value: r.String(MaxHeadersBytes)}
		}
	}
	h.BodyBytes = r.Uvarint()
	h.BodySum = r.Uint32()
	return r.Finish()
}

func parseEnvelope(b []byte, e *Envelope) error {
	r := pack.NewReader(b)
	e.Generation = uint32(r.Count(1<<32 - 1))
	e.TTLLeft = time.Duration(r.Count(uint64(MaxDuration/time.Millisecond))) * time.Millisecond
	if n := r.Count(MaxHops); n > 0 {
		e.Hops = make([]string, n)
		for i := range e.Hops {
			e.Hops[i] = r.String(MaxAgentNameBytes)
		}
	}
	e.Deliveries = uint32(r.Count(1<<32 - 1))
	if len(r.Rest()) > 0 {
		e.Death = parseDeath(r)
	}
	return r.Finish()
}

// MaxDuration bounds every duration in a record or frame: 100 years, far from overflowing a time.Duration.
const MaxDuration = 100 * 365 * 24 * time.Hour

// AppendOnward appends to dst the record in b as it leaves agent hop: with hop added to its hops and its deliveries, which
// count those of one queue, back to zero. Like ReplaceEnvelope it verifies neither head nor body.
func AppendOnward(dst, b []byte, hop string) ([]byte, error) {
	r := pack.NewReader(b)
	r.Byte()
	r.Bytes(maxHeadBytes)
	r.Uint32()
	env, sum := r.Bytes(maxEnvelopeBytes), r.Uint32()
	if err := r.Err(); err != nil {
		return dst, fmt.Errorf("record: %w", err)
	}
	if Checksum(env) != sum {
		return dst, fmt.Errorf("record envelope: %w", ErrCorrupt)
	}
	var e Envelope
	if err := parseEnvelope(env, &e); err != nil {
		return dst, fmt.Errorf("record envelope: %w", err)
	}
	e.Hops = append(e.Hops, hop)
	e.Deliveries = 0
	return ReplaceEnvelope(dst, b, &e)
}
