package config

import (
	"fmt"
	"time"

	"drawbridge/link"
	"drawbridge/message"
)

// placed is a value with its place, for checks that compare one part of the file with another.
type placed[T any] struct {
	place
	value T
}

// linkEntry is one link as it stands in the file. Values that are wrong, and reported, are left out; names of queues are
// kept whatever they are.
type linkEntry struct {
	place
	name          string
	peerIDs       []placed[link.Pin]
	addresses     []placed[string]
	send          []sendEntry
	receive       []placed[string]
	idleHeartbeat time.Duration
	// waits says that no address is given, idle that neither send nor receive is. What is given and wrong counts as given.
	waits, idle bool
}

// sendEntry is one route; from and to are empty if they are wrong.
type sendEntry struct {
	place
	from, to placed[string]
	name     placed[string]
	retryFor time.Duration
}

func (l linkEntry) config() Link {
	c := Link{IdleHeartbeat: l.idleHeartbeat}
	for _, id := range l.peerIDs {
		c.PeerIDs = append(c.PeerIDs, id.value)
	}
	for _, address := range l.addresses {
		c.Addresses = append(c.Addresses, address.value)
	}
	for _, s := range l.send {
		c.Send = append(c.Send, Send{From: s.from.value, To: s.to.value, Name: s.name.value, RetryFor: s.retryFor})
	}
	for _, to := range l.receive {
		c.Receive = append(c.Receive, Receive{To: to.value})
	}
	return c
}

// links returns all links in the order of the file.
func (r *reader) links(n node) []linkEntry {
	var links []linkEntry
	for _, e := range r.entries(n, "nyc: {peer_id: 3Q7K-…, send: [{from: orders, to: orders}]}") {
		if message.CheckQueue(e.key) != nil {
			r.report(e.at, "link name %q: not allowed, use 1 to %d of a-z 0-9 . _ - and begin with a letter or digit, and do not end in %s",
				clip(e.key), message.MaxQueueNameBytes, message.DeadSuffix)
		}
		links = append(links, r.link(e))
	}
	return links
}

// An idle link is probed at least once a minute: less often, it could not be told from a dead one.
const (
	leastIdleHeartbeat = 100 * time.Millisecond
	mostIdleHeartbeat  = time.Minute
)

func (r *reader) link(e entry) linkEntry {
	l := linkEntry{place: e.at, name: e.key}
	f := r.fields(e.value, linkKeys)
	l.peerIDs = r.peerIDs(f, e)
	l.waits = !given(f["addresses"]) && e.value.isMapping()
	for _, item := range r.items(f["addresses"], "[nyc-1.example.net:4747]") {
		address := placed[string]{place: item.place}
		if r.address(item, &address.value, checkDial) {
			l.addresses = append(l.addresses, address)
		}
	}
	l.idle = !given(f["send"]) && !given(f["receive"]) && e.value.isMapping()
	for _, item := range r.items(f["send"], "[{from: orders, to: orders}]") {
		l.send = append(l.send, r.send(item, l.name))
	}
	for _, item := range r.items(f["receive"], "[{to: orders}]") {
		l.receive = append(l.receive, r.receive(item))
	}
	r.duration(f["idle_heartbeat"], &l.idleHeartbeat, leastIdleHeartbeat, mostIdleHeartbeat)
	return l
}

// given says whether a list holds something, or something stands where it should.
func given(n node) bool { return len(n.items) > 0 || n.kind == scalar || n.kind == mapping }

func (r *reader) peerIDs(f map[string]node, e entry) []placed[link.Pin] {
	one, several := f["peer_id"], f["peer_ids"]
	var nodes []node
	switch {
	case one.kind != absent && several.kind != absent:
		r.report(several.place, "peer_id and peer_ids are both given, write all identities in peer_ids")
		return nil
	case one.kind != absent:
		nodes = []node{one}
	case several.kind != absent:
		nodes = r.items(several, "[3Q7K-…, 5RWD-…]")
		if (several.kind == list || several.kind == empty) && (len(nodes) < 1 || len(nodes) > 2) {
			r.report(several.place, "%d identities, want one, or two while the peer changes its key", len(nodes))
		}
	case e.value.isMapping():
		r.report(e.at, "peer_id is missing; the other host prints it with `drawbridge identity show`")
	}
	var ids []placed[link.Pin]
	for _, n := range nodes {
		var text string
		if !r.text(n, &text) {
			continue
		}
		pin, err := link.ParsePin(text)
		if err != nil {
			r.report(n.place, "%v", err)
			continue
		}
		ids = append(ids, placed[link.Pin]{n.place, pin})
	}
	return ids
}

// leastRetryFor gives a link the time to be dialled anew some times before a message is given up: less would turn the first
// lost packets into dead letters.
const leastRetryFor = time.Minute

// maxRouteName is what a frame can carry.
const maxRouteName = 128

func (r *reader) send(n node, linkName string) sendEntry {
	s := sendEntry{place: n.place}
	f := r.fields(n, sendKeys)
	if n.kind == mapping {
		r.required(f, "from", n.place, "orders")
		r.required(f, "to", n.place, "orders")
	}
	s.from, s.to = r.queueName(f["from"]), r.queueName(f["to"])
	r.duration(f["retry_for"], &s.retryFor, leastRetryFor, noLimit)

	s.name = placed[string]{n.place, linkName + "/" + s.to.value}
	if f["name"].kind != absent {
		s.name.place = f["name"].place
		if r.text(f["name"], &s.name.value) && message.CheckQueue(s.name.value) != nil {
			r.report(s.name.place, "route name %q: not allowed, use 1 to %d of a-z 0-9 . _ - and begin with a letter or digit",
				clip(s.name.value), message.MaxQueueNameBytes)
		}
	} else if len(s.name.value) > maxRouteName {
		r.report(n.place, "the route's name %s has more than %d bytes, give it one with `name`", clip(s.name.value), maxRouteName)
	}
	return s
}

func (r *reader) receive(n node) placed[string] {
	f := r.fields(n, receiveKeys)
	if n.kind == mapping {
		r.required(f, "to", n.place, "orders")
	}
	return r.queueName(f["to"])
}

// queueName returns the name of a queue here or at the peer; empty if it cannot be one.
func (r *reader) queueName(n node) placed[string] {
	name := placed[string]{place: n.place}
	if r.text(n, &name.value) {
		if err := message.CheckQueue(name.value); err != nil {
			r.report(n.place, "%v", err)
			name.value = ""
		}
	}
	return name
}

// first remembers where each value stood first.
type first map[string]place

// again reports whether key was seen before, and where.
func (f first) again(key string, at place) (earlier place, twice bool) {
	if earlier, twice = f[key]; !twice {
		f[key] = at
	}
	return earlier, twice
}

func (p place) String() string { return fmt.Sprintf("%s in line %d", p.path, p.line) }
