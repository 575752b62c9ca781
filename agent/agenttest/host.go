package agenttest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent"
	"drawbridge/api"
	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/link/quic"
	"drawbridge/spool"
)

// Host is one agent in the bubble, with its directory, which outlives the agent's crashes.
type Host struct {
	t    *testing.T
	net  *Network
	addr string
	cfg  *config.Config
	log  hclog.Logger
	// now, hook and dataConns are those of agent.Host.
	now       func() time.Time
	hook      func(point string) error
	dataConns int

	agent *agent.Agent
	stop  context.CancelFunc
	done  chan error
}

// newHost makes directory and identity; the agent does not run yet.
func newHost(t *testing.T, n *Network, name, addr string) *Host {
	t.Helper()
	return newHostIn(t, n, name, addr, t.TempDir())
}

// newHostIn is newHost with a directory that the caller removes.
func newHostIn(t *testing.T, n *Network, name, addr, dir string) *Host {
	t.Helper()
	if _, err := quic.CreateIdentity(agent.IdentityPath(dir)); err != nil {
		t.Fatal(err)
	}
	return &Host{
		t:    t,
		net:  n,
		addr: addr,
		log:  hclog.NewNullLogger(),
		cfg: &config.Config{
			Agent:             name,
			DataDir:           dir,
			Listen:            config.Listen{Link: addr},
			Queues:            map[string]spool.QueueOptions{},
			Links:             map[string]config.Link{},
			LedgerMemoryBytes: 8 << 20,
			ShutdownGrace:     5 * time.Second,
		},
	}
}

// Pin returns the host's identity.
func (h *Host) Pin() link.Pin {
	id, err := quic.LoadIdentity(agent.IdentityPath(h.cfg.DataDir))
	if err != nil {
		h.t.Fatal(err)
	}
	return id.Pin()
}

// Start runs the agent on what its directory holds.
func (h *Host) Start() {
	h.t.Helper()
	if err := h.TryStart(); err != nil {
		h.t.Fatalf("start agent %s: %v", h.cfg.Agent, err)
	}
}

// TryStart is Start for an agent that may fail to.
func (h *Host) TryStart() error {
	a, err := agent.New(h.cfg, h.log, agent.Host{
		ListenPacket: func(addr string) (net.PacketConn, error) { return h.net.Listen(addr) },
		Now:          h.now,
		Hook:         h.hook,
		DataConns:    h.dataConns,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.agent, h.stop, h.done = a, cancel, make(chan error, 1)
	go func() { h.done <- a.Run(ctx) }()
	return nil
}

// Stop ends the agent in the orderly way.
func (h *Host) Stop() {
	h.t.Helper()
	h.stop()
	if err := <-h.done; err != nil {
		h.t.Errorf("agent %s: %v", h.cfg.Agent, err)
	}
	h.agent = nil
}

// Crash takes the network away and ends the agent: its peer hears nothing, and what no commit holds is gone.
func (h *Host) Crash() {
	h.net.Crash(h.addr)
	h.stop()
	<-h.done // an agent without its socket may end with any error
	h.agent = nil
}

// Running reports whether the agent runs.
func (h *Host) Running() bool { return h.agent != nil }

// Spool returns the running agent's spool.
func (h *Host) Spool() spool.Store { return h.agent.Spool() }

// Links returns the states of the links by their names.
func (h *Host) Links() map[string]string {
	states := make(map[string]string)
	for _, l := range h.agent.Links() {
		states[l.Name] = l.State
	}
	return states
}

// Check returns the verdict of one part of the agent's health.
func (h *Host) Check(part string) api.HealthCheck {
	for _, c := range h.agent.Health().Checks {
		if c.Name == part {
			return c
		}
	}
	h.t.Fatalf("no check %q", part)
	return api.HealthCheck{}
}

// Receive returns the state of the one way in of a link.
func (h *Host) Receive(name string) api.LinkReceive {
	for _, l := range h.agent.Links() {
		if l.Name == name && len(l.Receives) == 1 {
			return l.Receives[0]
		}
	}
	h.t.Fatalf("link %q has no single way in", name)
	return api.LinkReceive{}
}

// AcceptClock accepts a jump of time.
func (h *Host) AcceptClock() {
	h.t.Helper()
	w := httptest.NewRecorder()
	h.agent.API().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/clock/accept", nil))
	if w.Code != http.StatusNoContent {
		h.t.Fatalf("accept the clock: %d %s", w.Code, w.Body)
	}
}

// Put stores messages one after the other and returns when the last one is stored.
func (h *Host) Put(queue string, ids ...string) {
	h.t.Helper()
	puts := make([]spool.Put, len(ids))
	for i, id := range ids {
		puts[i] = spool.Put{Queue: queue, ID: id, Body: []byte("body of " + id)}
	}
	results, err := h.Spool().Put(context.Background(), puts)
	if err != nil {
		h.t.Fatalf("put into %q of %s: %v", queue, h.cfg.Agent, err)
	}
	for _, r := range results {
		if r.Status != spool.Stored {
			h.t.Fatalf("put %s into %q of %s: status %d, %v", r.ID, queue, h.cfg.Agent, r.Status, r.Err)
		}
	}
}

// Depth returns how many messages a queue holds.
func (h *Host) Depth(queue string) uint64 {
	for _, q := range h.Spool().Stats() {
		if q.Name == queue {
			return q.Messages
		}
	}
	return 0
}

// Drain leases and acknowledges all that a queue holds and returns the ids in the order in which they were handed out.
func (h *Host) Drain(queue string) (ids []string) {
	h.t.Helper()
	ctx := context.Background()
	for {
		got, err := h.Spool().Lease(ctx, spool.LeaseRequest{Queue: queue, Max: 500})
		if err != nil {
			h.t.Fatalf("lease from %q of %s: %v", queue, h.cfg.Agent, err)
		}
		if len(got) == 0 {
			return ids
		}
		receipts := make([]spool.Receipt, len(got))
		for i, d := range got {
			if want := "body of " + d.ID; string(d.Body) != want {
				h.t.Errorf("body of %s is %q", d.ID, d.Body)
			}
			ids = append(ids, d.ID)
			receipts[i] = d.Receipt
		}
		if _, err := h.Spool().Ack(ctx, receipts); err != nil {
			h.t.Fatalf("ack %d messages of %q: %v", len(receipts), queue, err)
		}
	}
}

// Pair is two hosts and the network between them. A has B's address; B waits to be dialled. Queue "orders" goes from A to B,
// "refunds" from B to A.
type Pair struct {
	Net  *Network
	A, B *Host
}

// Addresses of the hosts of a Pair.
const (
	AddrA = "10.0.0.1:4747"
	AddrB = "10.0.0.2:4747"
)

// NewPair starts two agents in the present bubble. They stop, and their stores are closed, when the returned stop is called;
// a bubble must not end before.
func NewPair(t *testing.T, seed uint64, faults Faults) (p *Pair, stop func()) {
	t.Helper()
	n := NewNetwork(seed, faults)
	p = &Pair{Net: n, A: newHost(t, n, "a", AddrA), B: newHost(t, n, "b", AddrB)}
	for _, h := range []*Host{p.A, p.B} {
		h.cfg.Queues["orders"] = spool.QueueOptions{}
		h.cfg.Queues["refunds"] = spool.QueueOptions{}
	}
	p.A.cfg.Links["b"] = config.Link{
		PeerIDs:   []link.Pin{p.B.Pin()},
		Addresses: []string{AddrB},
		Send:      []config.Send{{From: "orders", To: "orders", Name: "b/orders"}},
		Receive:   []config.Receive{{To: "refunds"}},
	}
	p.B.cfg.Links["a"] = config.Link{
		PeerIDs: []link.Pin{p.A.Pin()},
		Send:    []config.Send{{From: "refunds", To: "refunds", Name: "a/refunds"}},
		Receive: []config.Receive{{To: "orders"}},
	}
	p.A.Start()
	p.B.Start()
	return p, func() {
		for _, h := range []*Host{p.A, p.B} {
			if h.Running() {
				h.Stop()
			}
		}
		n.Close()
	}
}

// BothDial gives B the address of A, so that both sides dial. Call it while B does not run.
func (p *Pair) BothDial() {
	l := p.B.cfg.Links["a"]
	l.Addresses = []string{AddrA}
	p.B.cfg.Links = maps.Clone(p.B.cfg.Links)
	p.B.cfg.Links["a"] = l
}

// Cut drops all packets both ways; Heal lets them pass again.
func (p *Pair) Cut() { p.Net.CutBoth(AddrA, AddrB) }

// Heal ends a Cut.
func (p *Pair) Heal() {
	p.Net.Heal(AddrA, AddrB)
	p.Net.Heal(AddrB, AddrA)
}

// WaitDrained waits, at most limit, until queue of h is empty.
func WaitDrained(t *testing.T, h *Host, queue string, limit time.Duration) {
	t.Helper()
	for waited := time.Duration(0); ; waited += 100 * time.Millisecond {
		depth := h.Depth(queue)
		if depth == 0 {
			return
		}
		if waited > limit {
			t.Fatalf("queue %q of %s still holds %d messages after %s; links %+v", queue, h.cfg.Agent, depth, limit, h.agent.Links())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Names returns n ids with a common prefix, in order.
func Names(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%06d", prefix, i)
	}
	return ids
}
