// Package client is the library for programs on the agent's host: producers, consumers and tools. It speaks the local API
// over the agent's Unix socket.
//
// It never repeats a call by itself: when a Put ends with ErrUnknown, only the producer knows how long it wants to go on.
// Repeating it with the same id is safe, and Put mints the id of a message that has none before its first try.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"drawbridge/api"
)

// Client makes calls to one agent. It is safe for concurrent use and keeps connections for as many callers as there are.
type Client struct {
	socket string
	http   *http.Client
}

const (
	// maxIdleConns keeps a connection for each of many concurrent callers; the transport's default of 2 would make a
	// connection for nearly every call.
	maxIdleConns = 512
	idleTimeout  = time.Minute
	// expectBytes is the body size from which the agent is asked first, so that a refusal is read instead of a broken pipe.
	expectBytes   = 128 << 10
	expectTimeout = 5 * time.Second
)

// New returns a client of the agent that listens on socket. It does not connect yet.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return conn, err
	}
	return &Client{
		socket: socket,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:           dial,
				MaxIdleConnsPerHost:   maxIdleConns,
				IdleConnTimeout:       idleTimeout,
				ExpectContinueTimeout: expectTimeout,
				DisableCompression:    true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close releases idle connections. Calls in progress go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one call. act says in words what for; the path is escaped already.
type request struct {
	act          string
	method, path string
	query        url.Values
	header       http.Header
	contentType  string
	body         []byte
}

// do makes the call and returns the answer if its status is 2xx; the caller must close it. All errors become words a caller
// can branch on here: ErrUnreachable, ErrUnknown, *Error.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	resp, err := c.send(ctx, q)
	if err == nil {
		return resp, nil
	}
	return nil, fmt.Errorf("%s: %w", q.act, err)
}

func (c *Client) send(ctx context.Context, q request) (*http.Response, error) {
	address := "http://agent" + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.method, address, bytes.NewReader(q.body))
	if err != nil {
		return nil, refusal(api.CodeMalformed, err)
	}
	if q.header != nil {
		r.Header = q.header
	}
	if q.contentType != "" {
		r.Header.Set("Content-Type", q.contentType)
	}
	if len(q.body) >= expectBytes {
		r.Header.Set("Expect", "100-continue")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.unanswered(q.method, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, readProblem(resp)
	}
	return resp, nil
}

// unanswered says what a failed exchange means: a call that changes something may have been carried out.
func (c *Client) unanswered(method string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // method and address are said already
	}
	if method == http.MethodGet || errors.Is(err, ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: no answer: %w", ErrUnknown, err)
}

// get reads one JSON value.
func (c *Client) get(ctx context.Context, act, path string, into any) error {
	resp, err := c.do(ctx, request{act: act, method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	defer finish(resp)
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: read the answer: %w", act, err)
	}
	return nil
}

// readLines reads one JSON value a line until the answer ends.
func readLines[T any](resp *http.Response) ([]T, error) {
	var values []T
	for d := json.NewDecoder(resp.Body); ; {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return values, fmt.Errorf("read the answer: %w", err)
		}
		values = append(values, v)
	}
}

// finish reads what is left, without which the connection could not be used again.
func finish(resp *http.Response) {
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

// segment escapes one part of a path. A dot or two would be taken for a step in the tree.
func segment(s string) string {
	switch s {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(s)
}

func queuePath(queue, rest string) (string, error) {
	if queue == "" {
		return "", refusal(api.CodeMalformed, errors.New("the name of the queue is empty"))
	}
	return "/v1/queues/" + segment(queue) + rest, nil
}
