package agenttest

import (
	"drawbridge/api"
	"drawbridge/config"
)

// Configure changes the configuration with which the agent starts next. Call it while the agent does not run.
func (h *Host) Configure(change func(*config.Config)) { change(h.cfg) }

// Send returns the state of the one way out of a link.
func (h *Host) Send(name string) api.LinkRoute {
	for _, l := range h.agent.Links() {
		if l.Name == name && len(l.Sends) == 1 {
			return l.Sends[0]
		}
	}
	h.t.Fatalf("link %q has no single way out", name)
	return api.LinkRoute{}
}
