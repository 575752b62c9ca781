package bolt_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// BenchmarkLedgerTenMillion fills a spool with ten million ids in full rows and measures what they cost, how fast ids are
// looked up, and how long a million of them takes to go.
func BenchmarkLedgerTenMillion(b *testing.B) {
	const ids, perRow, million = 10_000_000, 64, 1_000_000
	o := orders()
	o.LedgerMemoryBytes = 256 << 20
	s := openBench(b, o)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if err := bolt.FillLedger(s.dir, ids/perRow, perRow); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		began := time.Now()
		again, err := bolt.Open(s.dir, o)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/open")
		stats := again.LedgerStats()
		n := float64(stats.IDs)
		b.ReportMetric(float64(stats.MemoryBytes)/n, "RAM-B/id")
		b.ReportMetric(float64(stats.DiskBytes)/n, "rows-B/id")
		pages, err := bolt.LedgerPages(again)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(pages)/n, "disk-B/id")
		for _, ask := range []struct {
			metric string
			first  int
			step   int
		}{
			{"new/s", -million, 7919},
			{"scattered/s", 1, 7919},
			{"again/s", 1, 1},
		} {
			took, err := bolt.LookUp(again, ask.first, million, ask.step)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(million/took.Seconds(), ask.metric)
		}
		took, n64, err := bolt.Forget(again, million/perRow)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(took.Seconds()*1000*million/float64(n64), "ms/forgotten-million")
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.Logf("load average %s", load())
}

// BenchmarkLedgerShare compares the time that a message of 1 KiB in a group of 512 takes to be stored with that of its entry
// in the ledger: the ratio is that of a message with a ledger to one without.
func BenchmarkLedgerShare(b *testing.B) {
	const group, rounds = 512, 64
	s := openBench(b, orders())
	body := make([]byte, 1024)
	var storing time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		for range rounds {
			puts := make([]spool.Put, group)
			for i := range puts {
				n++
				puts[i] = spool.Put{Queue: "orders", ID: fmt.Sprint("id-", n), Priority: lane, Body: body}
			}
			if _, err := s.Put(context.Background(), puts); err != nil {
				b.Fatal(err)
			}
		}
		storing += time.Since(began)
	}
	entry, err := bolt.RememberCost(s.Store, group, rounds*b.N)
	if err != nil {
		b.Fatal(err)
	}
	message := storing / time.Duration(n)
	b.ReportMetric(float64(message.Nanoseconds()), "ns/message")
	b.ReportMetric(float64(entry.Nanoseconds()), "ns/entry")
	b.ReportMetric(float64(message)/float64(message-entry), "ratio")
	b.ReportMetric(0, "ns/op")
	b.Logf("load average %s", load())
}
