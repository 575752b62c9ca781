package config

// misplacedQueues reports queues whose engine or dedupe cannot keep what the links ask of them.
func (r *reader) misplacedQueues(queues []queueEntry, links []linkEntry) {
	leaves, arrives := ways(links)
	for _, q := range queues {
		out, isRouted := leaves[q.name]
		in, isReceived := arrives[q.name]
		isVolatile := q.engine.value == engineMemory
		if isVolatile && isRouted {
			r.report(q.engine.place, "queue %q leaves by %s: what a restart forgets cannot be carried, and no transaction spans two engines; write `engine: bolt`, or take that route out",
				q.name, out)
		}
		if isVolatile && isReceived {
			r.report(q.engine.place, "queue %q is shipped into by %s: a peer must not be told `accepted` for what a restart forgets; write `engine: bolt`, or take that right away",
				q.name, in)
		}
		// What is inherited from `defaults` is meant for the queues that it can serve.
		if q.dedupe.value != dedupeIDs || !q.ownDedupe || isReceived {
			continue
		}
		switch {
		case isVolatile:
			r.report(q.dedupe.place, "queue %q is volatile: nothing arrives there from a peer, so `ids` would judge nothing; leave it out", q.name)
		case isRouted:
			r.report(q.dedupe.place, "queue %q leaves by %s, and no `receive` names it: nothing arrives that `ids` could judge; write it for queue %q at the peer",
				q.name, out, target(links, q.name))
		}
	}
}

// ways tells for each queue where the file first lets it leave, and where it first lets a peer ship into it.
func ways(links []linkEntry) (leaves, arrives first) {
	leaves, arrives = make(first), make(first)
	for _, l := range links {
		for _, s := range l.send {
			leaves.again(s.from.value, s.from.place)
		}
		for _, to := range l.receive {
			arrives.again(to.value, to.place)
		}
	}
	return leaves, arrives
}

// target returns the queue at the peer that a queue leaves for.
func target(links []linkEntry, queue string) string {
	for _, l := range links {
		for _, s := range l.send {
			if s.from.value == queue {
				return s.to.value
			}
		}
	}
	return ""
}
