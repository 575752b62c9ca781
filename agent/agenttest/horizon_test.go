package agenttest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
	"drawbridge/config"
)

// way is how one side is configured: for how long the sender retries, and by what the receiver goes.
type way struct {
	retryFor  time.Duration // 0: without end
	byIDs     bool
	maxWindow time.Duration // of a receiver that goes by ids
}

func (w way) String() string {
	retry := "for ever"
	if w.retryFor > 0 {
		retry = "for " + w.retryFor.String()
	}
	if !w.byIDs {
		return fmt.Sprintf("retries %s, by numbers", retry)
	}
	return fmt.Sprintf("retries %s, by ids for at most %s", retry, w.maxWindow)
}

// apply writes w into the configuration of both sides.
func (w way) apply(p *agenttest.Pair) {
	p.A.Configure(func(c *config.Config) {
		l := c.Links["b"]
		l.Send[0].RetryFor = w.retryFor
		c.Links["b"] = l
	})
	p.B.Configure(func(c *config.Config) {
		o := c.Queues["orders"]
		o.ByIDs = w.byIDs
		c.Queues["orders"] = o
		c.LedgerMaxWindow = w.maxWindow
	})
}

const day = 24 * time.Hour

// ways are pairs of configurations with what must become of their route. The window that a horizon needs is an eighth more,
// at least ten minutes.
var ways = []struct {
	way
	refused bool
	needs   string // the window in the refusal
}{
	{way{0, false, 30 * day}, false, ""},
	{way{time.Minute, false, 30 * day}, false, ""},
	{way{time.Hour, false, 30 * day}, false, ""},
	{way{72 * time.Hour, false, 30 * day}, false, ""},
	{way{365 * day, false, 30 * day}, false, ""},
	{way{72 * time.Hour, false, time.Hour}, false, ""}, // numbers need no window

	{way{0, true, 30 * day}, true, "for ever"},
	{way{0, true, time.Hour}, true, "for ever"},
	{way{0, true, 5000 * day}, true, "for ever"},
	{way{time.Minute, true, time.Hour}, false, ""},
	{way{time.Minute, true, 11 * time.Minute}, false, ""},
	{way{time.Minute, true, 11*time.Minute - time.Millisecond}, true, "11m0s"},
	{way{time.Minute, true, 10 * time.Minute}, true, "11m0s"},
	{way{50 * time.Minute, true, time.Hour}, false, ""},
	{way{51 * time.Minute, true, time.Hour}, true, "1h1m0s"},
	{way{time.Hour, true, time.Hour}, true, "1h10m0s"},
	{way{time.Hour, true, 70 * time.Minute}, false, ""},
	{way{80 * time.Minute, true, 90 * time.Minute}, false, ""}, // ten minutes are an eighth
	{way{80*time.Minute + time.Second, true, 90 * time.Minute}, true, "1h30m1.125s"},
	{way{24 * time.Hour, true, 26 * time.Hour}, true, "27h0m0s"},
	{way{24 * time.Hour, true, 27 * time.Hour}, false, ""},
	{way{72 * time.Hour, true, 72 * time.Hour}, true, "81h0m0s"},
	{way{72 * time.Hour, true, 80 * time.Hour}, true, "81h0m0s"},
	{way{72 * time.Hour, true, 81 * time.Hour}, false, ""},
	{way{72 * time.Hour, true, 30 * day}, false, ""},
	{way{7 * day, true, 7 * day}, true, "189h0m0s"},
	{way{7 * day, true, 8 * day}, false, ""},
	{way{26 * day, true, 30 * day}, false, ""},
	{way{27 * day, true, 30 * day}, true, "729h0m0s"},
	{way{30 * day, true, 30 * day}, true, "810h0m0s"},
	{way{365 * day, true, 30 * day}, true, "9855h0m0s"},
	{way{365 * day, true, 411 * day}, false, ""},
	{way{100 * 365 * day, true, 30 * day}, true, "985500h0m0s"},
}

// TestWaysAreTakenOrRefusedAsTheyFit restarts two agents into each pair of configurations while messages are queued that were
// shipped and not answered under another, and then into one that fits: nothing is lost, doubled or out of order on the way.
func TestWaysAreTakenOrRefusedAsTheyFit(t *testing.T) {
	for i, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, uint64(i))
			synctest.Test(t, func(t *testing.T) {
				p, stop := agenttest.NewPair(t, uint64(i), agenttest.Faults{Delay: 20 * time.Millisecond})
				defer stop()
				ids := agenttest.Names("order", 300)
				p.A.Put("orders", ids[:100]...)
				agenttest.WaitDrained(t, p.A, "orders", time.Minute)
				p.Net.Cut(agenttest.AddrB, agenttest.AddrA) // what is shipped now is not answered
				p.A.Put("orders", ids[100:200]...)
				time.Sleep(time.Second)
				p.A.Stop()
				p.B.Stop()
				p.Heal()

				w.apply(p)
				p.A.Start()
				p.B.Start()
				p.A.Put("orders", ids[200:]...)
				if w.refused {
					requireRefused(t, p, w.needs, w.maxWindow)
					p.A.Stop()
					p.B.Stop()
					way{72 * time.Hour, true, 30 * day}.apply(p)
					p.A.Start()
					p.B.Start()
				}
				agenttest.WaitDrained(t, p.A, "orders", time.Minute)
				requireOnce(t, p.B.Drain("orders"), ids)
				if r := p.B.Receive("a"); w.byIDs && r.EffectiveWindow != r.Window {
					t.Errorf("ids are promised for %s, and known for %s", r.Window, r.EffectiveWindow)
				}
				if dead := p.A.Depth("orders.dead"); dead > 0 {
					t.Errorf("%d dead letters", dead)
				}
			})
		})
	}
}

// requireRefused waits until both sides say that the route is refused, with both numbers, and checks that nothing moves.
func requireRefused(t *testing.T, p *agenttest.Pair, needs string, maxWindow time.Duration) {
	t.Helper()
	time.Sleep(10 * time.Second)
	before := p.B.Depth("orders")
	time.Sleep(time.Minute)
	if came := p.B.Depth("orders") - before; came > 0 || p.A.Depth("orders") < 100 {
		t.Errorf("%d came over a route that does not fit", came)
	}
	send, receive := p.A.Send("b"), p.B.Receive("a")
	if send.State != "held" || !strings.HasPrefix(send.Reason, "horizon: ") {
		t.Errorf("the sender's route is %s: %s", send.State, send.Reason)
	}
	for _, says := range []string{send.Reason, receive.Reason} {
		if !strings.Contains(says, needs) || !strings.Contains(says, maxWindow.String()) {
			t.Errorf("a side says %q, want %s and %s in it", says, needs, maxWindow)
		}
	}
}
