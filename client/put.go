package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"drawbridge/api"
	"drawbridge/message"
)

// Message is what a producer wants stored.
type Message struct {
	// ID is minted when empty. Keep it until the message is stored: a retry is safe with the same id only.
	ID  string
	Key string
	// Priority runs from 0 (last) to 9 (first); nil means message.DefaultPriority.
	Priority *uint8
	QoS      message.QoS
	// Headers have lower-case names.
	Headers map[string]string
	Body    []byte
}

// Put stores one message. The result has id and verdict also beside an error, so that a producer can go on with it: with
// VerdictUnknown put the same message again under that id. An error wraps ErrUnknown or ErrUnreachable, or is an *Error.
func (c *Client) Put(ctx context.Context, queue string, m Message) (api.PutResult, error) {
	if m.ID == "" {
		m.ID = message.NewID()
	}
	q, err := putRequest(queue, m)
	if err != nil {
		return failedPut(m.ID, err), err
	}
	resp, err := c.do(ctx, q)
	if err != nil {
		return failedPut(m.ID, err), err
	}
	defer finish(resp)
	res := api.PutResult{ID: m.ID, Verdict: api.VerdictStored}
	if resp.StatusCode != http.StatusCreated {
		res.Verdict = knownAs(resp.Body)
	}
	// The status is the answer; a sequence that cannot be read is only not known.
	res.Sequence, _ = strconv.ParseUint(resp.Header.Get(api.HeaderSequence), 10, 64)
	return res, nil
}

// knownAs reads which kind of duplicate a message is. That it is one, the status has said.
func knownAs(body io.Reader) api.Verdict {
	var res api.PutResult
	if err := json.NewDecoder(body).Decode(&res); err == nil && res.Verdict == api.VerdictDuplicateDead {
		return res.Verdict
	}
	return api.VerdictDuplicate
}

func putRequest(queue string, m Message) (request, error) {
	path, err := queuePath(queue, "/messages/"+segment(m.ID))
	if err != nil {
		return request{}, err
	}
	if err := check(m); err != nil {
		return request{}, refusal(api.CodeMalformed, err)
	}
	q := request{
		act:         fmt.Sprintf("put message %s into queue %q", m.ID, queue),
		method:      http.MethodPut,
		path:        path,
		contentType: api.TypeBytes,
		body:        m.Body,
		header:      http.Header{},
		query:       url.Values{},
	}
	if m.Priority != nil {
		q.query.Set("priority", strconv.Itoa(int(*m.Priority)))
	}
	if m.Key != "" {
		q.query.Set("key", m.Key)
	}
	if m.QoS != message.AtLeastOnce {
		q.query.Set("qos", m.QoS.String())
	}
	for name, value := range m.Headers {
		q.header.Set(api.HeaderPrefix+name, value)
	}
	return q, nil
}

// check finds what HTTP or JSON could not carry. Everything else is the agent's to judge.
func check(m Message) error {
	if err := message.CheckID(m.ID); err != nil {
		return err
	}
	if err := api.CheckText(m.Key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := message.NewHeaders(m.Headers).Check(); err != nil {
		return err
	}
	for name, value := range m.Headers {
		if err := api.CheckText(value); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

func failedPut(id string, err error) api.PutResult {
	res := api.PutResult{ID: id, Verdict: api.VerdictUnknown, Detail: err.Error()}
	var answered *Error
	switch {
	case errors.As(err, &answered):
		res.Code = answered.Code
		if answered.Code == api.CodeIDConflict {
			res.Verdict = api.VerdictIDConflict
		} else if answered.Refused() {
			res.Verdict = api.VerdictRefused
		}
	case errors.Is(err, ErrUnreachable):
		res.Verdict = api.VerdictRefused // nobody was there to store it
	}
	return res
}

// PutBatch stores messages at the tail of one queue, in order, in one commit. One result per message; a refusal of one does
// not hinder the others. With an error the results still have ids and verdicts, as for Put.
func (c *Client) PutBatch(ctx context.Context, queue string, messages []Message) ([]api.PutResult, error) {
	results := make([]api.PutResult, len(messages))
	lines := make([]api.PutLine, 0, len(messages))
	places := make([]int, 0, len(messages)) // places[i] is the message that lines[i] carries
	for i, m := range messages {
		if m.ID == "" {
			m.ID = message.NewID()
		}
		if err := check(m); err != nil {
			results[i] = failedPut(m.ID, refusal(api.CodeMalformed, err))
			continue
		}
		lines = append(lines, api.PutLine{
			ID:       m.ID,
			Key:      m.Key,
			Priority: m.Priority,
			QoS:      m.QoS.String(),
			Headers:  m.Headers,
			Body:     api.NewBody(m.Body),
		})
		places = append(places, i)
	}
	if len(lines) == 0 {
		return results, nil
	}
	answers, err := c.putLines(ctx, queue, lines)
	for i, place := range places {
		if err != nil {
			results[place] = failedPut(lines[i].ID, err)
		} else {
			results[place] = answers[i]
		}
	}
	return results, err
}

func (c *Client) putLines(ctx context.Context, queue string, lines []api.PutLine) ([]api.PutResult, error) {
	path, err := queuePath(queue, "/messages")
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	encode := json.NewEncoder(&body)
	encode.SetEscapeHTML(false)
	for i := range lines {
		if err := encode.Encode(&lines[i]); err != nil {
			return nil, refusal(api.CodeMalformed, err)
		}
	}
	resp, err := c.do(ctx, request{
		act:         fmt.Sprintf("put %d messages into queue %q", len(lines), queue),
		method:      http.MethodPost,
		path:        path,
		contentType: api.TypeNDJSON,
		body:        body.Bytes(),
	})
	if err != nil {
		return nil, err
	}
	defer finish(resp)
	results, err := readLines[api.PutResult](resp)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if len(results) != len(lines) {
		return nil, fmt.Errorf("%w: %d verdicts for %d messages", ErrUnknown, len(results), len(lines))
	}
	return results, nil
}
