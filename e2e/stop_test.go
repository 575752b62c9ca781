package e2e_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

func TestSIGTERMEndsALinkedAgentAtOnceWhenNothingIsOnItsWay(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.start()
	p.fra.signal(syscall.SIGTERM)
	p.fra.requireExit(0, 5*time.Second)
	p.nyc.signal(syscall.SIGTERM)
	p.nyc.requireExit(0, 5*time.Second)
}

func TestSIGTERMEndsAnAgentWithinTheGraceWhenItsPeerIsGone(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.fra.extend("shutdown_grace: 2s\n")
	p.start()
	p.leaveUnanswered()
	p.fra.signal(syscall.SIGTERM)
	p.fra.requireExit(0, 5*time.Second)
}

func TestASecondSIGTERMEndsAnAgentAtOnceAndLosesNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.start()
	p.leaveUnanswered()
	p.fra.signal(syscall.SIGTERM)
	// the API goes first; the link has 30s for what its peer, which sleeps, will not answer
	eventually(t, 5*time.Second, func() string {
		if p.fra.run("health").code != 6 {
			return "the agent still answers after a SIGTERM"
		}
		return ""
	})
	if !p.fra.process.running() {
		t.Fatal("the agent ended before its message was answered")
	}
	p.fra.signal(syscall.SIGTERM)
	status, err := p.fra.process.end(2 * time.Second)
	must(t, err)
	if status.Signal() != syscall.SIGTERM {
		t.Errorf("the agent ended with %s, want the signal", p.fra.process.cmd.ProcessState)
	}
	p.nyc.signal(syscall.SIGCONT)
	p.fra.start()
	p.nyc.requireTaken("orders", "sent into a sleep\n")
}

// leaveUnanswered puts nyc to sleep and ships it a message that it cannot answer.
func (p *pair) leaveUnanswered() {
	p.t.Helper()
	p.nyc.signal(syscall.SIGSTOP)
	p.fra.require("put", "orders", "sent into a sleep")
	eventually(p.t, 5*time.Second, func() string {
		if route := p.fra.link().Sends[0]; route.Unanswered != 1 {
			return fmt.Sprintf("%d messages unanswered, want 1", route.Unanswered)
		}
		return ""
	})
}

func TestAKilledAgentStartsAgainOnItsStaleSocket(t *testing.T) {
	t.Parallel()
	h := newHost(t, "fra")
	h.configure(h.begins(""))
	h.start()
	h.require("put", "orders", "kept")
	h.kill()
	h.requireCode(6, "queues")
	h.start()
	h.requireTaken("orders", "kept\n")
}
