package config

import (
	"fmt"
	"slices"
	"time"

	"drawbridge/dedupe"
)

// Announced is what a peer has told a running agent of one way in.
type Announced struct {
	// Peer is the identity of the peer, as text; Queue the queue here that it ships into.
	Peer, Queue string
	// Horizon is the longest it may retry one message. 0 means for ever.
	Horizon time.Duration
}

// Refusals returns a problem for each way in that c, read from file, would refuse a peer after what it has announced: the
// queue goes by ids, and they cannot be promised for as long as the peer may retry. A problem has no line.
func (c *Config) Refusals(file string, announced []Announced) Errors {
	var problems Errors
	for _, a := range announced {
		link, i := c.wayIn(a)
		if i < 0 {
			continue
		}
		if _, err := dedupe.Promise(a.Horizon, c.LedgerMaxWindow); err != nil {
			problems = append(problems, Problem{
				File: file,
				Path: fmt.Sprintf("links.%s.receive[%d].to", link, i),
				Text: fmt.Sprintf("queue %q goes by ids, and the route of the running peer would be refused: %v", a.Queue, err),
			})
		}
	}
	return problems
}

// GoesByIDs tells whether the way in exists in c and leads into a queue that goes by ids.
func (c *Config) GoesByIDs(a Announced) bool {
	_, i := c.wayIn(a)
	return i >= 0
}

// wayIn returns the link and the place among its rights of a way into a queue that goes by ids; less than 0 if there is none.
// A peer is known by its identity, because a link may have been given another name.
func (c *Config) wayIn(a Announced) (link string, i int) {
	for _, name := range c.LinkNames() {
		l := c.Links[name]
		for _, pin := range l.PeerIDs {
			if pin.String() == a.Peer && c.Queues[a.Queue].ByIDs {
				return name, slices.Index(l.Receive, Receive{To: a.Queue})
			}
		}
	}
	return "", -1
}
