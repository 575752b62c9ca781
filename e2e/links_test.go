package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMessagesPassBothWaysThoughOnlyOneSideHasAnAddress(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.start()
	p.fra.require("put", "orders", "one crate")
	p.nyc.require("put", "refunds", "two coins")
	if got := p.nyc.require("take", "orders", "--wait", "20s"); got != "one crate" {
		t.Errorf("nyc took %q", got)
	}
	if got := p.fra.require("take", "refunds", "--wait", "20s"); got != "two coins" {
		t.Errorf("fra took %q", got)
	}
	for h, row := range map[*host]string{
		p.fra: `(?m)^nyc +up +.* answers come back$`,
		p.nyc: `(?m)^fra +up +.* answers come back$`,
	} {
		if l := h.link(); l.State != "up" || l.ConnectedOver == 0 {
			t.Errorf("links -o json on %s: %+v", h.name, l)
		}
		if table := h.require("links"); !regexp.MustCompile(row).MatchString(table) {
			t.Errorf("links on %s:\n%s", h.name, table)
		}
	}
}

// tellWithin is how soon links must say that a peer which took its leave is gone.
const tellWithin = 5 * time.Second

func TestLinksSayWhyNothingMovesAndNothingIsLostMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.start()

	p.nyc.stop()
	p.fra.requireDown(`bye|no answer|shutting down|hung up|refused`)
	for n := range 3 {
		p.fra.require("put", "orders", fmt.Sprintf("crate %d", n))
	}
	if l := p.fra.link(); l.Sends[0].Queued != 3 || l.Sends[0].State == "up" || l.Sends[0].Reason == "" {
		t.Errorf("the route does not say that it holds 3 messages and why: %+v", l.Sends[0])
	}
	p.nyc.start()
	p.requireUp()

	p.fra.stop()
	p.nyc.requireDown(`waiting for the peer to dial`)
	for n := range 3 {
		p.nyc.require("put", "refunds", fmt.Sprintf("coin %d", n))
	}
	p.fra.start()
	p.requireUp()

	p.nyc.requireTaken("orders", "crate 0\ncrate 1\ncrate 2\n")
	p.fra.requireTaken("refunds", "coin 0\ncoin 1\ncoin 2\n")
}

// requireDown waits until links says that the link is not up, with a reason that matches.
func (h *host) requireDown(reason string) {
	h.t.Helper()
	eventually(h.t, tellWithin, func() string {
		l := h.link()
		if l.State == "up" || !regexp.MustCompile(reason).MatchString(l.Reason) {
			return fmt.Sprintf("the link of %s is %s: %q, want another state and a reason like %s", h.name, l.State, l.Reason, reason)
		}
		return ""
	})
}

// requireTaken takes what comes and requires that it is all that was wanted, in order.
func (h *host) requireTaken(queue, want string) {
	h.t.Helper()
	var got strings.Builder
	for got.Len() < len(want) {
		got.WriteString(h.require("take", queue, "--max", "10", "--wait", "20s"))
	}
	if got.String() != want {
		h.t.Errorf("agent %s took %q from %s, want %q", h.name, got.String(), queue, want)
	}
	h.requireCode(3, "take", queue)
}
