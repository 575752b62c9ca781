package flow_test

import (
	"testing"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// BenchmarkLane is the whole life of an item: offered, shipped in a batch of 64, answered. One iteration is one item.
func BenchmarkLane(b *testing.B) {
	l := flow.NewLane(flow.Options{})
	l.Begin(start, flow.Grant{Bytes: 4 << 20, Messages: 4096})
	const load = 512
	list := make([]flow.Item, load)
	ranges := make([]message.Range, 1)
	number, done := uint64(0), 0
	b.ReportAllocs()
	for done < b.N {
		if l.Room() >= load {
			for i := range list {
				number++
				list[i] = flow.Item{Place: message.Place{Stream: oldEpoch, Number: number}, Bytes: 1024}
			}
			l.Offer(list)
		}
		now := start.Add(time.Duration(done))
		for {
			batch, ok := l.Next(now, 0)
			if !ok {
				break
			}
			ranges[0] = message.Range{First: batch.Items[0].Number, Last: batch.Items[len(batch.Items)-1].Number}
			l.Answered(now, oldEpoch, ranges)
			done += len(batch.Items)
		}
	}
}

// BenchmarkLostConnection is a full window given back and shipped again: what a break costs the owner of the lane.
func BenchmarkLostConnection(b *testing.B) {
	l := begun(flow.Options{}, flow.Grant{Bytes: 64 << 20, Messages: 4096}, items(oldEpoch, 1024, upTo(4096)...))
	b.ReportAllocs()
	for b.Loop() {
		for {
			if _, ok := l.Next(start, 0); !ok {
				break
			}
		}
		l.Lost(0)
	}
}
