package bolt

import (
	"context"
	"fmt"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// arrival is a shipped message on its way in.
type arrival struct {
	number uint64
	prev   message.Place
	lane   uint8
	age    int64 // milliseconds
	again  bool
	name   message.EndToEnd
	// closes says that the sender wants to end the message, and reason why.
	closes bool
	reason message.Reason
	staged
	// refusal is what speaks against the message itself, should it be new.
	refusal error
}

// BeginSession implements spool.Incoming.
func (s *Store) BeginSession(ctx context.Context, peer string, session message.SessionID) (spool.Identity, error) {
	var identity spool.Identity
	err := s.commit(ctx, 0, func(t *txn) error {
		t.mem.sessions[peer] = session
		identity = t.mem.identity
		return nil
	})
	if err != nil {
		return spool.Identity{}, fmt.Errorf("begin session %s with %q: %w", session, peer, err)
	}
	return identity, nil
}

// Accept implements spool.Incoming.
func (s *Store) Accept(ctx context.Context, a spool.Arrivals) ([]spool.Decision, error) {
	options, configured := s.options.Queues[a.Queue]
	configured = configured && !spool.IsDead(a.Queue)
	arrivals := make([]*arrival, len(a.Messages))
	bytes := 0
	if configured {
		for i := range a.Messages {
			arrivals[i] = s.prepareArrival(&a, &a.Messages[i], options)
			bytes += len(arrivals[i].record)
		}
	}
	decisions := make([]spool.Decision, len(a.Messages))
	peer, session, queue, stream := a.Peer, a.Session, a.Queue, a.Stream
	ended := false
	err := s.commit(ctx, bytes, func(t *txn) error {
		inForce, ok := t.mem.sessions[peer]
		switch {
		case !ok || inForce != session:
			ended = true
		case !configured:
			for i := range decisions {
				decisions[i] = spool.Refuse(fmt.Errorf("queue %q: %w", queue, spool.ErrNoQueue))
			}
		default:
			t.accept(frontierKey{stream, queue}, arrivals, decisions)
		}
		return nil
	})
	if err == nil && ended {
		err = spool.ErrSessionEnded
	}
	if err != nil {
		return nil, fmt.Errorf("accept %d messages from %q into queue %q: %w", len(a.Messages), peer, queue, err)
	}
	return decisions, nil
}

// prepareArrival does all that needs no transaction.
func (s *Store) prepareArrival(a *spool.Arrivals, in *spool.Arrival, options spool.QueueOptions) *arrival {
	shipped := &arrival{number: in.Number, prev: in.Prev, age: in.Age.Milliseconds(), again: in.Again}
	shipped.place = message.Place{Stream: a.Stream, Number: in.Number}
	switch {
	case in.Unreadable != nil:
		shipped.refusal = in.Unreadable
		return shipped
	case in.Close != nil:
		shipped.closes = true
		shipped.name, shipped.sum, shipped.reason = in.Close.Name, in.Close.Sum, in.Close.Reason
	default:
		m := in.Message
		m.Deliveries = 0 // they count the consumers of one queue, and this is another
		shipped.name, shipped.sum, shipped.lane = m.EndToEnd(), m.ContentSum(), m.Priority
		shipped.refusal = options.Refusal(&m, s.options.Agent)
		shipped.record = message.AppendRecord(make([]byte, 0, len(m.Body)+256), &m)
		shipped.promised = options.ByIDs
	}
	shipped.key = s.hasher.Key(a.Queue, shipped.name)
	return shipped
}

// accept decides the arrivals in order; each sees what the ones before it did.
func (t *txn) accept(key frontierKey, arrivals []*arrival, decisions []spool.Decision) {
	q := t.mem.queues[key.queue]
	for i, a := range arrivals {
		decisions[i] = t.decide(q, key, a)
	}
}

func (t *txn) decide(q *queue, key frontierKey, a *arrival) spool.Decision {
	c := dedupe.Case{
		Close:        a.closes,
		Young:        a.age < t.reachOf(q.name),
		Again:        a.again,
		ByIDs:        q.options.ByIDs,
		Number:       a.number,
		Frontier:     t.frontier(key),
		Prev:         a.prev,
		PrevFrontier: t.frontier(frontierKey{a.prev.Stream, key.queue}),
		Sum:          a.sum,
	}
	closed := closedKey{key, a.number}
	var reason message.Reason
	if c.Number <= c.Frontier {
		reason, c.Closed = t.wasClosed(closed)
	}
	t.lookUp(&c, q, a)
	switch ruling := dedupe.Judge(c); ruling {
	case dedupe.Admit:
		if a.refusal != nil {
			return spool.Refuse(a.refusal)
		}
		if a.promised {
			if !t.promiseRoom() {
				return spool.Refuse(t.errLedgerFull())
			}
			t.promises++
		}
		t.stage(q, a.lane, &a.staged)
		t.advance(key, a.number)
		q.counts.accepted++
		return spool.Decision{Verdict: message.Accepted}
	case dedupe.Again:
		t.advance(key, a.number)
		q.counts.duplicates++
		return spool.Decision{Verdict: message.Duplicate}
	case dedupe.Duplicate:
		q.counts.duplicates++
		return spool.Decision{Verdict: message.Duplicate}
	case dedupe.Below:
		q.counts.duplicates++
		return spool.Decision{Verdict: message.Below, Young: c.Young}
	case dedupe.Closed:
		return spool.Decision{Verdict: message.Closed, Reason: reason, Young: c.Young}
	case dedupe.Shut:
		t.advance(key, a.number)
		t.closed[closed] = a.reason
		return spool.Decision{Verdict: message.Closed, Reason: a.reason, Young: c.Young}
	case dedupe.Early:
		return spool.Decision{Verdict: message.Undecided}
	case dedupe.Conflict:
		return spool.Refuse(spool.ErrConflict)
	case dedupe.Unsure:
		return spool.Refuse(fmt.Errorf("%w: %s", spool.ErrInDoubt, t.tooOld(q, a)))
	case dedupe.TooOld:
		return spool.Refuse(fmt.Errorf("%w: %s", spool.ErrTooOld, t.tooOld(q, a)))
	case dedupe.Fork:
		return spool.Refuse(fmt.Errorf("number %d came before with other content: %w", a.number, spool.ErrFork))
	default:
		panic("bolt: " + ruling.String() + " is no ruling")
	}
}

// tooOld says for how long an arrival may have been shipped, and how far the ledger reaches back.
func (t *txn) tooOld(q *queue, a *arrival) string {
	return fmt.Sprintf("it may have come first %s ago, and every id is known for %s", duration(a.age), duration(t.reachOf(q.name)))
}

// lookUp enters what the ledger knows of the arrival, this commit's own messages included. An entry by place is looked for
// only where the id leads: a fork in which the number came with another id is answered as a number without a row.
func (t *txn) lookUp(c *dedupe.Case, q *queue, a *arrival) {
	if a.name == (message.EndToEnd{}) {
		return // it could not be read
	}
	if first := t.byKey[a.key]; first != nil {
		c.ByKey = &dedupe.Entry{Key: first.key, Sum: first.sum, Place: first.place}
	} else if e, ok := t.find(a.key); ok {
		c.ByKey = &e
	} else {
		c.ByKey = t.findDead(q, a.name)
	}
	if c.ByKey != nil && c.ByKey.Place == a.place {
		c.ByPlace = c.ByKey
	}
}

// frontier returns the frontier with what this commit has admitted.
func (t *txn) frontier(k frontierKey) uint64 {
	if n, ok := t.frontiers[k]; ok {
		return n
	}
	return t.mem.frontiers.get(k)
}

func (t *txn) advance(k frontierKey, number uint64) {
	t.changed = true
	t.frontiers[k] = max(number, t.frontier(k))
}

// Frontier implements spool.Incoming.
func (s *Store) Frontier(stream message.StreamID, queue string) uint64 {
	return s.view.Load().frontiers.get(frontierKey{stream, queue})
}
