package message_test

import (
	"testing"

	"drawbridge/message"
)

func benchmarkMessage() message.Message {
	m := message.Message{
		Head: message.Head{ID: message.NewID(), Origin: "fra-1", Priority: message.DefaultPriority},
		Body: make([]byte, 1<<10),
	}
	m.Seal()
	return m
}

func BenchmarkAppendRecord(b *testing.B) {
	m := benchmarkMessage()
	buf := message.AppendRecord(nil, &m)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = message.AppendRecord(buf[:0], &m)
	}
}

func BenchmarkParseRecord(b *testing.B) {
	m := benchmarkMessage()
	record := message.AppendRecord(nil, &m)
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := message.ParseRecord(record); err != nil {
			b.Fatal(err)
		}
	}
}
