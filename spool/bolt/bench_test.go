package bolt_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// load is the load average of the machine, without which no figure means anything.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:1], "")
}

// putFrom stores n messages of 1 KiB from so many callers, each with one message at a time, and returns how long it took.
func putFrom(b *testing.B, s *bolt.Store, callers, n int) time.Duration {
	body := make([]byte, 1024)
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := s.Put(context.Background(), []spool.Put{{Queue: "orders", Priority: lane, Body: body}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// BenchmarkPut compares a lone caller, who pays a transaction for each message, with 64 who share them, in one run.
func BenchmarkPut(b *testing.B) {
	s := openBench(b, orders())
	var alone, shared time.Duration
	const round = 64
	commits := uint64(0)
	for b.Loop() {
		alone += putFrom(b, s.Store, 1, round)
		before := s.Commits()
		shared += putFrom(b, s.Store, 64, round*8)
		commits += s.Commits() - before
	}
	rateAlone := float64(b.N*round) / alone.Seconds()
	rateShared := float64(b.N*round*8) / shared.Seconds()
	b.ReportMetric(rateAlone, "alone/s")
	b.ReportMetric(rateShared, "shared/s")
	b.ReportMetric(rateShared/rateAlone, "ratio")
	b.ReportMetric(float64(b.N*round*8)/float64(commits), "messages/commit")
	b.ReportMetric(0, "ns/op")
	b.Logf("load average %s", load())
	if b.N > 10 && rateShared < 5*rateAlone {
		b.Errorf("64 callers store %.0f/s, one %.0f/s: less than five times as many", rateShared, rateAlone)
	}
}

// BenchmarkAccept takes in batches of 64 messages of 1 KiB, several at once as a link does.
func BenchmarkAccept(b *testing.B) {
	s := openBench(b, orders())
	session := message.NewSessionID()
	if _, err := s.BeginSession(context.Background(), "nyc", session); err != nil {
		b.Fatal(err)
	}
	const batch, workers = 64, 8
	body := strings.Repeat("x", 1024)
	var next atomic.Int64
	began := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				// Each batch is a stream of its own, so that batches need not come in order.
				a := spool.Arrivals{Peer: "nyc", Session: session, Queue: "orders", Stream: message.StreamID{byte(n), byte(n >> 8), byte(n >> 16)}}
				for i := range uint64(batch) {
					a.Messages = append(a.Messages, shipment(i+1, message.Place{}, fmt.Sprint(n, "-", i), body))
				}
				if d, err := s.Accept(context.Background(), a); err != nil || d[batch-1].Verdict != message.Accepted {
					b.Error(d, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N*batch)/time.Since(began).Seconds(), "messages/s")
	b.Logf("load average %s", load())
}

// BenchmarkDrain brings messages of 1 KiB through the sender's half: put, held, marked, fetched, settled.
func BenchmarkDrain(b *testing.B) {
	s := openBench(b, routed("nyc"))
	ctx := context.Background()
	const block, batch = 4096, 512
	puts := make([]spool.Put, batch)
	for i := range puts {
		puts[i] = spool.Put{Queue: "orders", Priority: lane, Body: make([]byte, 1024)}
	}
	var filling, draining time.Duration
	for b.Loop() {
		began := time.Now()
		for range block / batch {
			if _, err := s.Put(ctx, puts); err != nil {
				b.Fatal(err)
			}
		}
		filled := time.Now()
		filling += filled.Sub(began)
		drain(b, s.Store, batch)
		draining += time.Since(filled)
	}
	b.ReportMetric(float64(b.N*block)/filling.Seconds(), "puts/s")
	b.ReportMetric(float64(b.N*block)/draining.Seconds(), "drained/s")
	b.ReportMetric(0, "ns/op")
	b.Logf("load average %s", load())
}

func drain(b *testing.B, s *bolt.Store, batch int) {
	ctx, after := context.Background(), uint64(0)
	for {
		held, err := s.Held(ctx, nyc, lane, after, batch)
		if err != nil {
			b.Fatal(err)
		}
		if len(held) == 0 {
			return
		}
		after = held[len(held)-1].Number
		if err := s.Mark(ctx, nyc, lane, after); err != nil {
			b.Fatal(err)
		}
		numbers := make([]uint64, len(held))
		for i, h := range held {
			numbers[i] = h.Number
		}
		if records, err := s.Fetch(ctx, nyc, lane, numbers); err != nil || len(records) != len(held) {
			b.Fatal(len(records), err)
		}
		if err := s.SettleRoute(ctx, nyc, lane, []message.Range{{First: held[0].Number, Last: after}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenLedger opens a spool that remembers three million ids.
func BenchmarkOpenLedger(b *testing.B) {
	s := openBench(b, orders())
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	const rows, perRow = 30_000, 100
	if err := bolt.FillLedger(s.dir, rows, perRow); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o := orders()
		again, err := bolt.Open(s.dir, o)
		if err != nil {
			b.Fatal(err)
		}
		ids, bytes, err := bolt.Remembered(again)
		if err != nil || ids != rows*perRow {
			b.Fatalf("%d ids, %v", ids, err)
		}
		b.ReportMetric(float64(bytes)/float64(ids), "B/id")
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

type bench struct {
	*bolt.Store
	dir string
}

// openBench opens a store that is not audited.
func openBench(b *testing.B, o bolt.Options) *bench {
	b.Helper()
	dir := b.TempDir()
	s, err := bolt.Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return &bench{s, dir}
}
