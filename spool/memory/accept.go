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
	configured = configured && !spool.IsDead(a.Queue)
	arrivals := make([]*arrival, len(a.Messages))
	if configured {
		for i := range a.Messages {
			arrivals[i] = s.arrival(&a, &a.Messages[i], options)
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
				decisions[i] = b.decide(s.queues[a.Queue], arrivals[i])
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

// arrival is a shipped message, or the Close of one, on its way in.
type arrival struct {
	*candidate
	prev  message.Place
	age   int64 // milliseconds
	again bool
	close *spool.Close // nil for a message that is shipped
	// refusal is what speaks against the message itself, should it be new.
	refusal error
}

// arrival does all that needs no mutex.
func (s *Store) arrival(a *spool.Arrivals, in *spool.Arrival, options spool.QueueOptions) *arrival {
	shipped := &arrival{prev: in.Prev, age: in.Age.Milliseconds(), again: in.Again, close: in.Close}
	switch {
	case in.Unreadable != nil:
		shipped.candidate, shipped.refusal = &candidate{}, in.Unreadable // without a name it is known to nobody
	case in.Close != nil:
		shipped.candidate = &candidate{name: in.Close.Name, key: s.hasher.Key(a.Queue, in.Close.Name), sum: in.Close.Sum}
	default:
		m := in.Message
		m.Deliveries = 0 // they count the consumers of one queue, and this is another
		shipped.candidate = s.candidate(a.Queue, &m)
		shipped.promised = options.ByIDs
		shipped.refusal = options.Refusal(&m, s.options.Agent)
	}
	shipped.place = message.Place{Stream: a.Stream, Number: in.Number}
	return shipped
}

// decide decides one arrival and sees what the ones before it did.
func (b *batch) decide(q *queue, a *arrival) spool.Decision {
	s, key := b.store, frontierKey{a.place.Stream, q.stats.Name}
	reach := s.ledger.reachOf(q, b.now)
	reason, shut := s.numbers[key][a.place.Number]
	c := dedupe.Case{
		Close:        a.close != nil,
		Number:       a.place.Number,
		Frontier:     s.frontiers[key],
		Closed:       shut,
		Prev:         a.prev,
		PrevFrontier: s.frontiers[frontierKey{a.prev.Stream, q.stats.Name}],
		Key:          a.key,
		Sum:          a.sum,
		Young:        a.age < reach,
		Again:        a.again,
		ByIDs:        q.byIDs,
	}
	s.lookUp(&c, q, a)
	switch ruling := dedupe.Judge(c); ruling {
	case dedupe.Admit:
		if a.refusal != nil {
			return spool.Refuse(a.refusal)
		}
		b.take(q, a.candidate)
		s.advance(key, a.place.Number)
		q.stats.Accepted++
		return spool.Decision{Verdict: message.Accepted}
	case dedupe.Again:
		s.advance(key, a.place.Number)
		q.stats.Duplicates++
		return spool.Decision{Verdict: message.Duplicate}
	case dedupe.Duplicate:
		q.stats.Duplicates++
		return spool.Decision{Verdict: message.Duplicate}
	case dedupe.Below:
		q.stats.Duplicates++
		return spool.Decision{Verdict: message.Below, Young: c.Young}
	case dedupe.Closed:
		return spool.Decision{Verdict: message.Closed, Reason: reason, Young: c.Young}
	case dedupe.Shut:
		s.advance(key, a.place.Number)
		s.numbers.note(key, a.place.Number, a.close.Reason)
		return spool.Decision{Verdict: message.Closed, Reason: a.close.Reason, Young: c.Young}
	case dedupe.Early:
		return spool.Decision{Verdict: message.Undecided}
	case dedupe.Conflict:
		return spool.Refuse(spool.ErrConflict)
	case dedupe.Unsure:
		return spool.Refuse(a.tooOld(spool.ErrInDoubt, reach))
	case dedupe.TooOld:
		return spool.Refuse(a.tooOld(spool.ErrTooOld, reach))
	case dedupe.Fork:
		return spool.Refuse(fmt.Errorf("number %d came before with other content: %w", a.place.Number, spool.ErrFork))
	default:
		panic("memory: " + ruling.String() + " is no ruling")
	}
}

// lookUp enters what the ledger knows of the arrival. What lies among the dead letters came under another number.
func (s *Store) lookUp(c *dedupe.Case, q *queue, a *arrival) {
	if k := s.ledger.find(a.key); k != nil {
		c.ByKey = &k.Entry
		if k.Place == a.place {
			c.ByPlace = &k.Entry
		}
	} else if k := s.findDead(q, a.name); k != nil {
		c.ByKey = &k.Entry
	}
}

func (s *Store) advance(key frontierKey, number uint64) {
	s.frontiers[key] = max(number, s.frontiers[key])
}

func (a *arrival) tooOld(refusal error, reach int64) error {
	return fmt.Errorf("%w: it may have come first %s ago, and every id is known for %s", refusal, duration(a.age), duration(reach))
}
