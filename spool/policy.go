package spool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
)

// This file is what every engine has to decide in the same way before it looks at what it holds.

// defaultLeaseBytes is LeaseRequest.MaxBytes unless it is set.
const defaultLeaseBytes = 4 << 20

// PeekBytes is the size of records after which a Peek stops, which bounds what it holds in memory.
const PeekBytes = 4 << 20

// CompleteQueues returns a copy of the options of queues with the defaults filled in and a queue of dead letters beside each,
// or what is wrong with a name.
func CompleteQueues(queues map[string]QueueOptions) (map[string]QueueOptions, error) {
	complete := maps.Clone(queues)
	for name, q := range queues {
		if err := message.CheckQueue(name); err != nil {
			return nil, err
		}
		if q.VisibilityTimeout == 0 {
			q.VisibilityTimeout = DefaultVisibilityTimeout
		}
		if q.MaxDeliveries == 0 {
			q.MaxDeliveries = DefaultMaxDeliveries
		}
		if q.MaxMessageBytes == 0 {
			q.MaxMessageBytes = message.DefaultMessageBytes
		}
		if q.Remember == 0 {
			q.Remember = dedupe.DefaultWindow
		}
		complete[name] = q
		complete[message.DeadQueue(name)] = QueueOptions{
			VisibilityTimeout: q.VisibilityTimeout, MaxMessageBytes: q.MaxMessageBytes, Remember: q.Remember,
			MaxDeliveries: UnlimitedDeliveries, Retry: q.Retry,
		}
	}
	return complete, nil
}

// IsDead tells whether queue holds the dead letters of another.
func IsDead(queue string) bool { return strings.HasSuffix(queue, message.DeadSuffix) }

// DeadLetter returns the record in b with death in its envelope, and the message but for a verified body. An error means that
// the front of the record cannot be read.
func DeadLetter(b []byte, death message.Death) (record []byte, m message.Message, err error) {
	if m, err = message.ParseFront(b); err != nil {
		return nil, m, err
	}
	m.Deliveries, m.Death = 0, &death
	record, err = message.ReplaceEnvelope(make([]byte, 0, len(b)+256), b, &m.Envelope)
	return record, m, err
}

// NewMessage makes the message that p puts into a queue of agent at now. An id is minted if p has none, and returned with a
// refusal too: ErrNoQueue, ErrTooLarge or ErrMalformed. Its body is that of p, not a copy.
func NewMessage(p *Put, queues map[string]QueueOptions, agent string, now time.Time) (m message.Message, id string, refusal error) {
	id = p.ID
	if id == "" {
		id = message.NewID()
	}
	q, ok := queues[p.Queue]
	switch {
	case !ok:
		return m, id, fmt.Errorf("queue %q: %w", p.Queue, ErrNoQueue)
	case IsDead(p.Queue):
		return m, id, fmt.Errorf("queue %q: %w", p.Queue, ErrReserved)
	}
	if uint64(len(p.Body)) > q.MaxMessageBytes {
		return m, id, fmt.Errorf("body of %d bytes: %w, queue %q takes %d", len(p.Body), ErrTooLarge, p.Queue, q.MaxMessageBytes)
	}
	m = message.Message{
		Head: message.Head{
			ID: id, Origin: agent, Priority: p.Priority, Key: p.Key, QoS: p.QoS, Headers: p.Headers,
			StoredAt: time.UnixMilli(now.UnixMilli()).UTC(),
		},
		Body: p.Body,
	}
	m.Seal()
	if err := m.Check(); err != nil {
		return m, id, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m, id, nil
}

// Refusal returns what speaks against a message that was shipped to agent, whatever its queue holds: ErrTooLarge, ErrLoop or
// ErrMalformed; nil if nothing does.
func (o QueueOptions) Refusal(m *message.Message, agent string) error {
	switch size := uint64(len(m.Body)); {
	case size > o.MaxMessageBytes:
		return fmt.Errorf("body of %d bytes: %w, the queue takes %d", size, ErrTooLarge, o.MaxMessageBytes)
	case m.Origin == agent:
		return fmt.Errorf("it was stored at %q first: %w", m.Origin, ErrLoop)
	case slices.Contains(m.Hops, agent):
		return fmt.Errorf("it has left %q before: %w", agent, ErrLoop)
	case len(m.Hops) >= message.MaxHops:
		return fmt.Errorf("it has left %d agents: %w", len(m.Hops), ErrLoop)
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// Requeued returns the record in b of a dead letter as it lives again: under the next generation, with nothing of its death. An
// error means that the front of the record cannot be read.
func Requeued(b []byte) (record []byte, m message.Message, err error) {
	if m, err = message.ParseFront(b); err != nil {
		return nil, m, err
	}
	m.Generation++
	m.Deliveries, m.Death = 0, nil
	record, err = message.ReplaceEnvelope(make([]byte, 0, len(b)), b, &m.Envelope)
	return record, m, err
}

// Complete returns r with its defaults filled in, or ErrNoQueue or ErrRouted for a queue that gives no leases.
func (r LeaseRequest) Complete(queues map[string]QueueOptions) (LeaseRequest, error) {
	q, ok := queues[r.Queue]
	switch {
	case !ok:
		return r, ErrNoQueue
	case q.Route != "":
		return r, ErrRouted
	}
	if r.Max <= 0 {
		r.Max = 1
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = defaultLeaseBytes
	}
	if r.Visibility <= 0 {
		r.Visibility = q.VisibilityTimeout
	}
	return r, nil
}

// Refuse is the decision that carries a refusal.
func Refuse(refusal error) Decision { return Decision{Verdict: message.Refused, Refusal: refusal} }
