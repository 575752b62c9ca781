package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"drawbridge/api"
)

// Settled is what became of one receipt.
type Settled struct {
	Receipt string
	Verdict api.ReceiptVerdict
	// WaitFor is, with api.Nacked, in how long the message may be handed out again.
	WaitFor time.Duration
	// LeaseFor is, with api.Extended, how long the lease ran from the answer on.
	LeaseFor time.Duration
}

// Ack ends messages for good: the work is done. It returns one result per receipt, in order. With ErrUnknown some may be
// settled: repeat the call, then what was settled is api.AlreadySettled.
func (c *Client) Ack(ctx context.Context, receipts ...string) ([]Settled, error) {
	return c.settle(ctx, "ack", nil, receipts)
}

// Nack says how messages are given back.
type Nack struct {
	// Delay is how long they wait; 0 means what the queue's retry says, less than 0 not at all. The agent takes at most 30 days.
	Delay time.Duration
	// Text is kept with those that die of it, because they were handed out as often as their queue allows; up to 512 bytes.
	Text string
}

// Nack gives messages back: the work failed. Each comes again in its place, or is a dead letter now if its result is api.Died.
// It returns one result per receipt, in order. With ErrUnknown some may be given back: repeat the call, which gives none back
// twice.
func (c *Client) Nack(ctx context.Context, n Nack, receipts ...string) ([]Settled, error) {
	query := url.Values{}
	if n.Delay != 0 {
		query.Set("delay", max(n.Delay, 0).String())
	}
	if n.Text != "" {
		query.Set("text", n.Text)
	}
	return c.settle(ctx, "nack", query, receipts)
}

// Extend has leases run for visibility from now on, or for the queue's visibility_timeout if it is 0: the work takes longer. It
// returns one result per receipt, in order, with the time that was really set. It may be repeated.
func (c *Client) Extend(ctx context.Context, visibility time.Duration, receipts ...string) ([]Settled, error) {
	query := url.Values{}
	if visibility != 0 {
		query.Set("visibility", visibility.String())
	}
	return c.settle(ctx, "extend", query, receipts)
}

// Bury makes dead letters of messages: nobody can do the work. Text, up to 512 bytes, is kept with them. It returns one result
// per receipt, in order. With ErrUnknown some may be buried: repeat the call, then what was buried is api.AlreadySettled.
func (c *Client) Bury(ctx context.Context, text string, receipts ...string) ([]Settled, error) {
	query := url.Values{}
	if text != "" {
		query.Set("text", text)
	}
	return c.settle(ctx, "bury", query, receipts)
}

// settle makes one of the calls about receipts.
func (c *Client) settle(ctx context.Context, call string, query url.Values, receipts []string) ([]Settled, error) {
	var lines bytes.Buffer
	for _, receipt := range receipts {
		line, err := json.Marshal(receipt)
		if err != nil {
			return nil, refusal(api.CodeMalformed, err)
		}
		lines.Write(append(line, '\n'))
	}
	resp, err := c.do(ctx, request{
		act: fmt.Sprintf("%s %d receipts", call, len(receipts)), method: http.MethodPost, path: "/v1/receipts/" + call,
		query: query, contentType: api.TypeNDJSON, body: lines.Bytes(),
	})
	if err != nil {
		return nil, err
	}
	defer finish(resp)
	results, err := readLines[api.ReceiptResult](resp)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnknown, call, err)
	}
	if len(results) != len(receipts) {
		return nil, fmt.Errorf("%w: %s: %d verdicts for %d receipts", ErrUnknown, call, len(results), len(receipts))
	}
	settled := make([]Settled, len(results))
	for i, res := range results {
		settled[i] = Settled{Receipt: res.Receipt, Verdict: res.Verdict, WaitFor: millis(res.WaitMillis), LeaseFor: millis(res.LeaseMillis)}
	}
	return settled, nil
}

func millis(n *int64) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Millisecond
}
