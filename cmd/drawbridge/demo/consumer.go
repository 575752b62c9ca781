package demo

import (
	"context"
	"time"

	"drawbridge/message/history"
)

// consumer takes messages at B and acks them, one call after the other: so the order in which it hears of things is the
// order in which they happened. A restart of B costs it the answer to one call.
type consumer struct {
	agent Agent
	tally *tally
	seen  []history.Sight
	// known are the ids handed out so far.
	known map[string]bool
}

func newConsumer(agent Agent, t *tally) *consumer {
	return &consumer{agent: agent, tally: t, known: map[string]bool{}}
}

// Run takes and acks until ctx ends, which is no error.
func (c *consumer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.round(ctx); err != nil {
			_ = pause(ctx, retryPause)
		}
	}
	return nil
}

// Seen returns what was seen. It may be called once Run has returned.
func (c *consumer) Seen() []history.Sight { return c.seen }

// round leases once and acks what it got. A lease whose answer is lost is handed out again when it has run out; an ack whose
// answer is lost may have counted or not, and is not repeated: both ends of it are seen in what comes next.
func (c *consumer) round(ctx context.Context) error {
	ctx, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	deliveries, err := c.agent.Lease(ctx)
	if err != nil || len(deliveries) == 0 {
		return err
	}
	at, fresh := time.Now(), 0
	receipts := make([]string, len(deliveries))
	for i, d := range deliveries {
		receipts[i] = d.Receipt
		c.seen = append(c.seen, history.Sight{ID: d.ID, Sequence: d.Sequence, Attempt: d.Attempt, Sum: history.SumOf(d.Body), At: at})
		if !c.known[d.ID] {
			c.known[d.ID] = true
			fresh++
		}
	}
	c.tally.add(0, fresh)
	ended, err := c.agent.Ack(ctx, receipts)
	if err != nil {
		return err
	}
	for i, d := range deliveries {
		if ended[i] {
			c.seen = append(c.seen, history.Sight{ID: d.ID, Sequence: d.Sequence, Acked: true})
		}
	}
	return nil
}
