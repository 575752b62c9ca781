package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"drawbridge/api"
)

// Ack ends deliveries for good and returns one verdict per receipt, in order. With ErrUnknown some may be settled: repeat
// the call, then what was settled is stale.
func (c *Client) Ack(ctx context.Context, receipts ...string) ([]api.AckResult, error) {
	var lines bytes.Buffer
	for _, receipt := range receipts {
		line, err := json.Marshal(receipt)
		if err != nil {
			return nil, refusal(api.CodeMalformed, err)
		}
		lines.Write(append(line, '\n'))
	}
	resp, err := c.do(ctx, request{act: fmt.Sprintf("ack %d receipts", len(receipts)), method: http.MethodPost, path: "/v1/receipts/ack", contentType: api.TypeNDJSON, body: lines.Bytes()})
	if err != nil {
		return nil, err
	}
	defer finish(resp)
	results, err := readLines[api.AckResult](resp)
	if err != nil {
		return nil, fmt.Errorf("%w: ack: %w", ErrUnknown, err)
	}
	if len(results) != len(receipts) {
		return nil, fmt.Errorf("%w: ack: %d verdicts for %d receipts", ErrUnknown, len(results), len(receipts))
	}
	return results, nil
}
