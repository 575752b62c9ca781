package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEitherSignalIsACleanStop(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		h := newHost(t, "fra")
		h.configure(h.begins(""))
		h.start()
		h.signal(signal)
		h.requireExit(0, 5*time.Second)
		if len(h.logged("agent stopped")) != 1 {
			t.Errorf("%s: not logged as a stop:\n%s", signal, h.log())
		}
	}
}

func TestASecondSIGINTEndsAnAgentAtOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.start()
	p.leaveUnanswered()
	p.fra.signal(syscall.SIGINT)
	eventually(t, 5*time.Second, func() string {
		if p.fra.run("health").code != 6 {
			return "the agent still answers after a SIGINT"
		}
		return ""
	})
	p.fra.signal(syscall.SIGINT)
	status, err := p.fra.process.end(2 * time.Second)
	must(t, err)
	if status.Signal() != syscall.SIGINT {
		t.Errorf("the agent ended with %s, want the signal", p.fra.process.cmd.ProcessState)
	}
}

func TestAClientThatNeverFinishesDoesNotHoldTheAgentLongerThanItsGrace(t *testing.T) {
	t.Parallel()
	h := newHost(t, "fra")
	h.configure(h.begins("") + "shutdown_grace: 1s\n")
	h.start()
	conn, err := net.Dial("unix", h.socket)
	must(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "PUT /v1/queues/orders/messages/half HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
	must(t, err)
	asked, err := bufio.NewReader(conn).ReadString('\n') // the agent is reading the body now
	if err != nil || !strings.Contains(asked, "100 Continue") {
		t.Fatalf("%q, %v", asked, err)
	}
	_, err = fmt.Fprint(conn, "half of it")
	must(t, err)
	h.signal(syscall.SIGTERM)
	h.requireExit(0, 5*time.Second)
	if len(h.logged("requests cut off at shutdown")) != 1 {
		t.Errorf("the cut is not logged:\n%s", h.log())
	}
	h.start()
	h.requireCode(3, "take", "orders") // nothing half was stored
}

func TestAnAgentThatCannotStartExitsWithAReason(t *testing.T) {
	t.Parallel()
	h := newHost(t, "fra")
	h.configure(h.begins(""))
	h.start()
	port := freePort(t)
	taken, err := net.ListenPacket("udp", port)
	must(t, err)
	defer taken.Close()
	free := newHost(t, "par")
	garbage := newHost(t, "ham")
	garbage.configure(garbage.begins(""))
	must(t, os.WriteFile(filepath.Join(garbage.dir, "identity.key"), []byte("garbage"), 0o600))
	for _, c := range []struct {
		name, config string
		code         int
		says         string
	}{
		{"no configuration", "", 1, "there is no such file"},
		{"a mistake in it", "agent: a\nqueus: {}\n", 1, "did you mean"},
		{"a spool in use", h.begins(""), 1, "another process uses this spool"},
		{"a port in use", free.begins(port), 1, "address already in use"},
		{"no identity", strings.ReplaceAll(h.begins(""), h.dir, shortTemp(t)), 1, "drawbridge init"},
		{"a key that is none", garbage.begins(""), 1, "identity key"},
	} {
		path := filepath.Join(shortTemp(t), "drawbridge.yaml")
		if c.config != "" {
			must(t, os.WriteFile(path, []byte(c.config), 0o600))
		}
		out := runProgram(t, program, "run", "--config", path)
		if out.code != c.code || !strings.Contains(out.stderr, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", c.name, out.code, c.code, c.says, out.stderr)
		}
	}
	h.requireCode(2, "run", "now")
	h.requireCode(2, "run", "--for-ever")
	h.require("put", "orders", "the one that runs is not harmed")
}
