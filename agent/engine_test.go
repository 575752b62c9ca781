package agent_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent"
	"drawbridge/agent/agenttest"
	"drawbridge/spool"
)

func TestVolatileQueuesBeginEmptyAfterARestart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{})
		defer n.Close()
		cfg, _ := newConfig(t, "fra-1", dir)
		cfg.Listen.Link = agenttest.AddrA
		cfg.Volatile = []string{"refunds"}
		h := run(t, n, cfg)
		h.put(t, "orders", "o", 2)
		h.put(t, "refunds", "r", 3)
		requireQueues(t, h, map[string]uint64{"orders": 2, "refunds": 3})
		h.stop()

		h = run(t, n, cfg)
		defer h.stop()
		requireQueues(t, h, map[string]uint64{"orders": 2, "refunds": 0})
	})
}

// A queue is not made volatile over messages that the file holds of it: nobody could get at them.
func TestAQueueWithMessagesIsNotMadeVolatile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{})
		defer n.Close()
		cfg, _ := newConfig(t, "fra-1", dir)
		cfg.Listen.Link = agenttest.AddrA
		h := run(t, n, cfg)
		h.put(t, "orders", "o", 2)
		h.put(t, "refunds", "r", 3)
		bury(t, h, "refunds")
		h.stop()

		cfg.Volatile = []string{"refunds"}
		_, err := agent.New(cfg, hclog.NewNullLogger(), agent.Host{ListenPacket: n.Listen})
		if err == nil {
			t.Fatal("it started")
		}
		for _, want := range []string{filepath.Join(dir, "spool"), `holds 2 messages of "refunds"`, `holds 1 messages of "refunds.dead"`, "start with `engine: bolt` for it"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
		if strings.Contains(err.Error(), "orders") {
			t.Errorf("it names a queue that is as it was: %v", err)
		}

		// What was refused is as it was, and once it is taken the queue may change.
		cfg.Volatile = nil
		h = run(t, n, cfg)
		requireQueues(t, h, map[string]uint64{"orders": 2, "refunds": 2, "refunds.dead": 1})
		take(t, h, "refunds", 2)
		take(t, h, "refunds.dead", 1)
		h.stop()
		cfg.Volatile = []string{"refunds"}
		h = run(t, n, cfg)
		defer h.stop()
		requireQueues(t, h, map[string]uint64{"orders": 2, "refunds": 0})
	})
}

// requireQueues compares what every queue holds.
func requireQueues(t *testing.T, h *host, want map[string]uint64) {
	t.Helper()
	stats := h.Spool().Stats()
	for _, q := range stats {
		if held, there := want[q.Name]; !there || held != q.Messages {
			t.Errorf("queue %s holds %d, want %d", q.Name, q.Messages, held)
		}
	}
	if len(stats) != len(want) {
		t.Errorf("%d queues, want %d", len(stats), len(want))
	}
}

func bury(t *testing.T, h *host, queue string) {
	t.Helper()
	d, err := h.Spool().Lease(t.Context(), spool.LeaseRequest{Queue: queue})
	if err != nil || len(d) != 1 {
		t.Fatalf("lease from %s: %d, %v", queue, len(d), err)
	}
	if _, err := h.Spool().Settle(t.Context(), []spool.Settlement{{Receipt: d[0].Receipt, Act: spool.Bury}}); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, h *host, queue string, n int) {
	t.Helper()
	deliveries, err := h.Spool().Lease(t.Context(), spool.LeaseRequest{Queue: queue, Max: n})
	if err != nil || len(deliveries) != n {
		t.Fatalf("lease from %s: %d, %v", queue, len(deliveries), err)
	}
	for _, d := range deliveries {
		if _, err := h.Spool().Ack(t.Context(), []spool.Receipt{d.Receipt}); err != nil {
			t.Fatal(err)
		}
	}
}
