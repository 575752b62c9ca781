package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"drawbridge/api"
)

func TestLinksTellWhatAnOperatorAsks(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	at := now.Add(-90 * time.Second)
	link := api.Link{
		Name: "nyc", State: "stalled", Reason: "no answer to 120 messages for 4s, dialling anew", Since: now.Add(-3*time.Minute - 12*time.Second),
		Peer: "ABCD", PeerAgent: "nyc-1", Address: "203.0.113.9:4747", RTTMillis: 80.25, Session: "00ff",
		Sends: []api.LinkRoute{
			{From: "orders", To: "orders", State: "stalled", Reason: "the link is stalled", Queued: 1204, Unanswered: 120, OldestUnansweredMillis: 12_000, Horizon: "72h"},
			{From: "logs", To: "in", State: "held", Reason: "no such queue there", Queued: 7, Horizon: "unbounded"},
		},
		Receives:  []api.LinkReceive{{Queue: "refunds", Accepted: 12, Horizon: "72h", Window: "81h", EffectiveWindow: "40h30m"}},
		LastError: "timeout: no recent network activity", LastErrorAt: &at,
		ConnectedOver: 1, PacketsSent: 5000, PacketsLost: 250,
	}
	var out bytes.Buffer
	g := &globals{host: host{stdout: &out}, output: "table"}
	if err := g.printLink(link, now); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"LINK                STATE    FOR    RTT     QUEUED  UNANSWERED  OLDEST  REASON",
		"nyc                 stalled  3m12s  80.2ms  1211    120         12s     no answer to 120 messages for 4s, dialling anew",
		"  orders -> orders  stalled                 1204    120         12s     the link is stalled",
		"  logs -> in        held                    7       0           -       no such queue there",
		"",
		"peer id                ABCD",
		"peer agent             nyc-1",
		"address                203.0.113.9:4747",
		"session                00ff",
		"connections            1",
		"packets                5000 sent, 250 lost",
		"since                  " + link.Since.Local().Format(time.DateTime),
		"last error             timeout: no recent network activity",
		"at                     " + at.Local().Format(time.DateTime) + ", 1m30s ago",
		"send orders -> orders  0 settled, 0 buried, 0 resent, 0B unanswered, horizon 72h",
		"send logs -> in        0 settled, 0 buried, 0 resent, 0B unanswered, horizon unbounded",
		"receive refunds        12 accepted, 0 duplicates, 0 closed, 0 refused, horizon 72h, window 81h, effective 40h30m",
	}
	got := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d differs; got\n%s\nwant\n%s", i+1, out.String(), strings.Join(want, "\n"))
		}
	}
}

func TestPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                         "-",
		0:                                    "-",
		1500 * time.Microsecond:              "2ms",
		12340 * time.Millisecond:             "12.3s",
		3*time.Minute + 499*time.Millisecond: "3m0s",
		50*time.Hour + 30*time.Minute:        "2d2h",
	} {
		if got := period(d); got != want {
			t.Errorf("period(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestSizeOf(t *testing.T) {
	for n, want := range map[uint64]string{0: "0B", 1023: "1023B", 1536: "1.5KiB", 5 << 20: "5.0MiB", 3 << 30: "3.0GiB"} {
		if got := sizeOf(n); got != want {
			t.Errorf("sizeOf(%d) = %s, want %s", n, got, want)
		}
	}
}
