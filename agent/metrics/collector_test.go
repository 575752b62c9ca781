package metrics_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"drawbridge/agent/metrics"
	"drawbridge/link"
	"drawbridge/spool"
)

// sourceOf is an agent with the given queues and links.
func sourceOf(queues []spool.QueueStats, links []link.Status) metrics.Source {
	return metrics.Source{
		Agent:   "fra-1",
		Version: "v0",
		Queues:  func() []spool.QueueStats { return queues },
		Links:   func() []link.Status { return links },
		Ledger: func() spool.LedgerStats {
			return spool.LedgerStats{IDs: 7, MemoryBytes: 512, DiskBytes: 336, Window: 24 * time.Hour, EffectiveWindow: time.Hour, ForgottenEarly: 3, Jump: 90 * time.Minute}
		},
		Spool: func() metrics.Spool {
			return metrics.Spool{Commits: 11, Reopened: 2, FileBytes: 4096, DiskFreeBytes: 1 << 20, DiskBytes: 1 << 30}
		},
		Health: func() metrics.Health {
			return metrics.Health{Ready: true, Parts: []metrics.Part{{"spool", true}, {"disk", false}}}
		},
		LedgerMemoryBytes: 64 << 20,
		LedgerDiskBytes:   1 << 30,
	}
}

// Every number, in its unit, under its name.
func TestWhatIsTold(t *testing.T) {
	c := metrics.NewCollector(sourceOf(
		[]spool.QueueStats{{Name: "orders", Messages: 5, Bytes: 600, Leased: 1, InDoubt: 2, OldestAge: 1500 * time.Millisecond,
			Stored: 10, Duplicates: 3, Acked: 4, Settled: 6, Accepted: 8, Buried: 9}},
		[]link.Status{{
			Name: "nyc", State: link.Stalled, RTT: 20 * time.Millisecond, Connections: 5, PacketsSent: 100, PacketsLost: 7,
			Sends: []link.SendStatus{{Send: link.Send{Name: "nyc/in", From: "orders", To: "in", RetryFor: time.Minute}, Held: "storage: full",
				Unanswered: 2, UnansweredBytes: 240, OldestUnanswered: 3 * time.Second, Settled: 6, Buried: 12, Resent: 1}},
			Receives: []link.ReceiveStatus{{Receive: link.Receive{To: "refunds"}, Horizon: time.Hour,
				Refusal: "horizon", Accepted: 4, Duplicates: 1, Closed: 13, Refused: 2}},
		}},
	))
	var names, want []string
	for _, line := range strings.Split(strings.TrimSpace(told), "\n") {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		names = append(names, name)
		want = append(want, line)
	}
	text := scrape(t, c)
	for _, line := range want {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("not told: %s", line)
		}
	}
	// The agent's own facts and the time in a state are not constant.
	names = append(names, "drawbridge_build_info", "drawbridge_link_state_seconds")
	for _, line := range strings.Split(text, "\n") {
		if name, isType := strings.CutPrefix(line, "# TYPE "); isType {
			name, _, _ = strings.Cut(name, " ")
			if !slices.Contains(names, name) {
				t.Errorf("told, and no test looks at it: %s", name)
			}
		}
	}
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

const told = `
drawbridge_queue_messages{queue="orders"} 5
drawbridge_queue_bytes{queue="orders"} 600
drawbridge_queue_leased_messages{queue="orders"} 1
drawbridge_queue_in_doubt_messages{queue="orders"} 2
drawbridge_queue_oldest_age_seconds{queue="orders"} 1.5
drawbridge_queue_stored_total{queue="orders"} 10
drawbridge_queue_duplicates_total{queue="orders"} 3
drawbridge_queue_acked_total{queue="orders"} 4
drawbridge_queue_settled_total{queue="orders"} 6
drawbridge_queue_accepted_total{queue="orders"} 8
drawbridge_queue_buried_total{queue="orders"} 9
drawbridge_link_state{link="nyc",state="stalled"} 1
drawbridge_link_state{link="nyc",state="up"} 0
drawbridge_link_state{link="nyc",state="connecting"} 0
drawbridge_link_state{link="nyc",state="remote-full"} 0
drawbridge_link_state{link="nyc",state="ledger-full"} 0
drawbridge_link_state{link="nyc",state="paused"} 0
drawbridge_link_state{link="nyc",state="refused"} 0
drawbridge_link_state{link="nyc",state="draining"} 0
drawbridge_link_rtt_seconds{link="nyc"} 0.02
drawbridge_link_connections{link="nyc"} 5
drawbridge_link_packets_sent_total{link="nyc"} 100
drawbridge_link_packets_lost_total{link="nyc"} 7
drawbridge_route_held{link="nyc",queue="orders",route="nyc/in"} 1
drawbridge_route_unanswered_messages{link="nyc",queue="orders",route="nyc/in"} 2
drawbridge_route_unanswered_bytes{link="nyc",queue="orders",route="nyc/in"} 240
drawbridge_route_oldest_unanswered_age_seconds{link="nyc",queue="orders",route="nyc/in"} 3
drawbridge_route_settled_total{link="nyc",queue="orders",route="nyc/in"} 6
drawbridge_route_buried_total{link="nyc",queue="orders",route="nyc/in"} 12
drawbridge_route_resent_total{link="nyc",queue="orders",route="nyc/in"} 1
drawbridge_route_horizon_seconds{link="nyc",queue="orders",route="nyc/in"} 60
drawbridge_receive_not_taken{link="nyc",queue="refunds"} 1
drawbridge_receive_accepted_total{link="nyc",queue="refunds"} 4
drawbridge_receive_closed_total{link="nyc",queue="refunds"} 13
drawbridge_receive_duplicates_total{link="nyc",queue="refunds"} 1
drawbridge_receive_refused_total{link="nyc",queue="refunds"} 2
drawbridge_receive_horizon_seconds{link="nyc",queue="refunds"} 3600
drawbridge_ledger_ids 7
drawbridge_ledger_promised_ids 0
drawbridge_ledger_memory_bytes 512
drawbridge_ledger_memory_limit_bytes 6.7108864e+07
drawbridge_ledger_disk_bytes 336
drawbridge_ledger_disk_limit_bytes 1.073741824e+09
drawbridge_ledger_window_seconds 86400
drawbridge_ledger_effective_window_seconds 3600
drawbridge_ledger_forgotten_early_total 3
drawbridge_clock_jump_seconds 5400
drawbridge_spool_commits_total 11
drawbridge_spool_reopened_total 2
drawbridge_spool_file_bytes 4096
drawbridge_disk_free_bytes 1.048576e+06
drawbridge_disk_size_bytes 1.073741824e+09
drawbridge_ready 1
drawbridge_part_ok{part="spool"} 1
drawbridge_part_ok{part="disk"} 0
drawbridge_omitted_series{of="queues"} 0
drawbridge_omitted_series{of="links"} 0
drawbridge_omitted_series{of="routes"} 0
drawbridge_omitted_series{of="receives"} 0
`

func TestWhatIsTooManyIsCounted(t *testing.T) {
	var queues []spool.QueueStats
	for i := range 1500 {
		queues = append(queues, spool.QueueStats{Name: fmt.Sprintf("q%04d", i)})
	}
	var links []link.Status
	for i := range 300 {
		l := link.Status{Name: fmt.Sprintf("l%03d", i), State: link.Up}
		for j := range 10 {
			l.Sends = append(l.Sends, link.SendStatus{Send: link.Send{Name: fmt.Sprintf("r%d", j), From: fmt.Sprintf("q%d", j)}})
			l.Receives = append(l.Receives, link.ReceiveStatus{Receive: link.Receive{To: fmt.Sprintf("q%d", j)}})
		}
		links = append(links, l)
	}
	text := scrape(t, metrics.NewCollector(sourceOf(queues, links)))
	for line, want := range map[string]int{
		"drawbridge_queue_messages{":                    metrics.MaxQueues,
		"drawbridge_link_rtt_seconds{":                  metrics.MaxLinks,
		"drawbridge_route_held{":                        metrics.MaxRoutes,
		"drawbridge_receive_refused_total{":             metrics.MaxReceives,
		`drawbridge_queue_messages{queue="q0999"}`:      1,
		`drawbridge_queue_messages{queue="q1000"}`:      0,
		`drawbridge_omitted_series{of="queues"} 500`:    1,
		`drawbridge_omitted_series{of="links"} 100`:     1,
		`drawbridge_omitted_series{of="routes"} 1000`:   1,
		`drawbridge_omitted_series{of="receives"} 1000`: 1,
	} {
		if n := strings.Count(text, "\n"+line); n != want {
			t.Errorf("%d lines begin with %s, want %d", n, line, want)
		}
	}
}

// Whatever a peer says of itself, and wherever it says it from, is no label.
func TestWhatPeersSayIsNoName(t *testing.T) {
	links := []link.Status{{Name: "nyc", State: link.Connecting, Sends: []link.SendStatus{{Send: link.Send{Name: "nyc/in", From: "orders"}}},
		Receives: []link.ReceiveStatus{{Receive: link.Receive{To: "refunds"}}}}}
	c := metrics.NewCollector(sourceOf([]spool.QueueStats{{Name: "orders"}}, links))
	before := testutil.CollectAndCount(c)
	for i := range 100_000 {
		name := fmt.Sprintf("peer-%d", i)
		l := &links[0]
		l.PeerAgent, l.Address, l.Session, l.Reason, l.LastError = name, name, name, name, name
		l.Peer[i%len(l.Peer)]++
		l.Sends[0].Held, l.Sends[0].To, l.Receives[0].Refusal = name, name, name
		if i%10_000 == 0 {
			if text := scrape(t, c); strings.Contains(text, "peer-") {
				t.Fatalf("a peer's words are told:\n%s", text)
			}
		}
	}
	if after := testutil.CollectAndCount(c); after != before {
		t.Errorf("%d series, before %d", after, before)
	}
}

// The numbers as JSON are those of the text, and no value is one that JSON cannot hold.
func TestNumbersAsJSON(t *testing.T) {
	teller := metrics.NewTeller(sourceOf([]spool.QueueStats{{Name: "orders", Messages: 5}}, nil))
	body, err := json.Marshal(teller)
	if err != nil {
		t.Fatal(err)
	}
	var families []metrics.Family
	if err := json.Unmarshal(body, &families); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	teller.ServeText(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	found := false
	for _, f := range families {
		if !strings.Contains(text, "# TYPE "+f.Name+" "+f.Type+"\n") || len(f.Samples) == 0 {
			t.Errorf("JSON has %s %s with %d samples, the text not", f.Type, f.Name, len(f.Samples))
		}
		found = found || f.Name == "drawbridge_queue_messages" && f.Samples[0].Value == 5 && f.Samples[0].Labels["queue"] == "orders"
	}
	if n := strings.Count(text, "# TYPE "); n != len(families) || !found {
		t.Errorf("%d metrics in JSON, %d in the text; queue found: %v", len(families), n, found)
	}
}

func scrape(t *testing.T, c *metrics.Collector) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return "\n" + w.Body.String()
}
