package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestASecondAgentOnADataDirectoryIsTurnedAway(t *testing.T) {
	t.Parallel()
	h := newHost(t, "fra")
	h.configure(h.begins(""))
	h.start()
	second := &host{t: t, name: h.name, dir: h.dir, configPath: filepath.Join(h.dir, "second.yaml"), socket: filepath.Join(h.dir, "second.sock")}
	second.configure(second.begins(""))
	out := second.run("run")
	if out.code != 1 || !strings.Contains(out.stderr, "another process uses this spool") || !strings.Contains(out.stderr, h.dir) {
		t.Errorf("exit code %d: %s", out.code, out.stderr)
	}
	h.require("put", "orders", "the first one goes on")
}
