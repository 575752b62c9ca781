package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drawbridge/api"
	"drawbridge/client"
)

// wearOut hands out what lies in refunds until n messages have died of it.
func (s *shell) wearOut(n uint64) {
	s.t.Helper()
	agent := client.New(filepath.Join(s.home, "data", "api.sock"))
	defer agent.Close()
	for deadline := time.Now().Add(20 * time.Second); ; {
		count, err := agent.DeadCount(s.t.Context(), "refunds", client.DeadFilter{})
		if err != nil {
			s.t.Fatal(err)
		}
		if count.Total == n {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d messages have died, want %d", count.Total, n)
		}
		if _, err := agent.Lease(s.t.Context(), "refunds", client.Lease{Max: 10, Wait: 10 * time.Millisecond, Visibility: time.Millisecond}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestDeadLettersAtTheShell(t *testing.T) {
	s := newShell(t)
	s.agent()
	for _, command := range []string{"list refunds", "requeue refunds --all", "requeue refunds 7", "purge refunds 7", "show refunds 7", "list nope", "count nope"} {
		s.run(exitNothing, append([]string{"dead"}, strings.Fields(command)...)...)
	}
	if out := s.run(exitOK, "dead", "count", "refunds"); !strings.Contains(out, "matching  0") {
		t.Errorf("count of none:\n%s", out)
	}

	s.run(exitOK, "put", "refunds", "two coins", "--id", "text", "--header", "City=Paris")
	s.run(exitOK, "put", "refunds", "\x1b[2Jtwo", "--id", "escape")
	s.run(exitOK, "put", "refunds", "three", "--id", "third")
	s.wearOut(3)

	if out := s.run(exitOK, "dead", "list", "refunds", "--header", "city=Paris", "--newer", "1d"); !strings.Contains(out, "text") || !strings.Contains(out, "max-deliveries") || strings.Contains(out, "escape") {
		t.Errorf("list:\n%s", out)
	}
	var first api.Peeked
	if err := json.NewDecoder(strings.NewReader(s.run(exitOK, "dead", "list", "refunds", "-o", "json"))).Decode(&first); err != nil || first.ID != "text" || first.Death == nil {
		t.Errorf("list -o json: %+v, %v", first, err)
	}
	s.run(exitNothing, "dead", "list", "refunds", "--older", "1d")
	var count api.DeadCount
	if err := json.Unmarshal([]byte(s.run(exitOK, "dead", "count", "refunds", "--id", "third", "-o", "json")), &count); err != nil || count.Total != 3 || count.Matching != 1 || count.OldestAt == nil {
		t.Errorf("count: %+v, %v", count, err)
	}

	for _, name := range []string{"text", fmt.Sprint(first.Sequence)} {
		shown := s.run(exitOK, "dead", "show", "refunds", name)
		for _, part := range []string{"id           text\n", "reason       max-deliveries\n", "header city  Paris\n", "9 bytes, UTF-8\n", "\n\ntwo coins\n"} {
			if !strings.Contains(shown, part) {
				t.Errorf("show %s has no %q:\n%s", name, part, shown)
			}
		}
	}
	if shown := s.run(exitOK, "dead", "show", "refunds", "escape"); !strings.Contains(shown, "base64") || !strings.Contains(shown, "G1sySnR3bw==") || strings.Contains(shown, "\x1b") {
		t.Errorf("what steers a terminal is shown as it is: %q", shown)
	}

	if out := s.run(exitOK, "dead", "requeue", "refunds", "--all", "--dry-run"); out != "would take 3: 3 max-deliveries\n" {
		t.Errorf("dry run: %q", out)
	}
	if out := s.run(exitOK, "dead", "requeue", "refunds", fmt.Sprint(first.Sequence), "999999"); out != "requeued 1 of 2, skipped 1 (1 gone): 1 max-deliveries\n" {
		t.Errorf("requeue: %q", out)
	}
	if out := s.run(exitOK, "take", "refunds"); out != "two coins" {
		t.Errorf("take of what was requeued: %q", out)
	}
	if out := s.run(exitOK, "dead", "purge", "refunds", "--id", "escape", "--yes"); out != "purged 1 of 1: 1 max-deliveries\n" {
		t.Errorf("purge: %q", out)
	}
	var done api.DeadProgress
	if err := json.Unmarshal([]byte(s.run(exitOK, "dead", "requeue", "refunds", "--all", "--rate", "50", "-o", "json")), &done); err != nil || done.Requeued != 1 || !done.Finished {
		t.Errorf("requeue -o json: %+v, %v", done, err)
	}
	s.run(exitNothing, "dead", "list", "refunds")

	s.wearOut(1)
	s.run(exitOK, "take", "refunds.dead", "--no-ack")
	if out := s.run(exitRefused, "dead", "requeue", "refunds", "--all"); out != "none of 1, skipped 1 (1 leased): 1 max-deliveries\n" {
		t.Errorf("requeue of what a consumer has: %q", out)
	}
}

func TestWhatCameFromAnotherHostDoesNotSteerTheTerminal(t *testing.T) {
	for text, want := range map[string]string{"Paris, Köln": "Paris, Köln", "\x1b[2Ja\n": `"\x1b[2Ja\n"`, "\xff": `"\xff"`} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) is %s, want %s", text, got, want)
		}
	}
}

func TestMistakesAboutDeadLetters(t *testing.T) {
	s := newShell(t)
	for line, hint := range map[string]string{
		"dead purge refunds":                             "say --all",
		"dead purge refunds --max 3":                     "say --all",
		"dead purge refunds --all":                       "say --yes",
		"dead purge refunds --reason ttl":                "say --yes",
		"dead purge refunds --reason=  --older 1d --yes": "--reason: it is empty",
		"dead purge refunds --all --id x --yes":          "leave out one",
		"dead purge refunds 1 --all --yes":               "nothing to choose",
		"dead purge refunds order-1":                     "--id chooses by id",
		"dead requeue refunds --all --rate -1":           "use 1 or more",
		"dead requeue refunds --older soon":              "--older soon",
		"dead requeue refunds --older 5":                 "has no unit",
		"dead list refunds --header city":                "want NAME=VALUE",
		"dead list refunds --max 0":                      "use 1 or more",
		"dead show refunds":                              "drawbridge dead show QUEUE ID|SEQUENCE",
		"dead lst":                                       "did you mean list?",
	} {
		code, _, stderr := s.try(strings.Fields(line)...)
		if code != exitUsage || !strings.Contains(stderr, hint) {
			t.Errorf("drawbridge %s: exit code %d, want %d and %q in:\n%s", line, code, exitUsage, hint, stderr)
		}
	}
	for _, line := range []string{"dead list q", "dead count q", "dead show q 1", "dead requeue q --all", "dead purge q 1"} {
		if code, _, stderr := s.try(strings.Fields(line)...); code != exitUnreachable {
			t.Errorf("drawbridge %s: exit code %d\n%s", line, code, stderr)
		}
	}
}

func TestProgressIsOneLineOfATerminal(t *testing.T) {
	var out strings.Builder
	line := progressLine{out: &out, shown: true}
	for _, p := range []api.DeadProgress{
		{Of: 7, ByReason: map[string]uint64{"ttl": 3, "rejected": 4}},
		{Of: 7, Done: 3, Purged: 2, Skipped: 1, SkippedFor: map[api.DeadSkip]uint64{api.SkipLeased: 1}},
	} {
		line.show(p)
	}
	line.clear()
	if got, want := out.String(), "\r\x1b[Kfound 7: 4 rejected, 3 ttl\r\x1b[Kpurged 2 of 7, skipped 1 (1 leased)\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if isTerminal(io.Discard) {
		t.Error("nobody's output is a terminal")
	}
}
