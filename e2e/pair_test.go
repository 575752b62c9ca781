package e2e_test

import (
	"fmt"
	"testing"
	"time"
)

// upGrace is how long two agents that run may take to agree on a session.
const upGrace = 15 * time.Second

// pair is two hosts with a link between them. Fra knows the address of nyc, and sends orders; nyc waits to be dialled, and
// sends refunds.
type pair struct {
	t        *testing.T
	fra, nyc *host
}

// newPair makes two hosts that are configured for each other and do not run yet.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t, newHost(t, "fra"), newHost(t, "nyc")}
	p.configure(p.nyc.peerID, p.fra.peerID)
	return p
}

// configure writes both configurations: fra expects the identity nyc, and nyc the identity fra.
func (p *pair) configure(nyc, fra string) {
	p.t.Helper()
	port := freePort(p.t)
	p.fra.configure(p.fra.begins("") + fmt.Sprintf(`links:
  nyc:
    peer_id: %s
    addresses: ["%s"]
    send: [{ from: orders, to: orders }]
    receive: [{ to: refunds }]
`, nyc, port))
	p.nyc.configure(p.nyc.begins(port) + fmt.Sprintf(`links:
  fra:
    peer_id: %s
    send: [{ from: refunds, to: refunds }]
    receive: [{ to: orders }]
`, fra))
}

// begins is a configuration up to its links. Without a port the agent only dials.
func (h *host) begins(port string) string {
	if port != "" {
		port = fmt.Sprintf("  link: %q\n", port)
	}
	return fmt.Sprintf(`agent: %s
data_dir: %s
listen:
%s  api: %s
queues:
  orders: { visibility_timeout: 1s }
  refunds: { visibility_timeout: 1s }
`, h.name, h.dir, port, h.socket)
}

// start starts both agents and returns when their link is up on both sides.
func (p *pair) start() {
	p.t.Helper()
	p.nyc.start()
	p.fra.start()
	p.requireUp()
}

// requireUp waits until the link is up on both sides.
func (p *pair) requireUp() {
	p.t.Helper()
	for _, h := range []*host{p.fra, p.nyc} {
		eventually(p.t, upGrace, func() string {
			if l := h.link(); l.State != "up" {
				return fmt.Sprintf("the link of %s is %s: %s", h.name, l.State, l.Reason)
			}
			return ""
		})
	}
}
