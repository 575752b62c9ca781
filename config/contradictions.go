package config

import (
	"maps"
	"slices"
	"strings"

	"drawbridge/spool"
)

// contradictions reports parts of the file that are right alone and wrong together.
func (r *reader) contradictions(c *Config, queues []queueEntry, links []linkEntry, f map[string]node) {
	// A queues section that is no mapping is reported already: every queue would be missing.
	if k := f["queues"].kind; k != scalar && k != list {
		r.missingQueues(c.Queues, links)
	}
	r.misplacedQueues(queues, links)
	r.idleLinks(links)
	r.unreachableLinks(f["listen"], links)
	r.sharedPeers(links)
	r.sharedAddresses(c.Listen, links)
	r.sharedRoutes(links)
	for _, l := range links {
		r.echoes(l)
	}
}

func (r *reader) missingQueues(queues map[string]spool.QueueOptions, links []linkEntry) {
	names := slices.Sorted(maps.Keys(queues))
	there := "no queue at all"
	if len(names) > 0 {
		there = clip(strings.Join(names, ", "))
	}
	look := func(name placed[string]) {
		if _, ok := queues[name.value]; ok || name.value == "" {
			return
		}
		r.suggest(name.place, nearest(name.value, names), "there is no queue %q under `queues`, which holds: %s", name.value, there)
	}
	for _, l := range links {
		for _, s := range l.send {
			look(s.from)
		}
		for _, to := range l.receive {
			look(to)
		}
	}
}

func (r *reader) idleLinks(links []linkEntry) {
	for _, l := range links {
		if l.idle {
			r.report(l.place, "neither send nor receive is given: nothing would ever pass")
		}
	}
}

func (r *reader) unreachableLinks(listen node, links []linkEntry) {
	listens := slices.ContainsFunc(listen.entries, func(e entry) bool { return e.key == "link" })
	if listens || listen.kind == scalar || listen.kind == list {
		return
	}
	for _, l := range links {
		if l.waits {
			r.report(l.place, "no addresses to dial and no listen.link to be dialled at: neither side could ever connect")
		}
	}
}

func (r *reader) sharedPeers(links []linkEntry) {
	seen := make(first)
	for _, l := range links {
		for _, id := range l.peerIDs {
			if earlier, twice := seen.again(id.value.String(), id.place); twice {
				r.report(id.place, "the same identity as %s; one peer has one link", earlier)
			}
		}
	}
}

func (r *reader) sharedAddresses(listen Listen, links []linkEntry) {
	seen := make(first)
	for _, l := range links {
		for _, address := range l.addresses {
			if strings.EqualFold(address.value, listen.Link) {
				r.report(address.place, "this is the agent's own listen.link, give the peer's address")
				continue
			}
			if earlier, twice := seen.again(strings.ToLower(address.value), address.place); twice {
				r.report(address.place, "the same address as %s", earlier)
			}
		}
	}
}

// sharedRoutes reports queues that leave by two routes, names that two routes of a link share, and rights that are given
// twice.
func (r *reader) sharedRoutes(links []linkEntry) {
	queues := make(first)
	for _, l := range links {
		names, rights := make(first), make(first)
		for _, s := range l.send {
			if s.from.value != "" {
				if earlier, twice := queues.again(s.from.value, s.from.place); twice {
					r.report(s.from.place, "queue %q leaves already by %s; in this version a queue has one route", s.from.value, earlier)
					continue
				}
			}
			if s.to.value != "" {
				if earlier, twice := names.again(s.name.value, s.name.place); twice {
					r.report(s.name.place, "the route's name %q is that of %s; give each an own `name`", clip(s.name.value), earlier)
				}
			}
		}
		for _, to := range l.receive {
			if to.value == "" {
				continue
			}
			if earlier, twice := rights.again(to.value, to.place); twice {
				r.report(to.place, "queue %q is given already by %s", to.value, earlier)
			}
		}
	}
}

// echoes reports queues that a peer ships into and that are shipped to the same peer: every message would go back to where
// it came from, and die there as a loop.
func (r *reader) echoes(l linkEntry) {
	for _, to := range l.receive {
		i := slices.IndexFunc(l.send, func(s sendEntry) bool { return s.from.value == to.value && to.value != "" })
		if i >= 0 {
			r.report(to.place, "queue %q is sent back to the same peer by %s: its messages would go in a loop", to.value, l.send[i].from)
		}
	}
}
