// A three-day outage is fifty thousand handshakes that never end. The post-quantum half of each costs as much as all the rest
// of the trial and changes nothing here.
//
//go:debug tlsmlkem=0
package agenttest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
	"drawbridge/message"
	"drawbridge/spool"
)

var lossy = agenttest.Faults{
	Loss: 0.05, Duplication: 0.02, Reordering: 0.05,
	Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Lag: 30 * time.Millisecond,
}

// seeds for each simulated trial; a failing one is in the name of its subtest.
var seeds = []uint64{1, 2, 3}

func inBubble(t *testing.T, run func(t *testing.T, seed uint64)) {
	inBubbles(t, seeds, run)
}

func inBubbles(t *testing.T, seeds []uint64, run func(t *testing.T, seed uint64)) {
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, seed)
			synctest.Test(t, func(t *testing.T) { run(t, seed) })
		})
	}
}

func requireOnce(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	seen := make(map[string]int)
	for _, id := range got {
		seen[id]++
	}
	lost, doubled := 0, 0
	for _, id := range want {
		switch n := seen[id]; {
		case n == 0:
			lost++
		case n > 1:
			doubled++
		}
	}
	t.Errorf("%d messages handed out of %d stored: %d lost, %d doubled, in order: %t", len(got), len(want), lost, doubled, slices.IsSorted(got))
}

func TestMessagesPassBothWaysThoughOnlyOneSideHasAnAddress(t *testing.T) {
	inBubble(t, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer stop()
		orders, refunds := agenttest.Names("order", 500), agenttest.Names("refund", 500)
		p.A.Put("orders", orders...)
		p.B.Put("refunds", refunds...)
		agenttest.WaitDrained(t, p.A, "orders", time.Minute)
		agenttest.WaitDrained(t, p.B, "refunds", time.Minute)
		if a, b := p.A.Links()["b"], p.B.Links()["a"]; a != "up" || b != "up" {
			t.Errorf("links are %s and %s, want both up", a, b)
		}
		requireOnce(t, p.B.Drain("orders"), orders)
		requireOnce(t, p.A.Drain("refunds"), refunds)
	})
}

func TestHeadersTraceContextAndBinaryBodiesPassUntouched(t *testing.T) {
	inBubble(t, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, lossy)
		defer stop()
		body := make([]byte, 100_000)
		for i := range body {
			body[i] = byte(i * i)
		}
		headers := message.NewHeaders(map[string]string{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			"tracestate":  "vendor=opaque",
			"baggage":     "user=alice",
			"empty":       "",
		})
		sent := spool.Put{Queue: "orders", ID: "with-headers", Priority: 7, Key: "customer-7", Headers: headers, Body: body}
		if r, err := p.A.Spool().Put(t.Context(), []spool.Put{sent}); err != nil || r[0].Status != spool.Stored {
			t.Fatalf("put: %+v, %v", r, err)
		}
		agenttest.WaitDrained(t, p.A, "orders", time.Minute)
		got, err := p.B.Spool().Lease(t.Context(), spool.LeaseRequest{Queue: "orders"})
		if err != nil || len(got) != 1 {
			t.Fatalf("leased %d messages, %v", len(got), err)
		}
		m := got[0].Message
		if m.ID != sent.ID || m.Origin != "a" || m.Key != sent.Key || m.Priority != sent.Priority || !slices.Equal(m.Headers, headers) {
			t.Errorf("head is %+v", m.Head)
		}
		if !slices.Equal(m.Hops, []string{"a"}) || m.Deliveries != 1 || !bytes.Equal(m.Body, body) {
			t.Errorf("hops %v, deliveries %d, body of %d bytes", m.Hops, m.Deliveries, len(m.Body))
		}
	})
}

func TestLinkSurvivesThreeDayOutage(t *testing.T) {
	outage := 72 * time.Hour
	if testing.Short() {
		outage = 6 * time.Hour // for the race detector, under which a handshake costs ten times as much
	}
	some := seeds[:1] // a seed costs as much real time as ten of TestTrials
	if os.Getenv("DRAWBRIDGE_TRIAL") == "long" {
		some = seeds
	}
	inBubbles(t, some, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, lossy)
		defer stop()
		orders := agenttest.Names("order", 1000)
		p.A.Put("orders", orders[:300]...)
		time.Sleep(200 * time.Millisecond) // some are under way when the link goes
		p.Cut()
		for _, id := range orders[300:] {
			p.A.Put("orders", id)
			time.Sleep(outage / 700)
		}
		p.Heal()
		agenttest.WaitDrained(t, p.A, "orders", 5*time.Minute)
		requireOnce(t, p.B.Drain("orders"), orders)
	})
}

func TestNeitherSideLosesOrDoublesWhenEitherCrashes(t *testing.T) {
	inBubble(t, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, lossy)
		defer stop()
		dice := rand.New(rand.NewPCG(seed, 1))
		orders := agenttest.Names("order", 1200)
		for i := 0; i < len(orders); i += 100 {
			p.A.Put("orders", orders[i:i+100]...)
			time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
			victim := p.A
			if dice.IntN(2) == 0 {
				victim = p.B
			}
			victim.Crash()
			time.Sleep(time.Duration(dice.IntN(3000)) * time.Millisecond)
			victim.Start()
		}
		agenttest.WaitDrained(t, p.A, "orders", 5*time.Minute)
		requireOnce(t, p.B.Drain("orders"), orders)
	})
}

func TestBothSidesDialAndSettleOnOneSession(t *testing.T) {
	inBubble(t, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, lossy)
		defer stop()
		p.B.Stop()
		p.BothDial()
		p.B.Start()
		orders, refunds := agenttest.Names("order", 2000), agenttest.Names("refund", 2000)
		for i := 0; i < 2000; i += 100 {
			p.A.Put("orders", orders[i:i+100]...)
			p.B.Put("refunds", refunds[i:i+100]...)
			time.Sleep(100 * time.Millisecond)
		}
		agenttest.WaitDrained(t, p.A, "orders", time.Minute)
		agenttest.WaitDrained(t, p.B, "refunds", time.Minute)
		requireOnce(t, p.B.Drain("orders"), orders)
		requireOnce(t, p.A.Drain("refunds"), refunds)
		if a, b := p.A.Links()["b"], p.B.Links()["a"]; a != "up" || b != "up" {
			t.Errorf("links are %s and %s, want both up", a, b)
		}
	})
}

func TestOneWayOutageStallsAndHeals(t *testing.T) {
	inBubble(t, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, agenttest.Faults{Delay: 20 * time.Millisecond})
		defer stop()
		orders := agenttest.Names("order", 400)
		p.A.Put("orders", orders[:200]...)
		agenttest.WaitDrained(t, p.A, "orders", time.Minute)
		p.Net.Cut(agenttest.AddrB, agenttest.AddrA) // answers do not come back
		p.A.Put("orders", orders[200:]...)
		time.Sleep(3 * time.Second)
		if state := p.A.Links()["b"]; state != "stalled" {
			t.Errorf("link of A is %s after 3 s without answers, want stalled", state)
		}
		time.Sleep(time.Minute)
		p.Heal()
		healed := time.Now()
		agenttest.WaitDrained(t, p.A, "orders", time.Minute)
		if took := time.Since(healed); took > 5*time.Second {
			t.Errorf("took %s to deliver after the outage", took)
		}
		requireOnce(t, p.B.Drain("orders"), orders)
	})
}

func TestDeliveryGoesOnSoonAfterAnOutageOfAnyLength(t *testing.T) {
	inBubble(t, func(t *testing.T, seed uint64) {
		p, stop := agenttest.NewPair(t, seed, agenttest.Faults{Loss: 0.01, Delay: 25 * time.Millisecond, Jitter: time.Millisecond})
		defer stop()
		var orders []string
		put := func(prefix string, n int) {
			ids := agenttest.Names(prefix, n)
			p.A.Put("orders", ids...)
			orders = append(orders, ids...)
		}
		for _, outage := range []time.Duration{1, 2, 4, 8, 15, 30, 60} {
			put(fmt.Sprintf("%02d-before", outage), 5000)
			time.Sleep(100 * time.Millisecond) // the link is busy when it goes
			p.Cut()
			put(fmt.Sprintf("%02d-meanwhile", outage), 100)
			time.Sleep(outage * time.Second)
			settled := p.A.Depth("orders")
			p.Heal()
			healed := time.Now()
			for p.A.Depth("orders") == settled {
				time.Sleep(10 * time.Millisecond)
				if time.Since(healed) > time.Minute {
					t.Fatalf("nothing was settled for a minute after an outage of %s", outage*time.Second)
				}
			}
			if took := time.Since(healed); took > 2*time.Second {
				t.Errorf("the first answer came %s after an outage of %s", took, outage*time.Second)
			}
			agenttest.WaitDrained(t, p.A, "orders", time.Minute)
			t.Logf("%s: all drained %s after", outage*time.Second, time.Since(healed))
		}
		requireOnce(t, p.B.Drain("orders"), orders)
	})
}
