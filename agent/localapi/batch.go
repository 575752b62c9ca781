package localapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"drawbridge/api"
	"drawbridge/message"
	"drawbridge/spool"
)

// Bounds of one batch. They keep it inside one group of the committer.
const (
	MaxBatchBytes    = 8 << 20
	MaxBatchMessages = 10_000
)

// putBatch stores the messages of an NDJSON body and answers one verdict a line, in order. A line that is refused does not
// hinder the others.
func (s *Server) putBatch(w http.ResponseWriter, r *http.Request) error {
	queue := r.PathValue("queue")
	if _, err := s.configured(queue); err != nil {
		return err
	}
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	body, err := readBody(w, r, MaxBatchBytes)
	if err != nil {
		return err
	}
	lines := nonEmptyLines(body)
	if len(lines) > MaxBatchMessages {
		return refuse(api.CodeTooLarge, "a batch of more than %d messages", MaxBatchMessages)
	}

	results := make([]api.PutResult, len(lines))
	puts := make([]spool.Put, 0, len(lines))
	places := make([]int, 0, len(lines)) // places[i] is the line that puts[i] stood on
	for i, line := range lines {
		p, err := parsePut(queue, line)
		if err != nil {
			results[i] = refusedPut(p.ID, err)
			continue
		}
		puts = append(puts, p)
		places = append(places, i)
	}
	if len(puts) > 0 {
		stored, err := s.store.Put(r.Context(), puts)
		if err != nil {
			return err
		}
		for i, res := range stored {
			results[places[i]] = putResult(res)
		}
	}
	return writeLines(w, http.StatusCreated, results)
}

// parsePut reads one line. With an error it returns at least the id, as far as it was readable.
func parsePut(queue string, line []byte) (spool.Put, error) {
	var l api.PutLine
	if err := decodeLine(line, &l); err != nil {
		return spool.Put{ID: l.ID}, err
	}
	p := spool.Put{Queue: queue, ID: l.ID, Key: l.Key, Priority: message.DefaultPriority}
	if l.Priority != nil {
		p.Priority = *l.Priority
	}
	var ok bool
	if p.QoS, ok = parseQoS(l.QoS); !ok {
		return p, refuse(api.CodeMalformed, "qos %q: use %s or %s", clip(l.QoS), message.AtLeastOnce, message.AtMostOnce)
	}
	if err := checkText("key", p.Key); err != nil {
		return p, err
	}
	for name, value := range l.Headers {
		if err := checkText("header "+name, value); err != nil {
			return p, err
		}
	}
	p.Headers = message.NewHeaders(l.Headers)
	var err error
	if p.Body, err = l.Bytes(); err != nil {
		return p, refuse(api.CodeMalformed, "%v", err)
	}
	return p, nil
}

// decodeLine reads one JSON value into v and refuses what encoding/json would change or ignore in silence: unknown fields,
// keys given twice, bytes that are not UTF-8, and halves of surrogate pairs.
func decodeLine(line []byte, v any) error {
	if !utf8.Valid(line) {
		return refuse(api.CodeMalformed, "a line is not UTF-8; bytes go into body_base64")
	}
	if halfSurrogate(line) {
		return refuse(api.CodeMalformed, `a string holds half of a surrogate pair (\ud800 to \udfff), which is no text; bytes go into body_base64`)
	}
	if err := checkKeys(line); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return refuse(api.CodeMalformed, "JSON: %s", clip(strings.TrimPrefix(err.Error(), "json: ")))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse(api.CodeMalformed, "JSON: more than one value on a line")
	}
	return nil
}

// halfSurrogate finds an escape that decodes to a replacement character although none was written.
func halfSurrogate(line []byte) bool {
	for rest := line; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 >= len(rest) {
			return false
		}
		unit, ok := surrogate(rest[i:])
		if !ok {
			rest = rest[i+2:] // past the escape, so that an escaped backslash begins no other
			continue
		}
		second, ok := surrogate(rest[i+6:])
		if unit >= 0xdc00 || !ok || second < 0xdc00 {
			return true
		}
		rest = rest[i+12:]
	}
}

// surrogate reads an escape like \ud83d at the front of b.
func surrogate(b []byte) (unit uint16, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	if _, err := fmt.Sscanf(string(b[2:6]), "%04x", &unit); err != nil {
		return 0, false
	}
	return unit, unit >= 0xd800 && unit <= 0xdfff
}

func putResult(res spool.PutResult) api.PutResult {
	switch res.Status {
	case spool.Stored:
		return api.PutResult{ID: res.ID, Verdict: api.VerdictStored, Sequence: res.Sequence}
	case spool.Duplicate:
		return api.PutResult{ID: res.ID, Verdict: api.VerdictDuplicate, Sequence: res.Sequence}
	case spool.DuplicateDead:
		return api.PutResult{ID: res.ID, Verdict: api.VerdictDuplicateDead, Sequence: res.Sequence}
	}
	return refusedPut(res.ID, res.Err)
}

func refusedPut(id string, err error) api.PutResult {
	p := problemOf(http.MethodPost, err)
	res := api.PutResult{ID: id, Verdict: api.VerdictRefused, Code: p.Code, Detail: p.Detail}
	if p.Code == api.CodeIDConflict {
		res.Verdict = api.VerdictIDConflict
	}
	return res
}

// nonEmptyLines returns the lines of a body, but no more of them than it takes to see that they are too many for any call.
func nonEmptyLines(body []byte) (lines [][]byte) {
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if lines = append(lines, line); len(lines) > max(MaxBatchMessages, MaxReceipts) {
			break
		}
	}
	return lines
}

// writeLines answers with one JSON object a line.
func writeLines[T any](w http.ResponseWriter, status int, values []T) error {
	var lines bytes.Buffer
	if err := appendLines(&lines, values); err != nil {
		return err
	}
	w.Header().Set("Content-Type", api.TypeNDJSON)
	w.WriteHeader(status)
	_, _ = w.Write(lines.Bytes()) // who no longer listens needs no answer
	return nil
}

func appendLines[T any](lines *bytes.Buffer, values []T) error {
	e := json.NewEncoder(lines)
	e.SetEscapeHTML(false)
	for i := range values {
		if err := e.Encode(&values[i]); err != nil {
			return err
		}
	}
	return nil
}
