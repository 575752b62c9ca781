package message_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// FuzzParseRecord: what is taken has this one form. A fuzzer cannot guess checksums, so those of the head and the envelope
// are put right before the record is parsed a second time.
func FuzzParseRecord(f *testing.F) {
	for name := range goldens() {
		f.Add(goldenBytes(f, name))
	}
	small := message.Message{Head: message.Head{ID: "m-2", Origin: "fra-1"}}
	small.Seal()
	f.Add(message.AppendRecord(nil, &small))
	for _, death := range []message.Death{
		{Reason: message.ReasonMaxDeliveries, Text: strings.Repeat("x", message.MaxDeathTextBytes), Queue: "orders", Deliveries: 5},
		{Queue: "orders"},
	} {
		small.Death = &death
		f.Add(message.AppendRecord(nil, &small))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		parse(t, record)
		if repaired := repairSums(record); repaired != nil {
			parse(t, repaired)
		}
	})
}

func parse(t *testing.T, record []byte) {
	m, err := message.ParseFront(record)
	if err != nil {
		return
	}
	if again := message.AppendRecord(nil, &m); !bytes.Equal(again, record) {
		t.Fatalf("%x is read as %+v, which is written as %x", record, m, again)
	}
	whole, err := message.ParseRecord(record)
	if err == nil && !bytes.Equal(whole.Body, m.Body) {
		t.Fatalf("two bodies of one record: %x and %x", whole.Body, m.Body)
	}
	if errors.Is(err, message.ErrCorrupt) && whole.ID != m.ID {
		t.Fatalf("the body of %q is said to be that of %q", m.ID, whole.ID)
	}
	replaced, err := message.ReplaceEnvelope(nil, record, &m.Envelope)
	if err != nil || !bytes.Equal(replaced, record) {
		t.Fatalf("its own envelope makes %x of %x, %v", replaced, record, err)
	}
}

// repairSums returns a copy of record with right sums of head and envelope, or nil if it has not got that far.
func repairSums(record []byte) []byte {
	record = slices.Clone(record)
	r := pack.NewReader(record)
	r.Byte()
	for range 2 {
		part := r.Bytes(1 << 20)
		at := len(record) - len(r.Rest())
		if r.Uint32(); r.Err() != nil {
			return nil
		}
		copy(record[at:], pack.AppendUint32(nil, message.Checksum(part)))
	}
	return record
}
