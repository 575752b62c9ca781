package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"drawbridge/api"
)

// leased puts a message into refunds and takes it without an ack.
func (s *shell) leased(id string) (receipt string) {
	s.t.Helper()
	s.run(exitOK, "put", "refunds", "body of "+id, "--id", id)
	code, _, stderr := s.try("take", "refunds", "--no-ack")
	receipt, ok := strings.CutPrefix(strings.TrimSpace(stderr), "receipt ")
	if code != exitOK || !ok {
		s.t.Fatalf("take --no-ack: exit code %d, %q", code, stderr)
	}
	return receipt
}

func TestDeliveriesAreSettledAtTheShell(t *testing.T) {
	s := newShell(t)
	s.agent()
	a, b, c := s.leased("a"), s.leased("b"), s.leased("c")
	for _, step := range []struct {
		line string
		code int
		want string
	}{
		{"extend " + a, exitOK, a + " extended, runs 2m0s\n"}, // what the sample says of the queue
		{"extend " + a + " --visibility 1h", exitOK, a + " extended, runs 1h0m0s\n"},
		{"nack " + a, exitOK, a + " nacked, waits 1s\n"},
		{"nack " + b + " --delay 10m --text jam", exitOK, b + " nacked, waits 10m0s\n"},
		{"nack " + b, exitOK, b + " already-settled\n"},
		{"extend " + b, exitRefused, b + " already-settled\n"}, // the consumer does not have it any more
		{"bury " + c + " --text useless", exitOK, c + " buried\n"},
		{"bury " + c + " none", exitRefused, c + " already-settled\nnone bad-receipt\n"},
		{"nack none", exitRefused, "none bad-receipt\n"},
	} {
		if out := s.run(step.code, strings.Fields(step.line)...); out != step.want {
			t.Errorf("%s: %q, want %q", step.line, out, step.want)
		}
	}

	var q []api.Queue
	s.runJSON(&q, "queues", "refunds")
	if q[0].Waiting == 0 || q[0].Buried != 1 {
		t.Errorf("queues: %+v", q[0])
	}
	if out := s.run(exitOK, "queues"); !strings.Contains(out, "WAITING") {
		t.Errorf("queues: %s", out)
	}
	if out := s.run(exitOK, "peek", "refunds"); !strings.Contains(out, "waiting") {
		t.Errorf("peek: %s", out)
	}
	var dead api.Delivery
	s.runJSON(&dead, "take", "refunds.dead", "--no-ack")
	if dead.ID != "c" || dead.Death == nil || dead.Death.Text != "useless" {
		t.Errorf("take of a dead letter: %+v", dead)
	}
	var letter api.Peeked
	s.runJSON(&letter, "peek", "refunds.dead")
	if letter.Death == nil || letter.Death.Reason != "rejected" || !letter.Leased {
		t.Errorf("peek of a dead letter: %+v", letter)
	}
}

func TestSettlementsAsJSON(t *testing.T) {
	s := newShell(t)
	s.agent()
	r := s.leased("a")
	var extended, nacked, again []api.ReceiptResult
	s.runJSON(&extended, "extend", r, "--visibility", "90s")
	if extended[0].LeaseMillis == nil || *extended[0].LeaseMillis != 90_000 || extended[0].WaitMillis != nil {
		t.Errorf("extend: %+v", extended)
	}
	s.runJSON(&nacked, "nack", r, "--delay", "0s")
	if nacked[0].Verdict != api.Nacked || nacked[0].WaitMillis == nil || *nacked[0].WaitMillis != 0 || nacked[0].LeaseMillis != nil {
		t.Errorf("nack: %+v", nacked)
	}
	s.runJSON(&again, "ack", r)
	if again[0] != (api.ReceiptResult{Receipt: r, Verdict: api.AlreadySettled}) {
		t.Errorf("ack: %+v", again)
	}
}

func TestTheLastNackSaysThatTheMessageDied(t *testing.T) {
	s := newShell(t)
	s.agent()
	r := s.leased("a")
	for range 4 {
		s.run(exitOK, "nack", r, "--delay", "0s")
		var d api.Delivery
		s.runJSON(&d, "take", "refunds", "--no-ack")
		if left := time.Duration(d.LeaseMillis) * time.Millisecond; left > 2*time.Minute {
			t.Errorf("the lease runs %s", left)
		}
		r = d.Receipt
	}
	if out := s.run(exitOK, "nack", r, "--text", "it jams"); out != r+" died\n" {
		t.Errorf("nack: %q", out)
	}
	if out := s.run(exitOK, "dead", "list", "refunds"); !strings.Contains(out, "it jams") {
		t.Errorf("dead list: %s", out)
	}
}

// runJSON reads what a command line prints with -o json.
func (s *shell) runJSON(into any, args ...string) {
	s.t.Helper()
	out := s.run(exitOK, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.t.Fatalf("drawbridge %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
