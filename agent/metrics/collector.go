package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drawbridge/link"
)

// Bounds of what has series of its own: whoever stores them pays for each, for as long as he keeps them. What is left out is
// the last by name, so that a queue does not come and go.
const (
	MaxQueues   = 1000
	MaxLinks    = 200
	MaxRoutes   = 1000
	MaxReceives = 1000
)

// Collector reads a Source at each look. It holds no number between two of them and is safe for concurrent use.
type Collector struct {
	source   Source
	agent    agentFamilies
	queues   queueFamilies
	links    linkFamilies
	routes   routeFamilies
	receives receiveFamilies
	ledger   ledgerFamilies
	spool    spoolFamilies
	omitted  family
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of s.
func NewCollector(s Source) *Collector {
	return &Collector{
		source:   s,
		agent:    newAgentFamilies(),
		queues:   newQueueFamilies(),
		links:    newLinkFamilies(),
		routes:   newRouteFamilies(),
		receives: newReceiveFamilies(),
		ledger:   newLedgerFamilies(),
		spool:    newSpoolFamilies(),
		omitted:  gauge("omitted_series", "Queues, links, routes and receives that have no series of their own, because there are too many.", "of"),
	}
}

// Describe implements prometheus.Collector. It describes nothing, which makes the registry check each look instead: what
// there is to tell follows from the configuration.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.agent.collect(c.source, out)
	c.spool.collect(c.source.Spool(), out)
	c.ledger.collect(c.source.Ledger(), c.source.LedgerMemoryBytes, c.source.LedgerDiskBytes, out)

	queues := atMost(c, MaxQueues, "queues", c.source.Queues(), out)
	c.queues.collect(queues, out)

	links := atMost(c, MaxLinks, "links", c.source.Links(), out)
	c.links.collect(links, time.Now(), out)
	routes, receives := ways(links)
	c.routes.collect(atMost(c, MaxRoutes, "routes", routes, out), out)
	c.receives.collect(atMost(c, MaxReceives, "receives", receives, out), out)
}

// atMost cuts all to its first ones and tells how many it left out.
func atMost[T any](c *Collector, most int, of string, all []T, to chan<- prometheus.Metric) []T {
	shown := all[:min(len(all), most)]
	to <- c.omitted.sample(float64(len(all)-len(shown)), of)
	return shown
}

// ways returns what leaves and what comes in over links.
func ways(links []link.Status) (routes []out, receives []in) {
	for _, l := range links {
		for _, s := range l.Sends {
			routes = append(routes, out{l.Name, s})
		}
		for _, r := range l.Receives {
			receives = append(receives, in{l.Name, r})
		}
	}
	return routes, receives
}
