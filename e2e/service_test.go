package e2e_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// manager stands for systemd: it listens on the socket by which a service tells how it is.
type manager struct {
	t      *testing.T
	socket string
	heard  chan string
}

// newManager begins to listen; what is heard is kept in order.
func newManager(t *testing.T) *manager {
	t.Helper()
	m := &manager{t: t, socket: filepath.Join(shortTemp(t), "notify"), heard: make(chan string, 4096)}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p := make([]byte, 64<<10); ; {
			n, err := conn.Read(p)
			if err != nil {
				return // closed
			}
			for assignment := range strings.SplitSeq(string(p[:n]), "\n") {
				m.heard <- assignment
			}
		}
	}()
	t.Cleanup(func() {
		must(t, conn.Close())
		<-done
	})
	return m
}

// launch starts the agent as a service, with more of an environment. It does not wait for anything.
func (m *manager) launch(h *host, environment ...string) {
	m.t.Helper()
	cmd := exec.Command(program, "run", "--config", h.configPath)
	cmd.Env = append(os.Environ(), append(environment, "NOTIFY_SOCKET="+m.socket)...)
	p, err := launch(cmd, h.logPath)
	must(m.t, err)
	h.process = p
}

// next returns the next assignment that begins so.
func (m *manager) next(begin string, within time.Duration) string {
	m.t.Helper()
	var passed []string
	for deadline := time.After(within); ; {
		select {
		case heard := <-m.heard:
			if strings.HasPrefix(heard, begin) {
				return heard
			}
			passed = append(passed, heard)
		case <-deadline:
			m.t.Fatalf("no %s within %s, but %q", begin, within, passed)
		}
	}
}

// rest returns what was heard and not asked for yet.
func (m *manager) rest() (all []string) {
	for {
		select {
		case heard := <-m.heard:
			all = append(all, heard)
		default:
			return all
		}
	}
}

func TestAServiceIsReadyWhenMessagesAreTakenAndSaysThatItStops(t *testing.T) {
	t.Parallel()
	h, m := newHost(t, "fra"), newManager(t)
	h.configure(h.begins(""))
	m.launch(h)
	if first := <-m.heard; first != "STATUS=opening the spool" {
		t.Errorf("heard first: %s", first)
	}
	m.next("READY=1", startGrace)
	h.require("put", "orders", "taken at once") // no wait, no second try
	for _, queued := range []string{"queued: 0", "queued: 1"} {
		if status := m.next("STATUS=takes messages; ", 20*time.Second); !strings.HasSuffix(status, "; messages "+queued) {
			t.Errorf("%s, want %s", status, queued)
		}
	}
	h.signal(syscall.SIGTERM)
	m.next("STOPPING=1", 5*time.Second)
	h.requireExit(0, 5*time.Second)
	if rest := m.rest(); slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(s, "WATCHDOG") }) {
		t.Errorf("nobody watches, and yet %q", rest)
	}
}

func TestAServiceThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	h, m := newHost(t, "fra"), newManager(t)
	h.configure(h.begins(""))
	h.start()
	other := &host{t: t, name: "second", dir: h.dir, configPath: h.configPath, logPath: filepath.Join(h.dir, "log2")}
	m.launch(other)
	m.next("STATUS=opening the spool", startGrace)
	m.next("STATUS=open spool", startGrace)
	status, err := other.process.end(startGrace)
	must(t, err)
	if status.ExitStatus() != 1 || slices.Contains(m.rest(), "READY=1") {
		t.Errorf("ended with %s", other.process.cmd.ProcessState)
	}
	h.require("put", "orders", "the first one is not harmed")
}

func TestTheWatchdogIsFedWhileTheSpoolAnswersAndTheDrainLasts(t *testing.T) {
	t.Parallel()
	p, m := newPair(t), newManager(t)
	p.fra.extend("shutdown_grace: 4s\n")
	p.nyc.start()
	m.launch(p.fra, "WATCHDOG_USEC=1000000")
	m.next("READY=1", startGrace)
	for range 3 {
		m.next("WATCHDOG=1", 5*time.Second)
	}
	p.requireUp()
	p.leaveUnanswered()
	p.fra.signal(syscall.SIGTERM)
	m.next("STOPPING=1", 5*time.Second)
	m.rest()
	for range 3 {
		m.next("WATCHDOG=1", 5*time.Second)
	}
	p.fra.requireExit(0, 10*time.Second)
}

func TestAServiceWhoseManagerIsGoneRunsOn(t *testing.T) {
	t.Parallel()
	h := newHost(t, "fra")
	h.configure(h.begins(""))
	m := &manager{t: t, socket: filepath.Join(h.dir, "nobody")}
	m.launch(h)
	eventually(t, startGrace, func() string {
		if err := h.answers(); err != nil {
			return err.Error()
		}
		return ""
	})
	h.stop()
	if lines := h.logged("service manager cannot be told"); len(lines) != 1 {
		t.Errorf("logged: %q", lines)
	}
}
