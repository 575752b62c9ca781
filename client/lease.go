package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"drawbridge/api"
	"drawbridge/message"
)

// Stored is a message in its queue.
type Stored struct {
	ID       string
	Queue    string
	Sequence uint64
	Origin   string
	Priority uint8
	Key      string
	QoS      message.QoS
	StoredAt time.Time
	Headers  map[string]string
	// Deliveries counts how often it was handed out.
	Deliveries uint32
	Body       []byte
}

// Delivery is one message handed out to this consumer.
type Delivery struct {
	Stored
	// Death is why the message lies among the dead letters; nil for one that lives.
	Death   *api.Death
	Receipt string
	// LeaseFor is how long the lease ran from the answer on.
	LeaseFor time.Duration
}

// Lease says how many deliveries are wanted and how long to wait for the first.
type Lease struct {
	// Max is the most messages wanted; 0 means 1.
	Max int
	// Wait is how long to wait for the first message; 0 asks once. The agent takes at most 10 minutes.
	Wait time.Duration
	// Visibility is how long the leases run; 0 means the queue's visibility_timeout.
	Visibility time.Duration
}

// Lease hands out deliveries. None and no error mean that nothing was ready in time. When ctx ends while the agent waits, no
// lease is taken; with ErrUnknown a lease may have been, and its message comes back when it has run out.
func (c *Client) Lease(ctx context.Context, queue string, l Lease) ([]Delivery, error) {
	path, err := queuePath(queue, "/lease")
	if err != nil {
		return nil, err
	}
	resp, err := c.do(ctx, request{act: fmt.Sprintf("lease from queue %q", queue), method: http.MethodPost, path: path, query: l.query()})
	if err != nil {
		return nil, err
	}
	defer finish(resp)
	if resp.StatusCode == http.StatusNoContent {
		return nil, nil
	}
	if l.Max > 1 {
		lines, err := readLines[api.Delivery](resp)
		if err != nil {
			return nil, fmt.Errorf("%w: lease from queue %q: %w", ErrUnknown, queue, err)
		}
		return deliveries(lines)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: lease from queue %q: %w", ErrUnknown, queue, err)
	}
	d, err := deliveryOf(resp.Header, body)
	if err != nil {
		return nil, fmt.Errorf("lease from queue %q: %w", queue, err)
	}
	return []Delivery{d}, nil
}

func (l Lease) query() url.Values {
	q := url.Values{}
	if l.Max > 1 {
		q.Set("max", strconv.Itoa(l.Max))
	}
	if l.Wait > 0 {
		q.Set("wait", l.Wait.String())
	}
	if l.Visibility > 0 {
		q.Set("visibility", l.Visibility.String())
	}
	return q
}

// deliveryOf reads the raw form: everything but the body is in headers.
func deliveryOf(h http.Header, body []byte) (Delivery, error) {
	n := numbers{h: h}
	d := Delivery{
		Stored: Stored{
			ID:         h.Get(api.HeaderID),
			Queue:      h.Get(api.HeaderQueue),
			Sequence:   n.read(api.HeaderSequence, 64),
			Origin:     h.Get(api.HeaderOrigin),
			Priority:   uint8(n.read(api.HeaderPriority, 8)),
			Key:        h.Get(api.HeaderKey),
			QoS:        qosOf(h.Get(api.HeaderQoS)),
			Deliveries: uint32(n.read(api.HeaderDeliveries, 32)),
			Body:       body,
		},
		Receipt:  h.Get(api.HeaderReceipt),
		LeaseFor: time.Duration(n.read(api.HeaderLeaseMillis, 43)) * time.Millisecond,
	}
	for name, values := range h {
		if name, ok := strings.CutPrefix(name, api.HeaderPrefix); ok {
			if d.Headers == nil {
				d.Headers = map[string]string{}
			}
			d.Headers[strings.ToLower(name)] = values[0]
		}
	}
	if n.err != nil {
		return Delivery{}, n.err
	}
	if death := h.Get(api.HeaderDeath); death != "" {
		if err := json.Unmarshal([]byte(death), &d.Death); err != nil {
			return Delivery{}, fmt.Errorf("header %s: %w", api.HeaderDeath, err)
		}
	}
	var err error
	if d.StoredAt, err = time.Parse(time.RFC3339, h.Get(api.HeaderStoredAt)); err != nil {
		return Delivery{}, fmt.Errorf("header %s: %w", api.HeaderStoredAt, err)
	}
	return d, nil
}

// numbers reads headers that are numbers; the first failure sticks.
type numbers struct {
	h   http.Header
	err error
}

func (n *numbers) read(name string, bits int) uint64 {
	v, err := strconv.ParseUint(n.h.Get(name), 10, bits)
	if err != nil && n.err == nil {
		n.err = fmt.Errorf("header %s: %w", name, err)
	}
	return v
}

func deliveries(lines []api.Delivery) ([]Delivery, error) {
	ds := make([]Delivery, len(lines))
	for i, line := range lines {
		stored, err := storedOf(line.Message)
		if err != nil {
			return nil, err
		}
		ds[i] = Delivery{Stored: stored, Death: line.Death, Receipt: line.Receipt, LeaseFor: time.Duration(line.LeaseMillis) * time.Millisecond}
	}
	return ds, nil
}

func storedOf(m api.Message) (Stored, error) {
	body, err := m.Bytes()
	if err != nil {
		return Stored{}, fmt.Errorf("message %q: %w", m.ID, err)
	}
	return Stored{
		ID:         m.ID,
		Queue:      m.Queue,
		Sequence:   m.Sequence,
		Origin:     m.Origin,
		Priority:   m.Priority,
		Key:        m.Key,
		QoS:        qosOf(m.QoS),
		StoredAt:   m.StoredAt,
		Headers:    m.Headers,
		Deliveries: m.Deliveries,
		Body:       body,
	}, nil
}

func qosOf(s string) message.QoS {
	if s == message.AtMostOnce.String() {
		return message.AtMostOnce
	}
	return message.AtLeastOnce
}

// Peeked is a message looked at in its place.
type Peeked struct {
	Stored
	// Death is why the message lies among the dead letters; nil for one that lives.
	Death *api.Death
	// Leased says that a consumer has it now; Waiting that it was given back and is not ready yet; InDoubt that a route has
	// shipped it and waits for an answer.
	Leased, Waiting, InDoubt bool
}

// Peek shows up to max messages from sequence from on, without leasing them.
func (c *Client) Peek(ctx context.Context, queue string, from uint64, max int) ([]Peeked, error) {
	path, err := queuePath(queue, "/messages")
	if err != nil {
		return nil, err
	}
	query := url.Values{"from": {strconv.FormatUint(from, 10)}, "max": {strconv.Itoa(max)}}
	resp, err := c.do(ctx, request{act: fmt.Sprintf("peek at queue %q", queue), method: http.MethodGet, path: path, query: query})
	if err != nil {
		return nil, err
	}
	defer finish(resp)
	lines, err := readLines[api.Peeked](resp)
	if err != nil {
		return nil, fmt.Errorf("peek at queue %q: %w", queue, err)
	}
	peeked := make([]Peeked, len(lines))
	for i, line := range lines {
		stored, err := storedOf(line.Message)
		if err != nil {
			return nil, err
		}
		peeked[i] = Peeked{Stored: stored, Death: line.Death, Leased: line.Leased, Waiting: line.Waiting, InDoubt: line.InDoubt}
	}
	return peeked, nil
}
