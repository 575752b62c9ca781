package memory

import (
	"context"
	"fmt"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// frontierKey names a frontier: a stream and the queue here that it enters.
type frontierKey struct {
	stream message.StreamID
	queue  string
}

// BeginSession implements spool.Incoming.
func (s *Store) BeginSession(ctx context.Context, peer string, session message.SessionID) (spool.Identity, error) {
	err := s.change(ctx, func(int64) { s.sessions[peer] = session })
	if err != nil {
		return spool.Identity{}, fmt.Errorf("begin session %s with %q: %w", session, peer, err)
	}
	return s.identity, nil
}

// Frontier implements spool.Incoming.
func (s *Store) Frontier(stream message.StreamID, queue string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frontiers[frontierKey{stream, queue}]
}

// Accept implements spool.Incoming.
func (s *Store) Accept(ctx context.Context, a spool.Arrivals) ([]spool.Decision, error) {
	options, configured := s.options.Queues[a.Queue]
	candidates := make([]*candidate, len(a.Messages))
	refusals := make([]error, len(a.Messages))
	if configured {
		for i := range a.Messages {
			m := a.Messages[i].Message
			m.Deliveries = 0 // they count the consumers of one queue, and this is another
			candidates[i] = s.candidate(a.Queue, &m)
			candidates[i].place = message.Place{Stream: a.Stream, Number: a.Messages[i].Number}
			refusals[i] = options.Refusal(&m, s.options.Agent)
		}
	}
	decisions := make([]spool.Decision, len(a.Messages))
	ended := false
	err := s.change(ctx, func(now int64) {
		inForce, ok := s.sessions[a.Peer]
		if ended = !ok || inForce != a.Session; ended {
			return
		}
		b := batch{store: s, now: now}
		for i := range a.Messages {
			if configured {
				decisions[i] = b.decide(&a, &a.Messages[i], candidates[i], refusals[i])
			} else {
				decisions[i] = spool.Refuse(fmt.Errorf("queue %q: %w", a.Queue, spool.ErrNoQueue))
			}
		}
		b.finish()
	})
	if err == nil && ended {
		err = spool.ErrSessionEnded
	}
	if err != nil {
		return nil, fmt.Errorf("accept %d messages from %q into queue %q: %w", len(a.Messages), a.Peer, a.Queue, err)
	}
	return decisions, nil
}

// decide decides one arrival and sees what the ones before it did.
func (b *batch) decide(a *spool.Arrivals, in *spool.Arrival, c *candidate, refusal error) spool.Decision {
	s, q, key := b.store, b.store.queues[a.Queue], frontierKey{a.Stream, a.Queue}
	kase := dedupe.Case{
		Number:       in.Number,
		Frontier:     s.frontiers[key],
		Prev:         in.Prev,
		PrevFrontier: s.frontiers[frontierKey{in.Prev.Stream, a.Queue}],
		Key:          c.key,
		Sum:          c.sum,
	}
	if k := s.ledger.find(c.key); k != nil {
		kase.ByKey = &k.Entry
		if k.Place == c.place {
			kase.ByPlace = &k.Entry
		}
	}
	switch ruling := dedupe.Judge(kase); ruling {
	case dedupe.Admit:
		if refusal != nil {
			return spool.Refuse(refusal)
		}
		b.take(q, c)
		s.frontiers[key] = max(in.Number, s.frontiers[key])
		q.stats.Accepted++
		return spool.Decision{Verdict: message.Accepted}
	case dedupe.Again:
		s.frontiers[key] = max(in.Number, s.frontiers[key])
		q.stats.Duplicates++
		return spool.Decision{Verdict: message.Duplicate}
	case dedupe.Duplicate:
		q.stats.Duplicates++
		return spool.Decision{Verdict: message.Duplicate}
	case dedupe.Below:
		q.stats.Duplicates++
		return spool.Decision{Verdict: message.Below}
	case dedupe.Early:
		return spool.Decision{Verdict: message.Undecided}
	case dedupe.Conflict:
		return spool.Refuse(spool.ErrConflict)
	case dedupe.Fork:
		return spool.Refuse(fmt.Errorf("number %d came before with other content, two spools number one stream: %w", in.Number, spool.ErrConflict))
	default:
		panic("memory: " + ruling.String() + " is no ruling")
	}
}
