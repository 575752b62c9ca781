package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"drawbridge/api"
)

// DeadLetter is a message that was set aside, in its place among the dead letters of its queue.
type DeadLetter struct {
	Stored
	// Death says why, where and when.
	Death api.Death
	// Leased says that a consumer has it now; Waiting that it was given back and is not ready yet.
	Leased, Waiting bool
}

// DeadFilter says which dead letters are meant. The zero value lets all through.
type DeadFilter struct {
	// Reason, Route and ID are equal to those of the letter; Text is a part of what its death says.
	Reason, Route, ID, Text string
	// Header is a message header, NAME=VALUE.
	Header string
	// OlderThan and NewerThan compare how long ago it died, by the agent's wall clock.
	OlderThan, NewerThan time.Duration
	// From is the lowest sequence.
	From uint64
}

func (f DeadFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"reason": f.Reason, "route": f.Route, "id": f.ID, "text": f.Text, "header": f.Header} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.OlderThan != 0 {
		q.Set("older", f.OlderThan.String())
	}
	if f.NewerThan != 0 {
		q.Set("newer", f.NewerThan.String())
	}
	if f.From > 0 {
		q.Set("from", strconv.FormatUint(f.From, 10))
	}
	return q
}

// DeadLetters returns up to max dead letters of queue that the filter lets through, in the order in which they died. For more,
// begin a filter's From above the last sequence.
func (c *Client) DeadLetters(ctx context.Context, queue string, f DeadFilter, max int) ([]DeadLetter, error) {
	query := f.query()
	query.Set("max", strconv.Itoa(max))
	resp, err := c.getDead(ctx, queue, query)
	if err != nil {
		return nil, err
	}
	defer finish(resp)
	lines, err := readLines[api.Peeked](resp)
	if err != nil {
		return nil, fmt.Errorf("list dead letters of queue %q: %w", queue, err)
	}
	letters := make([]DeadLetter, len(lines))
	for i, line := range lines {
		letters[i].Leased, letters[i].Waiting = line.Leased, line.Waiting
		if letters[i].Stored, err = storedOf(line.Message); err != nil {
			return nil, err
		}
		if line.Death != nil {
			letters[i].Death = *line.Death
		}
	}
	return letters, nil
}

// DeadCount counts the dead letters of queue, and those of them that the filter lets through.
func (c *Client) DeadCount(ctx context.Context, queue string, f DeadFilter) (count api.DeadCount, err error) {
	query := f.query()
	query.Set("count", "true")
	resp, err := c.getDead(ctx, queue, query)
	if err != nil {
		return count, err
	}
	defer finish(resp)
	if err := json.NewDecoder(resp.Body).Decode(&count); err != nil {
		return count, fmt.Errorf("count dead letters of queue %q: read the answer: %w", queue, err)
	}
	return count, nil
}

func (c *Client) getDead(ctx context.Context, queue string, query url.Values) (*http.Response, error) {
	path, err := queuePath(queue, "/dead")
	if err != nil {
		return nil, err
	}
	return c.do(ctx, request{act: fmt.Sprintf("look at dead letters of queue %q", queue), method: http.MethodGet, path: path, query: query})
}

// DeadChoice says what a requeue or a purge is about: the sequences, or else those that the filter lets through. Without both,
// All has to be set.
type DeadChoice struct {
	Sequences []uint64
	Filter    DeadFilter
	All       bool
	// Max bounds how many of those that a filter lets through are taken; 0 means all of them.
	Max int
	// DryRun only counts.
	DryRun bool
	// Rate is how many a second are requeued; 0 means as fast as it goes.
	Rate int
}

// RequeueDead gives dead letters of queue another life at its tail, under the next generation. It calls progress, if that is not
// nil, with each step that the agent tells, at least once a second, and returns the last. When ctx ends, the agent stops after
// the commit in progress. With ErrUnknown some may have been requeued; repeating the call is safe.
func (c *Client) RequeueDead(ctx context.Context, queue string, d DeadChoice, progress func(api.DeadProgress)) (api.DeadProgress, error) {
	return c.sweepDead(ctx, "requeue", queue, d, progress)
}

// PurgeDead removes dead letters of queue for good. All else is as with RequeueDead.
func (c *Client) PurgeDead(ctx context.Context, queue string, d DeadChoice, progress func(api.DeadProgress)) (api.DeadProgress, error) {
	return c.sweepDead(ctx, "purge", queue, d, progress)
}

func (c *Client) sweepDead(ctx context.Context, verb, queue string, d DeadChoice, progress func(api.DeadProgress)) (last api.DeadProgress, err error) {
	path, err := queuePath(queue, "/dead/"+verb)
	if err != nil {
		return last, err
	}
	act := fmt.Sprintf("%s dead letters of queue %q", verb, queue)
	resp, err := c.do(ctx, request{act: act, method: http.MethodPost, path: path, query: d.query(), contentType: api.TypeText, body: d.body()})
	if err != nil {
		return last, err
	}
	defer finish(resp)
	for lines := json.NewDecoder(resp.Body); ; {
		var line api.DeadProgress // a new one: what a line leaves out is zero
		err := lines.Decode(&line)
		switch {
		case errors.Is(err, io.EOF) && last.Finished:
			return last, nil
		case err != nil:
			return last, fmt.Errorf("%w: %s: the answer ended after %d of %d: %w", ErrUnknown, act, last.Done, last.Of, err)
		case line.Code != "":
			return line, fmt.Errorf("%w: %s: ended after %d of %d: %s", ErrUnknown, act, line.Done, line.Of, line.Detail)
		}
		last = line
		if progress != nil {
			progress(line)
		}
	}
}

func (d DeadChoice) query() url.Values {
	q := d.Filter.query()
	for name, set := range map[string]bool{"all": d.All, "dry_run": d.DryRun} {
		if set {
			q.Set(name, "true")
		}
	}
	for name, number := range map[string]int{"max": d.Max, "rate": d.Rate} {
		if number != 0 {
			q.Set(name, strconv.Itoa(number))
		}
	}
	return q
}

func (d DeadChoice) body() []byte {
	var lines strings.Builder
	for _, sequence := range d.Sequences {
		fmt.Fprintln(&lines, sequence)
	}
	return []byte(lines.String())
}
