package demo_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"drawbridge/cmd/drawbridge/demo"
)

func TestAgentsEndWhenTheDemoIsKilled(t *testing.T) {
	dir := temporary(t)
	cmd := demoProcess(t)
	agents := pids(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	requireGone(t, agents)
}

func TestKeptAgentsLiveOn(t *testing.T) {
	dir := temporary(t)
	var advice strings.Builder
	if err := demo.Keep(t.Context(), options(), &advice); err != nil {
		t.Fatal(err)
	}
	agents := pids(t, dir)
	for _, pid := range agents {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	var line string
	for line = range strings.Lines(advice.String()) {
		if command := strings.Fields(line); strings.HasPrefix(line, "  ") && strings.Contains(line, "--api") {
			if _, err := os.Stat(command[0]); err != nil {
				t.Errorf("advised to run what is not there: %v", err)
			}
			if _, err := os.Stat(command[2]); err != nil {
				t.Errorf("advised to call where nobody listens: %v", err)
			}
		}
	}
	// the last line ends it all
	if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	requireGone(t, agents)
	eventually(t, "nothing is left behind", func() bool {
		left, _ := os.ReadDir(dir)
		return len(left) == 0
	})
}
