package protocol_test

import (
	"bytes"
	"testing"

	"drawbridge/message"
	"drawbridge/protocol"
)

// batch is a Ship of 64 messages of 1 KiB, as a link sends them.
func batch() *protocol.Ship {
	m := message.Message{Head: message.Head{ID: message.NewID(), Origin: "fra-1"}, Body: make([]byte, 1<<10)}
	m.Seal()
	record := message.AppendRecord(nil, &m)
	ship := &protocol.Ship{Session: session, Route: "nyc", Queue: "orders", Stream: streamOf[0]}
	for n := range uint64(64) {
		item := protocol.Shipment{Number: 1000 + n, Record: record}
		if n > 0 {
			item.Prev = message.Place{Stream: streamOf[0], Number: 999 + n}
		}
		ship.Items = append(ship.Items, item)
	}
	return ship
}

func TestABatchCostsFewAllocations(t *testing.T) {
	ship := batch()
	frame := protocol.Append(nil, ship)
	// None of them per message: the first bytes, the room for all others, and one more under the race detector.
	if got := testing.AllocsPerRun(100, func() { protocol.Append(nil, ship) }); got > 3 {
		t.Errorf("Append allocates %v times", got)
	}
	buf := make([]byte, 0, 2*len(frame))
	if got := testing.AllocsPerRun(100, func() { protocol.Append(buf, ship) }); got > 0 {
		t.Errorf("Append into a buffer allocates %v times", got)
	}
	payload := payloadOf(frame)
	// The frame, its items, the names of route and queue, the pack.Reader.
	if got := testing.AllocsPerRun(100, func() { _, _ = protocol.Decode(protocol.TypeShip, payload) }); got > 5 {
		t.Errorf("Decode allocates %v times", got)
	}
}

func BenchmarkAppendShip(b *testing.B) {
	ship := batch()
	buf := protocol.Append(nil, ship)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = protocol.Append(buf[:0], ship)
	}
}

func BenchmarkReadShip(b *testing.B) {
	frame := protocol.Append(nil, batch())
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := protocol.NewReader(bytes.NewReader(frame), maxBody).Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeShip(b *testing.B) {
	payload := payloadOf(protocol.Append(nil, batch()))
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := protocol.Decode(protocol.TypeShip, payload); err != nil {
			b.Fatal(err)
		}
	}
}
