package demo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drawbridge/cmd/drawbridge/demo"
)

// behaviour names, in the environment, what the test binary does when it is run as an agent or as a demo.
const behaviour = "DRAWBRIDGE_DEMO_TEST"

// TestMain lets the test binary play the program that Run starts: an agent that answers its health check and nothing else.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 3 && os.Args[1] == "run":
		os.Exit(idleAgent(os.Args[3]))
	case os.Getenv(behaviour) == "demo":
		_ = os.Unsetenv(behaviour)
		_, err := demo.Run(context.Background(), options(), os.Stderr)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// options run the test binary as both agents.
func options() demo.Options {
	o := demo.Defaults()
	o.Executable, _ = os.Executable()
	o.Messages = demo.LeastMessages
	return o
}

// idleAgent is the life of an agent that is alive and does nothing: it writes its process id beside its configuration.
func idleAgent(configPath string) int {
	config, err := os.ReadFile(configPath)
	if err != nil {
		return 1
	}
	switch os.Getenv(behaviour) {
	case "refuse":
		fmt.Fprintln(os.Stderr, "the configuration has 1 error")
		return 2
	case "die":
		time.AfterFunc(200*time.Millisecond, func() {
			fmt.Fprintln(os.Stderr, "the disk is on fire")
			os.Exit(3)
		})
	}
	socket := regexp.MustCompile(`(?m)^  api: "(.*)"$`).FindSubmatch(config)
	listener, err := net.Listen("unix", string(socket[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	pidPath := strings.TrimSuffix(configPath, ".yaml") + ".pid"
	if err := os.WriteFile(pidPath, strconv.AppendInt(nil, int64(os.Getpid()), 10), 0o600); err != nil {
		return 1
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(stop, func() { _ = listener.Close() })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ready":true}`) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_ = http.Serve(listener, mux)
	return 0
}

// temporary lets demos make their directory in one of the test, and returns it.
func temporary(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

// pids waits for both agents of the demo below dir and returns their process ids.
func pids(t *testing.T, dir string) []int {
	t.Helper()
	var found []int
	eventually(t, "two agents run", func() bool {
		found = nil
		paths, _ := filepath.Glob(filepath.Join(dir, "*", "*.pid"))
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			if pid, err := strconv.Atoi(string(text)); err == nil {
				found = append(found, pid)
			}
		}
		return len(found) == 2
	})
	return found
}

func requireGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || bytes.Contains(stat, []byte(") Z "))
		})
	}
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so within 10s: %s", what)
		}
	}
}

func TestRunTellsWhyAnAgentDidNotStart(t *testing.T) {
	dir := temporary(t)
	t.Setenv(behaviour, "refuse")
	_, err := demo.Run(t.Context(), options(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "agent B ended by itself (exit status 2)") ||
		!strings.Contains(err.Error(), "the configuration has 1 error") {
		t.Errorf("error %v, want who ended, how, and the end of its log", err)
	}
	requireEmpty(t, dir)
}

func TestRunTellsThatAnAgentEndedByItself(t *testing.T) {
	dir := temporary(t)
	t.Setenv(behaviour, "die")
	_, err := demo.Run(t.Context(), options(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "ended by itself (exit status 3)") || !strings.Contains(err.Error(), "the disk is on fire") {
		t.Errorf("error %v, want who ended, how, and the end of its log", err)
	}
	requireEmpty(t, dir)
}

func TestAgentsEndWhenTheDemoIsCancelled(t *testing.T) {
	dir := temporary(t)
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := demo.Run(ctx, options(), io.Discard)
		done <- err
	}()
	agents := pids(t, dir)
	interrupt()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	requireGone(t, agents)
	requireEmpty(t, dir)
}

func TestRunRefusesWhatCannotWork(t *testing.T) {
	dir := temporary(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(o *demo.Options)
		want  string
	}{
		"few messages":  {func(o *demo.Options) { o.Messages = 999 }, "999 messages: out of bounds, want at least 1000"},
		"loss of all":   {func(o *demo.Options) { o.Loss = 1 }, "loss 1: out of bounds"},
		"negative loss": {func(o *demo.Options) { o.Loss = -0.1 }, "loss -0.1: out of bounds"},
		"empty input":   {func(o *demo.Options) { o.Input = empty }, "the file is empty, want at least one line"},
		"no input":      {func(o *demo.Options) { o.Input = empty + "x" }, "no such file"},
	} {
		o := options()
		c.spoil(&o)
		if _, err := demo.Run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	requireEmpty(t, dir)
}

// demoProcess starts a demo in a process of its own.
func demoProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), behaviour+"=demo")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}
