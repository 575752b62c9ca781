package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"drawbridge/api"
	"drawbridge/client"
)

const (
	// startGrace is how long an agent may take from its start to its first answer, on a machine that does much else.
	startGrace = 20 * time.Second
	// answerTimeout bounds one question to an agent.
	answerTimeout = 5 * time.Second
)

// host is one agent of a test: its directory, its configuration and its process.
type host struct {
	t    *testing.T
	name string
	dir  string
	// configPath and logPath lie in dir; the log is that of all lives.
	configPath, logPath, socket string
	peerID                      string
	client                      *client.Client
	// process is the present life; nil before the first.
	process *process
}

// newHost makes the directory and the identity of an agent that does not run yet. It ends with the test.
func newHost(t *testing.T, name string) *host {
	t.Helper()
	dir := shortTemp(t)
	h := &host{
		t: t, name: name, dir: dir,
		configPath: filepath.Join(dir, "drawbridge.yaml"),
		logPath:    filepath.Join(dir, "log"),
		socket:     filepath.Join(dir, "api.sock"),
	}
	h.client = client.New(h.socket)
	t.Cleanup(h.close)
	var made struct {
		PeerID string `json:"peer_id"`
	}
	h.runJSON(&made, "init", "--agent", name, "--data-dir", dir)
	h.peerID = made.PeerID
	return h
}

// shortTemp makes a directory whose path leaves room for the name of a Unix socket.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// close ends what still runs, and shows what the agent said if the test has failed.
func (h *host) close() {
	h.client.Close()
	if h.process != nil && h.process.running() {
		if err := h.process.kill(); err != nil {
			h.t.Errorf("agent %s: %v", h.name, err)
		}
	}
	if h.t.Failed() {
		h.t.Logf("the log of agent %s:\n%s", h.name, h.log())
	}
}

func (h *host) log() string {
	text, err := os.ReadFile(h.logPath)
	if err != nil && h.process != nil {
		h.t.Error(err)
	}
	return string(text)
}

// logged returns the lines of the log that hold text.
func (h *host) logged(text string) (lines []string) {
	for line := range strings.Lines(h.log()) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}

// configure replaces the configuration.
func (h *host) configure(text string) {
	h.t.Helper()
	if err := os.WriteFile(h.configPath, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// extend adds to the configuration.
func (h *host) extend(text string) {
	h.t.Helper()
	before, err := os.ReadFile(h.configPath)
	must(h.t, err)
	h.configure(string(before) + text)
}

// tryStart starts the agent and returns when it takes messages.
func (h *host) tryStart() error {
	p, err := launch(exec.Command(program, "run", "--config", h.configPath), h.logPath)
	if err != nil {
		return fmt.Errorf("start agent %s: %w", h.name, err)
	}
	h.process = p
	for deadline := time.Now().Add(startGrace); ; time.Sleep(pollEvery) {
		err := h.answers()
		switch {
		case err == nil:
			return nil
		case !p.running():
			return fmt.Errorf("agent %s ended at its start: %s", h.name, p.cmd.ProcessState)
		case time.Now().After(deadline):
			return fmt.Errorf("agent %s does not answer %s after its start: %w", h.name, startGrace, err)
		}
	}
}

func (h *host) answers() error {
	ctx, end := context.WithTimeout(context.Background(), answerTimeout)
	defer end()
	health, err := h.client.Health(ctx)
	if err == nil && !health.Ready {
		err = errors.New("it is not ready")
	}
	return err
}

// tryKill ends the agent by SIGKILL.
func (h *host) tryKill() error {
	defer h.client.Close() // its connections lead nowhere now
	if err := h.process.kill(); err != nil {
		return fmt.Errorf("agent %s: %w", h.name, err)
	}
	return nil
}

// dump lets an agent that is stuck tell how it is, and end with what each of its goroutines does.
func (h *host) dump() {
	h.t.Helper()
	h.t.Logf("agent %s:\n%s%s", h.name, h.run("links", "-o", "json").stdout, h.run("queues").stdout)
	if err := h.process.signal(syscall.SIGQUIT); err == nil {
		_, _ = h.process.end(endGrace)
	}
}

// start, kill and signal are tryStart, tryKill and process.signal for tests that cannot go on after an error.
func (h *host) start() {
	h.t.Helper()
	must(h.t, h.tryStart())
}

func (h *host) kill() {
	h.t.Helper()
	must(h.t, h.tryKill())
}

func (h *host) signal(s syscall.Signal) {
	h.t.Helper()
	must(h.t, h.process.signal(s))
}

// stop ends the agent as an operator does and requires that it ends well.
func (h *host) stop() {
	h.t.Helper()
	h.signal(syscall.SIGTERM)
	h.requireExit(0, startGrace)
}

// requireExit waits for the agent to exit with a code.
func (h *host) requireExit(code int, within time.Duration) {
	h.t.Helper()
	status, err := h.process.end(within)
	if err != nil {
		h.t.Fatalf("agent %s: %v", h.name, err)
	}
	if !status.Exited() || status.ExitStatus() != code {
		h.t.Fatalf("agent %s ended with %s, want exit code %d", h.name, h.process.cmd.ProcessState, code)
	}
	h.client.Close()
}

// outcome is what became of one command.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs one command line of this host.
func (h *host) run(args ...string) outcome {
	h.t.Helper()
	return runProgram(h.t, program, append([]string{"--config", h.configPath}, args...)...)
}

// require runs one command line, which must succeed, and returns what it printed.
func (h *host) require(args ...string) string {
	h.t.Helper()
	return h.requireCode(0, args...)
}

// requireCode runs one command line, which must end with the given exit code.
func (h *host) requireCode(code int, args ...string) string {
	h.t.Helper()
	out := h.run(args...)
	if out.code != code {
		h.t.Fatalf("agent %s: drawbridge %s: exit code %d, want %d\n%s%s", h.name, strings.Join(args, " "), out.code, code, out.stdout, out.stderr)
	}
	return out.stdout
}

// runJSON runs one command line with -o json and reads what it prints.
func (h *host) runJSON(into any, args ...string) {
	h.t.Helper()
	out := h.require(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		h.t.Fatalf("agent %s: drawbridge %s: %v in %s", h.name, strings.Join(args, " "), err, out)
	}
}

// link returns the agent's only link.
func (h *host) link() api.Link {
	h.t.Helper()
	var links []api.Link
	h.runJSON(&links, "links")
	if len(links) != 1 {
		h.t.Fatalf("agent %s has %d links, want 1", h.name, len(links))
	}
	return links[0]
}

func runProgram(t *testing.T, path string, args ...string) outcome {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &stdout, &stderr, attached()
	err := cmd.Run()
	if cmd.ProcessState == nil || !cmd.ProcessState.Exited() {
		t.Fatalf("%s %s: %v\n%s%s", path, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// pollEvery is the time between two looks at something that will come.
const pollEvery = 10 * time.Millisecond

// eventually looks until nothing is missing, and fails with what is missing at the end.
func eventually(t *testing.T, within time.Duration, missing func() string) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(pollEvery) {
		what := missing()
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", within, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// freePort finds a UDP port of this host that nobody uses now.
func freePort(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	defer c.Close()
	return c.LocalAddr().String()
}
