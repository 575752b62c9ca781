package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"drawbridge/api"
	"drawbridge/client"
)

func TestLevelsChangeWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	h := newHost(t, "fra")
	h.configure(h.begins("") + "log: { format: json, level: warn, levels: { api: info } }\n")
	h.start()
	if len(h.logged("agent started")) != 0 || len(h.logged("local API is up")) != 1 {
		t.Errorf("the levels of the configuration do not hold:\n%s", h.log())
	}
	var log api.Log
	h.runJSON(&log, "log", "debug", "link")
	h.runJSON(&log, "log")
	if log.Levels["link"] != "debug" || log.Levels["api"] != "info" || log.Levels["spool"] != "warn" {
		t.Errorf("levels %v", log.Levels)
	}
	h.runJSON(&log, "log", "default")
	if log.Levels["link"] != "warn" || log.Levels["api"] != "info" {
		t.Errorf("levels %v", log.Levels)
	}
	if table := h.require("log"); !regexp.MustCompile(`(?m)^spool +warn$`).MatchString(table) {
		t.Errorf("shown as\n%s", table)
	}
	h.requireCode(4, "log", "loud")
	h.requireCode(4, "log", "debug", "lnik")
	h.requireCode(2, "log", "debug", "link", "nyc")
	h.stop()
	h.requireCode(6, "log")
	for line := range strings.Lines(h.log()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(h.logged("log level changed")) != 2 {
		t.Errorf("changes are not logged:\n%s", h.log())
	}
}

// A canary in every part of a message that is its owner's alone: none may sing in a log, whatever the level, on either host.
func TestBodiesHeadersAndKeysAreNeverLogged(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			for _, h := range []*host{p.fra, p.nyc} {
				h.extend("log: { level: trace, format: " + format + " }\n")
			}
			p.start()
			const canary = "canary-7f3a"
			for i := range 50 {
				_, err := p.fra.client.Put(t.Context(), "orders", client.Message{
					ID:      fmt.Sprint("m-", i),
					Key:     canary + "-key",
					Headers: map[string]string{"authorization": canary + "-header"},
					Body:    []byte(canary + "-body"),
				})
				must(t, err)
			}
			// what is refused is not logged either: another body under an id, a header and a query that are not allowed
			p.fra.requireCode(4, "put", "orders", canary+"-other", "--id", "m-1")
			p.fra.requireCode(4, "put", "ordres", canary+"-nowhere")
			p.fra.requireCode(4, "ack", canary+"-receipt")
			if body := p.nyc.require("take", "orders"); !strings.Contains(body, canary) {
				t.Errorf("took %q", body)
			}
			p.nyc.kill() // while more is on its way
			p.fra.require("put", "orders", canary+"-late")
			p.nyc.start()
			p.requireUp()
			eventually(t, upGrace, func() string {
				if route := p.fra.link().Sends[0]; route.Queued != 0 {
					return fmt.Sprintf("%d messages have not left", route.Queued)
				}
				return ""
			})
			for _, h := range []*host{p.fra, p.nyc} {
				h.stop()
				if lines := h.logged("canary"); len(lines) != 0 {
					t.Errorf("agent %s has logged %q", h.name, lines)
				}
				key, err := os.ReadFile(h.dir + "/identity.key")
				must(t, err)
				secret := strings.Split(strings.TrimSpace(string(key)), "\n")[1]
				if len(secret) < 40 || len(h.logged(secret)) != 0 {
					t.Errorf("agent %s has logged its key, or the key is not where it was", h.name)
				}
			}
		})
	}
}

func TestTheMemoryLimitIsTheConfigurationsUnlessTheEnvironmentHasOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ environment, configuration, logged string }{
		{"GOMEMLIMIT=200MiB", "memory_limit: 100MiB\n", "memory limit: limit=200MiB from=GOMEMLIMIT"},
		{"A=b", "memory_limit: 100MiB\n", "memory limit: limit=100.0MiB from=memory_limit"},
		{"A=b", "", ""},
	} {
		h := newHost(t, "fra")
		h.configure(h.begins("") + c.configuration)
		m := newManager(t)
		m.launch(h, c.environment)
		m.next("READY=1", startGrace)
		lines := h.logged("memory limit")
		if c.logged == "" && len(lines) == 0 {
			continue
		}
		if len(lines) != 1 || !strings.Contains(lines[0], c.logged) {
			t.Errorf("%s and %q: logged %q", c.environment, c.configuration, lines)
		}
	}
}
