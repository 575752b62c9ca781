package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"drawbridge/api"
)

// shell runs command lines in this process, with a home of its own.
type shell struct {
	t     *testing.T
	home  string
	stdin string
	env   map[string]string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	home, err := os.MkdirTemp("", "cmd") // a short path, for the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return &shell{t: t, home: home, env: map[string]string{"HOME": home}}
}

func (s *shell) host(stdout, stderr io.Writer) host {
	return host{
		stdin:  strings.NewReader(s.stdin),
		stdout: stdout,
		stderr: stderr,
		getenv: func(name string) string { return s.env[name] },
		uid:    1000,
	}
}

func (s *shell) try(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(s.t.Context(), args, s.host(&out, &err))
	return code, out.String(), err.String()
}

// run returns what a command line printed, and fails the test if its exit code is another than want.
func (s *shell) run(want int, args ...string) string {
	s.t.Helper()
	code, stdout, stderr := s.try(args...)
	if code != want {
		s.t.Fatalf("drawbridge %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return stdout
}

// started is closed once a line of the log says that the API is up.
type started struct {
	mu   sync.Mutex
	log  bytes.Buffer
	once sync.Once
	up   chan struct{}
}

func (s *started) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(p, []byte("local API is up")) {
		s.once.Do(func() { close(s.up) })
	}
	return s.log.Write(p)
}

// agent makes and runs an agent until the test ends, and lets the shell know where it is.
func (s *shell) agent() {
	s.t.Helper()
	path := filepath.Join(s.home, "drawbridge.yaml")
	s.run(exitOK, "init", "--agent", "fra-1", "--data-dir", filepath.Join(s.home, "data"), "--config", path)
	s.env["DRAWBRIDGE_CONFIG"] = path
	ctx, stop := context.WithCancel(context.Background())
	log := &started{up: make(chan struct{})}
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, []string{"run"}, s.host(io.Discard, log)) }()
	s.t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK {
			s.t.Errorf("run: exit code %d\n%s", code, log.log.String())
		}
	})
	select {
	case <-log.up:
	case code := <-ended:
		ended <- code
		s.t.Fatalf("run ended with code %d", code)
	}
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	s := newShell(t)
	for line, hint := range map[string]string{
		"queus":                                  "did you mean queues?",
		"identity":                               "",
		"identity shwo":                          "did you mean show?",
		"put orders":                             "drawbridge put QUEUE BODY|-|@FILE",
		"put orders x y":                         "drawbridge put --help",
		"put orders x --prio 1":                  "unknown flag: --prio",
		"put orders x --priority 10":             "use 0 to 9",
		"put orders x --priority -1":             "invalid argument",
		"put orders x --header nothing":          "want NAME=VALUE",
		"put orders x --header a=1 --header A=2": "given twice",
		"take":                                   "drawbridge take QUEUE",
		"take orders --max 0":                    "use 1 or more",
		"take orders --follow --max 3":           "leave out --max",
		"take orders --wait soon":                "invalid argument",
		"peek orders --max 0":                    "use 1 or more",
		"ack":                                    "drawbridge ack RECEIPT...",
		"nack":                                   "drawbridge nack RECEIPT...",
		"nack r --delay -1s":                     "use 0s or more",
		"nack r --delay soon":                    "invalid argument",
		"extend":                                 "drawbridge extend RECEIPT...",
		"extend r --visibility 0s":               "use 1ms or more",
		"bury":                                   "drawbridge bury RECEIPT...",
		"bury r --delay 1s":                      "unknown flag: --delay",
		"queues -o yaml":                         "use table or json",
		"config check a b":                       "drawbridge config check",
		"init --agent a/b":                       "agent name",
		"demo --messages 1":                      "want at least",
	} {
		want := exitUsage
		if hint == "" {
			want = exitOK // a group alone prints its help
		}
		code, _, stderr := s.try(strings.Fields(line)...)
		if code != want || !strings.Contains(stderr, hint) {
			t.Errorf("drawbridge %s: exit code %d, want %d and %q in:\n%s", line, code, want, hint, stderr)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	s := newShell(t)
	for _, line := range []string{"put orders x", "take orders", "take orders --follow", "peek orders", "ack r", "nack r", "extend r", "bury r", "queues", "links", "links nyc", "health", "clock accept"} {
		code, stdout, stderr := s.try(strings.Fields(line)...)
		if code != exitUnreachable || stdout != "" || !strings.Contains(stderr, "Is it running?") {
			t.Errorf("drawbridge %s: exit code %d\n%s%s", line, code, stdout, stderr)
		}
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	s := newShell(t)
	config, data := filepath.Join(s.home, "etc", "d.yaml"), filepath.Join(s.home, "data")
	out := s.run(exitOK, "init", "--agent", "fra-1", "--config", config, "--data-dir", data)
	pin := strings.TrimSpace(s.run(exitOK, "identity", "show", "--config", config))
	if !strings.Contains(out, pin) || !strings.Contains(out, "drawbridge run --config "+config) {
		t.Errorf("init does not say its identity and what is next:\n%s", out)
	}
	if shown := s.run(exitOK, "identity", "show", "--data-dir", data, "-o", "json"); !strings.Contains(shown, pin) {
		t.Errorf("identity show -o json: %s", shown)
	}
	s.run(exitOK, "config", "check", config)

	for _, again := range [][]string{
		{"--config", config, "--data-dir", filepath.Join(s.home, "other")},
		{"--config", filepath.Join(s.home, "other.yaml"), "--data-dir", data},
	} {
		code, _, stderr := s.try(append([]string{"init"}, again...)...)
		if code != exitFailed || !strings.Contains(stderr, "nothing was done") {
			t.Errorf("init %v: exit code %d: %s", again, code, stderr)
		}
	}
	for _, left := range []string{"other", "other.yaml"} {
		if _, err := os.Lstat(filepath.Join(s.home, left)); err == nil {
			t.Errorf("a refused init left %s behind", left)
		}
	}
}

func TestConfigCheckTellsEveryMistake(t *testing.T) {
	s := newShell(t)
	path := filepath.Join(s.home, "bad.yaml")
	if err := os.WriteFile(path, []byte("agnet: a\nqueues: { UPPER: {} }\nlog: { level: loud }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "check", path}, {"config", "check", "--config", path}} {
		code, _, stderr := s.try(args...)
		if code != exitFailed || !strings.Contains(stderr, "mistakes: 3") || !strings.Contains(stderr, path+":1:") || !strings.Contains(stderr, path+":3:") {
			t.Errorf("%v: exit code %d\n%s", args, code, stderr)
		}
	}
	_, stdout, _ := s.try("config", "check", path, "-o", "json")
	var problems []struct{ Line int }
	if err := json.Unmarshal([]byte(stdout), &problems); err != nil || len(problems) != 3 {
		t.Errorf("%v: %s", err, stdout)
	}
	if code, _, stderr := s.try("run", "--config", path); code != exitFailed || !strings.Contains(stderr, path+":3:") {
		t.Errorf("run: exit code %d\n%s", code, stderr)
	}
}

func TestProducerAndConsumerAtTheShell(t *testing.T) {
	s := newShell(t)
	s.agent()

	body := "\x00\xffraw"
	file := filepath.Join(s.home, "body")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := s.run(exitOK, "put", "refunds", "@"+file, "--id", "r-1", "--header", "Content-Type=image/png", "--key", "k"); out != "r-1 stored\n" {
		t.Errorf("put: %q", out)
	}
	if out := s.run(exitOK, "put", "refunds", "@"+file, "--id", "r-1", "--key", "k"); out != "r-1 duplicate\n" {
		t.Errorf("put again: %q", out)
	}
	if out := s.run(exitRefused, "put", "refunds", "other", "--id", "r-1"); out != "r-1 id-conflict\n" {
		t.Errorf("put other: %q", out)
	}
	if out := s.run(exitRefused, "put", "nope", "x", "--id", "r-1"); out != "r-1 refused\n" {
		t.Errorf("put into no queue: %q", out)
	}
	s.stdin = "from stdin"
	s.run(exitOK, "put", "refunds", "-")
	s.run(exitOK, "put", "refunds", "last", "--priority", "0")

	if out := s.run(exitOK, "peek", "refunds"); !strings.Contains(out, "r-1") || !strings.Contains(out, "ready") {
		t.Errorf("peek: %s", out)
	}
	if out := s.run(exitOK, "take", "refunds"); out != body {
		t.Errorf("take: %q, want %q", out, body)
	}
	line := s.run(exitOK, "take", "refunds", "--no-ack", "-o", "json")
	var d api.Delivery
	if err := json.Unmarshal([]byte(line), &d); err != nil || d.Text == nil || *d.Text != s.stdin {
		t.Fatalf("take -o json: %v: %s", err, line)
	}
	if out := s.run(exitOK, "ack", d.Receipt); out != d.Receipt+" acked\n" {
		t.Errorf("ack: %q", out)
	}
	if out := s.run(exitOK, "ack", d.Receipt); out != d.Receipt+" already-settled\n" {
		t.Errorf("ack again: %q", out)
	}
	s.run(exitRefused, "ack", "no-receipt")
	if out := s.run(exitOK, "take", "refunds", "--max", "5"); out != "last\n" {
		t.Errorf("take of many: %q", out)
	}
	s.run(exitNothing, "take", "refunds")
	s.run(exitNothing, "peek", "refunds")
	s.run(exitNothing, "queues", "nope")
	s.run(exitNothing, "links", "nope")

	if out := s.run(exitOK, "queues"); !strings.Contains(out, "refunds") {
		t.Errorf("queues: %s", out)
	}
	if out := s.run(exitOK, "health"); !strings.Contains(out, "takes messages") || !strings.Contains(out, "ids are remembered for 24h,") {
		t.Errorf("health: %s", out)
	}
	s.run(exitOK, "clock", "accept")
}

// enough ends a context once it was written to so many times.
type enough struct {
	left int
	end  context.CancelFunc
	bytes.Buffer
}

func (e *enough) Write(p []byte) (int, error) {
	if e.left--; e.left == 0 {
		e.end()
	}
	return e.Buffer.Write(p)
}

func TestFollowAcksWhatItWroteWhenInterrupted(t *testing.T) {
	s := newShell(t)
	s.agent()
	for _, body := range []string{"one", "two\n", "three"} {
		s.run(exitOK, "put", "refunds", body)
	}
	ctx, end := context.WithCancel(t.Context())
	out := &enough{left: 3, end: end}
	if code := execute(ctx, []string{"take", "refunds", "--follow"}, s.host(out, io.Discard)); code != exitOK {
		t.Errorf("take --follow: exit code %d", code)
	}
	if got := out.String(); got != "one\ntwo\nthree\n" {
		t.Errorf("take --follow wrote %q", got)
	}
	if out := s.run(exitOK, "queues", "refunds", "-o", "json"); !strings.Contains(out, `"messages": 0`) {
		t.Errorf("what was written is not acked: %s", out)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWhatCouldNotBeWrittenIsNotAcked(t *testing.T) {
	s := newShell(t)
	s.agent()
	s.run(exitOK, "put", "refunds", "x")
	if code := execute(t.Context(), []string{"take", "refunds"}, s.host(broken{}, io.Discard)); code != exitFailed {
		t.Errorf("take: exit code %d", code)
	}
	if out := s.run(exitOK, "queues", "refunds", "-o", "json"); !strings.Contains(out, `"leased": 1`) {
		t.Errorf("the message is not leased still: %s", out)
	}
}

func TestSilenceOfTheAgentIsUnknown(t *testing.T) {
	s := newShell(t)
	socket := filepath.Join(s.home, "api.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })}
	go server.Serve(l)
	defer server.Close()
	s.env["DRAWBRIDGE_API"] = socket
	if out := s.run(exitUnknown, "put", "orders", "x", "--id", "a"); out != "a unknown\n" {
		t.Errorf("put: %q", out)
	}
}
