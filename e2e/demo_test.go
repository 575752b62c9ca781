package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"drawbridge/cmd/drawbridge/demo"
)

func TestTheDemoEndsWithACleanVerdict(t *testing.T) {
	t.Parallel()
	for name, input := range map[string][]string{
		"its own input": nil,
		"other input":   {"--input", filepath.Join("..", "go.sum"), "--seed", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, out := runDemo(t, program, input...)
			if out.code != 0 || !v.OK() {
				t.Errorf("exit code %d, verdict %+v", out.code, v)
			}
			if v.Stored != demoMessages || v.Delivered != demoMessages {
				t.Errorf("%d stored and %d delivered, want %d", v.Stored, v.Delivered, demoMessages)
			}
			if v.Outages != 2 || v.KillsOfA != 1 || v.KillsOfB != 1 || v.PacketsDropped == 0 {
				t.Errorf("not every event hit: %+v", v)
			}
			if t.Failed() {
				t.Log(out.stderr)
			}
		})
	}
}

func TestTheDemoFindsMessagesDoubledWhenTheLedgerIsSwitchedOff(t *testing.T) {
	t.Parallel()
	blind := filepath.Join(shortTemp(t), "drawbridge")
	must(t, build(blind, "-tags", "drawbridge_no_dedupe"))
	v, out := runDemo(t, blind)
	if out.code != 1 || v.Doubled == 0 {
		t.Errorf("exit code %d, verdict %+v\n%s", out.code, v, out.stderr)
	}
	if v.Lost != 0 || v.Corrupt != 0 || !strings.Contains(strings.Join(v.Faults, "\n"), "doubled: ") {
		t.Errorf("other faults than those to be expected: %+v", v)
	}
}

// demoMessages is enough for each event to find traffic, and few beside the demo's own 20,000.
const demoMessages = 4000

func runDemo(t *testing.T, path string, args ...string) (v demo.Verdict, out outcome) {
	t.Helper()
	out = runProgram(t, path, append([]string{"demo", "--messages", strconv.Itoa(demoMessages), "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out.stdout), &v); err != nil {
		t.Fatalf("exit code %d, no verdict: %v\n%s%s", out.code, err, out.stdout, out.stderr)
	}
	return v, out
}
