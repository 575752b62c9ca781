package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What an idle agent may cost. The kernel counts a process's time in ticks of 10 ms.
const (
	idleBytes       = 64 << 20
	idleTicksMinute = 30
)

// TestAnIdleAgentCostsNextToNothing measures for a minute when DRAWBRIDGE_TRIAL=long, else for ten seconds.
func TestAnIdleAgentCostsNextToNothing(t *testing.T) {
	t.Parallel()
	span := 10 * time.Second
	if os.Getenv("DRAWBRIDGE_TRIAL") == "long" {
		span = time.Minute
	}
	p := newPair(t)
	p.start()
	p.fra.require("put", "orders", "before")
	p.nyc.requireTaken("orders", "before\n")
	// from here on nobody calls either agent
	hosts := []*host{p.fra, p.nyc}
	var before [2]int
	for i, h := range hosts {
		before[i] = h.ticks()
	}
	time.Sleep(span) // what is measured is that time passes
	for i, h := range hosts {
		used, allowed := h.ticks()-before[i], int(idleTicksMinute*span/time.Minute)
		held := h.anonymousBytes()
		t.Logf("agent %s: %d ticks in %s, RssAnon %d KiB", h.name, used, span, held>>10)
		if used > allowed {
			t.Errorf("agent %s took %d ticks in %s, may take %d", h.name, used, span, allowed)
		}
		if held > idleBytes {
			t.Errorf("agent %s holds %d bytes of anonymous memory, may hold %d", h.name, held, idleBytes)
		}
	}
}

// ticks is the processor time that the agent has used, in user and in system mode.
func (h *host) ticks() int {
	h.t.Helper()
	stat := h.proc("stat")
	// the name of the command is in parentheses and may hold spaces; utime and stime are fields 14 and 15 of the whole
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	total := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		must(h.t, err)
		total += n
	}
	return total
}

// anonymousBytes is the memory of the agent that no file backs.
func (h *host) anonymousBytes() int {
	h.t.Helper()
	_, after, found := strings.Cut(h.proc("status"), "RssAnon:")
	fields := strings.Fields(after)
	if !found || len(fields) < 2 || fields[1] != "kB" {
		h.t.Fatal("no RssAnon in the status of the process")
	}
	n, err := strconv.Atoi(fields[0])
	must(h.t, err)
	return n << 10
}

func (h *host) proc(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", h.process.cmd.Process.Pid, name))
	must(h.t, err)
	return string(text)
}
