package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"drawbridge/api"
	"drawbridge/client"
)

// host is one agent as the demo uses it: a process, its configuration file, and a client of its API.
type host struct {
	side       *side
	configPath string
	child      *child
	client     *client.Client
}

const (
	// leaseMax is how many messages the consumer takes at once, leaseWait how long a lease waits for the first.
	leaseMax  = 100
	leaseWait = 250 * time.Millisecond
	// answerTimeout bounds one question to an agent.
	answerTimeout = 2 * time.Second
)

// newHost makes the host whose files begin with base.
func newHost(s *side, base string, p *pair, lost func(error)) *host {
	h := &host{side: s, configPath: base + ".yaml", client: client.New(s.Socket)}
	h.child = &child{
		name:    s.Letter,
		command: func() *exec.Cmd { return p.command("run", "--config", h.configPath) },
		logPath: base + ".log",
		nursery: p.nursery,
		lost:    lost,
	}
	return h
}

func (h *host) writeConfig() error {
	text, err := h.side.config()
	if err == nil {
		err = os.WriteFile(h.configPath, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the configuration of agent %s: %w", h.side.Letter, err)
	}
	return nil
}

// Start starts the agent and returns when it takes messages.
func (h *host) Start(ctx context.Context) error { return h.child.start(ctx, h.answers) }

// Freeze stops the agent where it is.
func (h *host) Freeze() error { return h.child.freeze() }

// Kill ends the agent by SIGKILL.
func (h *host) Kill() error {
	defer h.client.Close() // its connections lead nowhere now
	return h.child.kill()
}

var errNotReady = errors.New("the agent is not ready")

func (h *host) answers(ctx context.Context) error {
	ctx, end := context.WithTimeout(ctx, answerTimeout)
	defer end()
	health, err := h.client.Health(ctx)
	if err == nil && !health.Ready {
		err = errNotReady
	}
	return err
}

// Put stores one message.
func (h *host) Put(ctx context.Context, id string, body []byte) error {
	_, err := h.client.Put(ctx, queue, client.Message{ID: id, Body: body})
	var answer *client.Error
	if errors.As(err, &answer) && answer.Status/100 == 4 && answer.Status != http.StatusTooManyRequests {
		return fmt.Errorf("%w: %w", ErrFinal, err)
	}
	return err
}

// Lease takes what is ready.
func (h *host) Lease(ctx context.Context) ([]Delivery, error) {
	leased, err := h.client.Lease(ctx, queue, client.Lease{Max: leaseMax, Wait: leaseWait})
	if err != nil {
		return nil, err
	}
	deliveries := make([]Delivery, len(leased))
	for i, d := range leased {
		deliveries[i] = Delivery{ID: d.ID, Sequence: d.Sequence, Attempt: d.Deliveries, Receipt: d.Receipt, Body: d.Body}
	}
	return deliveries, nil
}

// Ack ends deliveries.
func (h *host) Ack(ctx context.Context, receipts []string) ([]bool, error) {
	results, err := h.client.Ack(ctx, receipts...)
	if err != nil {
		return nil, err
	}
	ended := make([]bool, len(results))
	for i, r := range results {
		ended[i] = r.Verdict == api.Acked
	}
	return ended, nil
}

// Held is how many messages are in the queue.
func (h *host) Held(ctx context.Context) (int, error) {
	ctx, end := context.WithTimeout(ctx, answerTimeout)
	defer end()
	q, err := h.client.Queue(ctx, queue)
	return int(q.Messages), err
}

// Unanswered is how many messages are shipped and not answered.
func (h *host) Unanswered(ctx context.Context) (n int, err error) {
	link, err := h.link(ctx)
	for _, route := range link.Sends {
		n += int(route.Unanswered)
	}
	return n, err
}

// Condition is the state of the link and its reason.
func (h *host) Condition(ctx context.Context) string {
	link, err := h.link(ctx)
	switch {
	case err != nil:
		return err.Error()
	case link.Reason != "":
		return link.State + ", " + link.Reason
	}
	return link.State
}

func (h *host) link(ctx context.Context) (api.Link, error) {
	ctx, end := context.WithTimeout(ctx, answerTimeout)
	defer end()
	return h.client.Link(ctx, h.side.Peer.Link)
}
