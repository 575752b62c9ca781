package agent_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent"
	"drawbridge/agent/agenttest"
	"drawbridge/api"
	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/link/quic"
	"drawbridge/spool"
)

// host is an agent that runs on a network in memory, in a bubble.
type host struct {
	*agent.Agent
	stop func()
}

// newConfig is an agent's configuration with an identity in dir.
func newConfig(t *testing.T, name, dir string) (*config.Config, link.Pin) {
	t.Helper()
	id, err := quic.CreateIdentity(agent.IdentityPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	return &config.Config{
		Agent:             name,
		DataDir:           dir,
		Queues:            map[string]spool.QueueOptions{"orders": {}, "refunds": {}},
		Links:             map[string]config.Link{},
		LedgerMemoryBytes: 1 << 20,
		LedgerMaxBytes:    1 << 30,
		ShutdownGrace:     time.Second,
	}, id.Pin()
}

// run starts an agent. The bubble must not end before it is stopped.
func run(t *testing.T, n *agenttest.Network, cfg *config.Config) *host {
	t.Helper()
	a, err := agent.New(cfg, hclog.NewNullLogger(), agent.Host{
		ListenPacket: func(addr string) (net.PacketConn, error) { return n.Listen(addr) },
		Version:      "v0",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return &host{a, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("agent %s: %v", cfg.Agent, err)
		}
	}}
}

// put stores n messages in queue.
func (h *host) put(t *testing.T, queue, prefix string, n int) {
	t.Helper()
	var puts []spool.Put
	for _, id := range agenttest.Names(prefix, n) {
		puts = append(puts, spool.Put{Queue: queue, ID: id, Body: []byte("body")})
	}
	results, err := h.Spool().Put(t.Context(), puts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status != spool.Stored {
			t.Fatalf("put %s: %+v", r.ID, r)
		}
	}
}

// get asks the agent's monitor.
func (h *host) get(path string) (status int, body string) { return ask(h.Monitor(), "GET", path) }

func ask(handler http.Handler, method, path string) (status int, body string) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("")))
	return w.Code, w.Body.String()
}

// check returns the verdict on one part.
func (h *host) check(t *testing.T, part string) api.HealthCheck {
	t.Helper()
	for _, c := range h.Health().Checks {
		if c.Name == part {
			return c
		}
	}
	t.Fatalf("no part %q", part)
	return api.HealthCheck{}
}

// until waits, at most limit, until what holds.
func until(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for waited := time.Duration(0); !holds(); waited += 100 * time.Millisecond {
		if waited >= limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
