package agenttest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
)

func TestOperatorSeesForHowLongIDsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := agenttest.NewPair(t, 1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer stop()
		orders := agenttest.Names("order", 10)
		p.A.Put("orders", orders...)
		agenttest.WaitDrained(t, p.A, "orders", time.Minute)
		if in := p.B.Receive("a"); in.Horizon != "unbounded" || in.Window != "24h" || in.EffectiveWindow != "24h" {
			t.Errorf("%+v", in)
		}
		if c := p.B.Check("ledger"); !c.OK || !strings.HasPrefix(c.Detail, "10 ids are remembered for 24h,") {
			t.Errorf("%+v", c)
		}
		if c := p.B.Check("clock"); !c.OK {
			t.Errorf("%+v", c)
		}

		p.A.Stop()
		p.B.Stop()
		time.Sleep(40*time.Hour + 30*time.Minute)
		p.B.Start()
		if c := p.B.Check("clock"); c.OK || !strings.Contains(c.Detail, "time jumped by 40h30m while") {
			t.Errorf("after a stop of more than a day: %+v", c)
		}
		p.B.AcceptClock()
		if c := p.B.Check("clock"); !c.OK {
			t.Errorf("after it was accepted: %+v", c)
		}
		requireOnce(t, p.B.Drain("orders"), orders)
	})
}
