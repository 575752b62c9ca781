package agent_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent"
	"drawbridge/agent/agenttest"
	"drawbridge/config"
)

// start runs an agent in real time, with its monitor on a free port.
func start(t *testing.T, token string) (url string) {
	t.Helper()
	n := agenttest.NewNetwork(1, agenttest.Faults{})
	cfg, _ := newConfig(t, "a", t.TempDir())
	cfg.Listen = config.Listen{Link: agenttest.AddrA, Metrics: "127.0.0.1:0", MetricsTokenFile: token}
	h := run(t, n, cfg)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		h.stop()
		n.Close()
	})
	return "http://" + h.MonitorAddr().String()
}

func fetch(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func TestMonitorTellsWhoeverMayAsk(t *testing.T) {
	url := start(t, "")
	for path, want := range map[string]string{
		"/livez":        "alive",
		"/readyz":       "ready",
		"/health":       `"verdict":"takes messages; all parts are well"`,
		"/metrics":      `drawbridge_queue_messages{queue="orders"} 0`,
		"/metrics.json": `"name":"drawbridge_queue_messages"`,
	} {
		if status, body := fetch(t, url+path, ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := fetch(t, url+"/metrics", ""); status != http.StatusOK || !strings.Contains(body, "process_open_fds") || !strings.Contains(body, "go_goroutines") {
		t.Errorf("process and runtime are not told: %d", status)
	}
}

func TestMonitorWithAToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := start(t, path)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "other": http.StatusUnauthorized, "s3cret": http.StatusOK} {
		if status, _ := fetch(t, url+"/metrics", token); status != want {
			t.Errorf("with token %q: %d, want %d", token, status, want)
		}
	}
}

// Without the token that it should ask for, the agent does not start: it would let everybody in.
func TestATokenThatIsMissingKeepsTheAgentFromStarting(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, empty + ".not-there"} {
		n := agenttest.NewNetwork(1, agenttest.Faults{})
		cfg, _ := newConfig(t, "a", t.TempDir())
		cfg.Listen = config.Listen{Link: agenttest.AddrA, Metrics: "127.0.0.1:0", MetricsTokenFile: path}
		_, err := agent.New(cfg, hclog.NewNullLogger(), agent.Host{ListenPacket: func(addr string) (net.PacketConn, error) { return n.Listen(addr) }})
		if err == nil || !strings.HasPrefix(err.Error(), "listen.metrics_token_file: ") {
			t.Errorf("%s: %v", path, err)
		}
		n.Close()
	}
}

// Programs that try any queue and link there could be, and a peer that ships into a hundred that are not there, leave the
// series as they are.
func TestNamesFromOutsideBecomeNoSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var strange []string
		for i := range 100 {
			strange = append(strange, fmt.Sprintf("strange-%d", i))
		}
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: time.Millisecond})
		defer n.Close()
		a, b := pair(t, n, strange...)
		defer a.stop()
		defer b.stop()
		until(t, soon, "the link is up", func() bool { return b.check(t, "link a").OK })
		before := series(b)
		for _, queue := range strange {
			a.put(t, queue, "message", 1)
		}
		tries := 50_000
		if testing.Short() {
			tries = 2000
		}
		for i := range tries {
			queue := fmt.Sprintf("tried-%d", i)
			ask(b.API(), "PUT", "/v1/queues/"+queue+"/messages/a")
			ask(b.API(), "GET", "/v1/links/"+queue)
		}
		until(t, soon, "every strange queue is refused", func() bool {
			for _, l := range a.Links() {
				for _, route := range l.Sends {
					if route.From != "orders" && route.State != "held" {
						return false
					}
				}
			}
			return true
		})
		after := series(b)
		if len(after) != len(before) {
			t.Errorf("%d series, before %d", len(after), len(before))
		}
		for name := range after {
			if strings.Contains(name, "tried-") || strings.Contains(name, "strange-") {
				t.Errorf("a name from outside is told: %s", name)
			}
		}
	})
}

// series returns the names and labels of all that an agent tells.
func series(h *host) map[string]bool {
	all := make(map[string]bool)
	_, text := h.get("/metrics")
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "drawbridge_") {
			all[name] = true
		}
	}
	return all
}
