package agent_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/spool"
)

// soon is how long anything may go wrong without being told.
const soon = 5 * time.Second

// inBubble runs one agent whose data lies in dir.
func inBubble(t *testing.T, dir string, play func(t *testing.T, h *host)) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{})
		defer n.Close()
		cfg, _ := newConfig(t, "a", dir)
		cfg.Listen.Link = agenttest.AddrA
		h := run(t, n, cfg)
		defer h.stop()
		play(t, h)
	})
}

func requireWell(t *testing.T, h *host) {
	t.Helper()
	if health := h.Health(); !health.Ready || health.Verdict != "takes messages; all parts are well" {
		t.Fatalf("not well: %+v", health)
	}
	if status, body := h.get("/readyz"); status != http.StatusOK {
		t.Fatalf("readyz: %d %s", status, body)
	}
}

func TestADiskThatIsGoneIsToldAndComesBack(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, dir, func(t *testing.T, h *host) {
		requireWell(t, h)
		here, gone := filepath.Join(dir, "spool"), filepath.Join(dir, "gone")
		if err := os.Rename(here, gone); err != nil {
			t.Fatal(err)
		}
		until(t, soon, "the disk is told to fail", func() bool { return !h.Health().Ready })
		status, body := h.get("/readyz")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "disk: try the disk: open") {
			t.Errorf("readyz: %d %s", status, body)
		}
		if _, text := h.get("/metrics"); !strings.Contains(text, "drawbridge_ready 0\n") || !strings.Contains(text, `drawbridge_part_ok{part="disk"} 0`) {
			t.Errorf("the metrics say nothing of it:\n%s", text)
		}
		if err := os.Rename(gone, here); err != nil {
			t.Fatal(err)
		}
		until(t, soon, "the agent is well again", func() bool { return h.Health().Ready })
		requireWell(t, h)
	})
}

// A disk that does not answer costs those who ask a second, not a goroutine each, and the agent no message that it has not
// promised.
func TestADiskThatHangsIsTold(t *testing.T) {
	inBubble(t, t.TempDir(), func(t *testing.T, h *host) {
		var tries atomic.Int32
		hangs := make(chan struct{})
		h.SetDisk(func() error { tries.Add(1); <-hangs; return nil })
		asked := time.Now()
		health := h.Health()
		if took := time.Since(asked); took > time.Second {
			t.Errorf("who asks waits %s", took)
		}
		if c := h.check(t, "disk"); c.OK || !health.Ready || !strings.Contains(c.Detail, "is slow: a write has taken") {
			t.Errorf("after a second: %+v", health)
		}
		until(t, soon, "a disk that hangs takes no messages", func() bool { return !h.Health().Ready })
		if c := h.check(t, "disk"); !strings.Contains(c.Detail, "has not finished a write for") {
			t.Errorf("after five seconds: %+v", c)
		}
		if n := tries.Load(); n != 1 {
			t.Errorf("%d writes hang", n)
		}
		close(hangs)
		synctest.Wait()
		requireWell(t, h)
	})
}

func TestALedgerNearItsCapIsTold(t *testing.T) {
	inBubble(t, t.TempDir(), func(t *testing.T, h *host) {
		const most = 1 << 20 / 64 * 7
		h.put(t, "orders", "few", most/2)
		if c := h.check(t, "ledger"); !c.OK {
			t.Errorf("half full: %+v", c)
		}
		h.put(t, "orders", "many", most*32/100)
		if c := h.check(t, "ledger"); c.OK || !strings.Contains(c.Detail, "near what ledger_memory holds") {
			t.Errorf("four fifths full: %+v", c)
		}
		if health := h.Health(); !health.Ready || health.Verdict != "takes messages; degraded: ledger" {
			t.Errorf("%+v", health)
		}
	})
}

func TestALinkThatIsStalledOrCutIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer n.Close()
		a, b := pair(t, n)
		defer a.stop()
		defer b.stop()
		until(t, soon, "the link is up", func() bool { return a.check(t, "link b").OK })
		requireWell(t, a)
		n.CutBoth(agenttest.AddrA, agenttest.AddrB)
		a.put(t, "orders", "order", 10)
		until(t, soon, "the stalled link is told", func() bool { return !a.check(t, "link b").OK })
		health := a.Health()
		if !health.Ready || health.Verdict != "takes messages; degraded: link b" || !strings.HasPrefix(a.check(t, "link b").Detail, "stalled: ") {
			t.Errorf("%+v", health)
		}
		if _, text := a.get("/metrics"); !strings.Contains(text, `drawbridge_link_state{link="b",state="stalled"} 1`) {
			t.Error("the metrics do not say that the link is stalled")
		}
		n.HealBoth(agenttest.AddrA, agenttest.AddrB)
		until(t, soon, "the link is well again", func() bool { return a.Health().Verdict == "takes messages; all parts are well" })
	})
}

func TestARefusedLinkIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer n.Close()
		cfgA, _ := newConfig(t, "a", t.TempDir())
		cfgB, _ := newConfig(t, "b", t.TempDir())
		_, other := newConfig(t, "c", t.TempDir())
		cfgA.Listen.Link, cfgB.Listen.Link = agenttest.AddrA, agenttest.AddrB
		cfgA.Links["b"] = config.Link{PeerIDs: []link.Pin{other}, Addresses: []string{agenttest.AddrB}, Receive: []config.Receive{{To: "refunds"}}}
		a, b := run(t, n, cfgA), run(t, n, cfgB)
		defer a.stop()
		defer b.stop()
		until(t, soon, "the refusal is told", func() bool {
			c := a.check(t, "link b")
			return !c.OK && strings.HasPrefix(c.Detail, "refused: ")
		})
	})
}

func TestARouteThatThePeerRefusesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer n.Close()
		a, b := pair(t, n, "nowhere")
		defer a.stop()
		defer b.stop()
		a.put(t, "nowhere", "lost", 1)
		until(t, soon, "the held route is told", func() bool {
			return strings.HasPrefix(a.check(t, "link b").Detail, "route b/nowhere is held: ")
		})
		if _, text := a.get("/metrics"); !strings.Contains(text, `drawbridge_route_held{link="b",queue="nowhere",route="b/nowhere"} 1`) {
			t.Error("the metrics do not say that the route is held")
		}
	})
}

// A queue that goes by ids cannot take what may be retried without end.
func TestAWayInThatIsRefusedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer n.Close()
		cfgA, cfgB := configs(t)
		cfgB.Queues["orders"] = spool.QueueOptions{ByIDs: true}
		a, b := run(t, n, cfgA), run(t, n, cfgB)
		defer a.stop()
		defer b.stop()
		until(t, soon, "the refusal is told here", func() bool {
			return strings.HasPrefix(b.check(t, "link a").Detail, "nothing is taken into queue orders: ")
		})
		if _, text := b.get("/metrics"); !strings.Contains(text, `drawbridge_receive_not_taken{link="a",queue="orders"} 1`) {
			t.Error("the metrics do not say that nothing is taken")
		}
		a.put(t, "orders", "order", 1)
		until(t, soon, "the refusal is told there", func() bool {
			return strings.HasPrefix(a.check(t, "link b").Detail, "route b/orders is held: ")
		})
	})
}

func TestAnAgentThatStopsIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer n.Close()
		a, b := pair(t, n)
		defer b.stop()
		until(t, soon, "the link is up", func() bool { return a.check(t, "link b").OK })
		n.CutBoth(agenttest.AddrA, agenttest.AddrB)
		a.put(t, "orders", "order", 10)
		time.Sleep(100 * time.Millisecond)
		stopped := make(chan struct{})
		go func() { a.stop(); close(stopped) }()
		time.Sleep(100 * time.Millisecond) // within the grace
		status, body := a.get("/readyz")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "the agent was told to stop") {
			t.Errorf("readyz: %d %s", status, body)
		}
		if health := a.Health(); health.Ready || health.Verdict != "takes no messages: the agent was told to stop" {
			t.Errorf("%+v", health)
		}
		<-stopped
	})
}

// pair starts two agents with a link between them: orders goes from a to b, refunds from b to a, and more of a's queues go
// to queues that b does not have.
func pair(t *testing.T, n *agenttest.Network, more ...string) (a, b *host) {
	t.Helper()
	cfgA, cfgB := configs(t, more...)
	return run(t, n, cfgA), run(t, n, cfgB)
}

// configs are those of a pair.
func configs(t *testing.T, more ...string) (cfgA, cfgB *config.Config) {
	t.Helper()
	cfgA, pinA := newConfig(t, "a", t.TempDir())
	cfgB, pinB := newConfig(t, "b", t.TempDir())
	cfgA.Listen.Link, cfgB.Listen.Link = agenttest.AddrA, agenttest.AddrB
	toB := config.Link{
		PeerIDs:   []link.Pin{pinB},
		Addresses: []string{agenttest.AddrB},
		Send:      []config.Send{{From: "orders", To: "orders", Name: "b/orders"}},
		Receive:   []config.Receive{{To: "refunds"}},
	}
	for _, queue := range more {
		cfgA.Queues[queue] = spool.QueueOptions{}
		toB.Send = append(toB.Send, config.Send{From: queue, To: queue, Name: "b/" + queue})
	}
	cfgA.Links["b"] = toB
	cfgB.Links["a"] = config.Link{
		PeerIDs: []link.Pin{pinA},
		Send:    []config.Send{{From: "refunds", To: "refunds", Name: "a/refunds"}},
		Receive: []config.Receive{{To: "orders"}},
	}
	return cfgA, cfgB
}
