package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"drawbridge/api"
)

// Log returns the present level of each part of the agent's log.
func (c *Client) Log(ctx context.Context) (log api.Log, err error) {
	err = c.get(ctx, "ask for the log's levels", "/v1/log", &log)
	return log, err
}

// SetLog gives one part of the log a level, or all parts if part is empty, and returns what holds then. The level "default"
// is that of the configuration. It lasts until the agent stops.
func (c *Client) SetLog(ctx context.Context, level, part string) (log api.Log, err error) {
	query := url.Values{"level": {level}}
	if part != "" {
		query.Set("part", part)
	}
	resp, err := c.do(ctx, request{act: "change the log's level", method: http.MethodPut, path: "/v1/log", query: query})
	if err != nil {
		return log, err
	}
	defer finish(resp)
	if err := json.NewDecoder(resp.Body).Decode(&log); err != nil {
		return log, fmt.Errorf("change the log's level: read the answer: %w", err)
	}
	return log, nil
}
