package agenttest

import (
	"fmt"

	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/spool"
)

// drawTopology makes the hosts, links, producers and consumers of a trial.
func (t *trial) drawTopology(d dice) {
	switch d.IntN(3) {
	case 0:
		t.pair(d)
	case 1:
		t.hub(d, 2+d.IntN(2))
	case 2:
		t.chain(d)
	}
}

// pair is two hosts with a queue each way.
func (t *trial) pair(d dice) {
	a, b := t.host("a"), t.host("b")
	t.connect(d, a, b, []flow{{a, "orders", "orders"}, {b, "refunds", "refunds"}})
	t.produce(a, "orders", 1+d.IntN(3))
	t.produce(b, "refunds", 1)
	t.consume(b, "orders", 1+d.IntN(2))
	t.consume(a, "refunds", 1)
}

// hub is one host to which several ship into one queue, and which ships to each from a queue of its own.
func (t *trial) hub(d dice, spokes int) {
	h := t.host("hub")
	for i := range spokes {
		s, down := t.host(fmt.Sprintf("spoke%d", i)), fmt.Sprintf("down-%d", i)
		t.connect(d, h, s, []flow{{s, "up", "all"}, {h, down, "down"}})
		t.produce(s, "up", 1)
		t.produce(h, down, 1)
		t.consume(s, "down", 1)
	}
	t.consume(h, "all", 1+d.IntN(2))
}

// chain is a host between two others: what arrives at it leaves by the queue into which it came.
func (t *trial) chain(d dice) {
	a, b, c := t.host("a"), t.host("b"), t.host("c")
	t.connect(d, a, b, []flow{{a, "work", "work"}, {b, "back", "back"}})
	t.connect(d, b, c, []flow{{b, "work", "work"}, {c, "back", "back"}})
	t.produce(a, "work", 1+d.IntN(2))
	t.produce(b, "work", 1)
	t.produce(c, "back", 1)
	t.consume(c, "work", 1)
	t.consume(a, "back", 1+d.IntN(2))
}

// host makes the next host; it does not run yet.
func (t *trial) host(name string) *node {
	n := newNode(t, name, fmt.Sprintf("10.0.0.%d:4747", 1+len(t.nodes)))
	t.nodes = append(t.nodes, n)
	t.operators = append(t.operators, &operator{trial: t, node: n, dice: newDice(t.seed, "operator "+name)})
	return n
}

// flow is a route from a queue of one host to a queue of the other.
type flow struct {
	by       *node
	from, to string
}

// connect gives two hosts a link; one side dials, or both do.
func (t *trial) connect(d dice, a, b *node, flows []flow) {
	dialer := d.IntN(3)
	for side, n := range []*node{a, b} {
		peer := []*node{b, a}[side]
		l := config.Link{PeerIDs: []link.Pin{peer.Pin()}, IdleHeartbeat: t.draws.idleHeartbeat}
		if dialer == side || dialer == 2 {
			l.Addresses = []string{peer.addr}
		}
		for _, f := range flows {
			if f.by == n {
				l.Send = append(l.Send, config.Send{From: f.from, To: f.to, Name: peer.name() + "/" + f.to, RetryFor: drawRetryFor(d)})
				n.queue(f.from, func(*spool.QueueOptions) {})
			} else {
				l.Receive = append(l.Receive, config.Receive{To: f.to})
				n.queue(f.to, func(o *spool.QueueOptions) { o.MaxMessageBytes = drawBodyLimit(d) })
			}
		}
		n.cfg.Links[peer.name()] = l
	}
	name := a.name() + "-" + b.name()
	t.wires = append(t.wires, &wire{trial: t, a: a, b: b, dice: newDice(t.seed, "wire "+name)})
	t.log.add("topology", "%s, dialled by %s", name, []string{a.name(), b.name(), "both"}[dialer])
}

// queue makes a queue of the host, or changes it.
func (n *node) queue(name string, change func(*spool.QueueOptions)) {
	o := n.cfg.Queues[name]
	change(&o)
	n.cfg.Queues[name] = o
}

func (t *trial) produce(n *node, queue string, count int) {
	for range count {
		i := len(t.producers)
		t.producers = append(t.producers, &producer{trial: t, at: place{n, queue}, index: i, dice: newDice(t.seed, fmt.Sprintf("producer %d", i))})
	}
}

func (t *trial) consume(n *node, queue string, count int) {
	n.queue(queue, func(o *spool.QueueOptions) { o.MaxDeliveries = t.draws.maxDeliveries })
	for range count {
		i := len(t.consumers)
		t.consumers = append(t.consumers, &consumer{trial: t, at: place{n, queue}, dice: newDice(t.seed, fmt.Sprintf("consumer %d", i))})
	}
}
