package client

import (
	"context"
	"net/http"
)

// AcceptClock accepts the jump of time that the check "clock" of Health tells of: the agent was stopped for that long, and
// ids may be forgotten for their age again. Without a jump it does nothing.
func (c *Client) AcceptClock(ctx context.Context) error {
	resp, err := c.do(ctx, request{act: "accept the clock", method: http.MethodPost, path: "/v1/clock/accept"})
	if err != nil {
		return err
	}
	finish(resp)
	return nil
}
