package localapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"drawbridge/api"
	"drawbridge/spool"
)

func TestPutAnswersStoredDuplicateConflict(t *testing.T) {
	h := start(t)
	first := h.call("PUT", "/v1/queues/orders/messages/a-1", "one crate")
	var res api.PutResult
	if err := json.Unmarshal(first.body, &res); err != nil {
		t.Fatal(err)
	}
	if first.status != http.StatusCreated || res.Verdict != api.VerdictStored || res.ID != "a-1" || res.Sequence == 0 {
		t.Fatalf("first put: %d %s", first.status, first.body)
	}
	again := h.call("PUT", "/v1/queues/orders/messages/a-1", "one crate")
	if again.status != http.StatusOK || again.header.Get(api.HeaderSequence) != fmt.Sprint(res.Sequence) {
		t.Errorf("again: %d, sequence %s: %s", again.status, again.header.Get(api.HeaderSequence), again.body)
	}
	other := h.call("PUT", "/v1/queues/orders/messages/a-1", "two crates")
	if p := other.problem(t); other.status != http.StatusConflict || p.Code != api.CodeIDConflict || p.Status != other.status {
		t.Errorf("other content: %d %+v", other.status, p)
	}
}

func TestIdsMayHoldWhatURLsGiveAMeaning(t *testing.T) {
	h := start(t)
	for escaped, id := range map[string]string{
		"a%2Fb":        "a/b",
		"%2E%2E":       "..",
		"a%3Fb%23c":    "a?b#c",
		"100%25":       "100%",
		"%22quoted%5C": `"quoted\`,
	} {
		a := h.call("PUT", "/v1/queues/orders/messages/"+escaped, "x")
		var res api.PutResult
		if err := json.Unmarshal(a.body, &res); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
		if a.status != http.StatusCreated || res.ID != id || a.header.Get(api.HeaderID) != id {
			t.Errorf("%s: %d %s, want id %q", escaped, a.status, a.body, id)
		}
	}
}

func TestPostMintsAnIDUnlessGivenOne(t *testing.T) {
	h := start(t)
	minted := h.call("POST", "/v1/queues/orders/messages", "x")
	if minted.status != http.StatusCreated || len(minted.header.Get(api.HeaderID)) != 36 {
		t.Errorf("minted: %d, id %q", minted.status, minted.header.Get(api.HeaderID))
	}
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		given := h.call("POST", "/v1/queues/orders/messages", "x", api.HeaderIdempotencyKey, "mine")
		if given.status != want || given.header.Get(api.HeaderID) != "mine" {
			t.Errorf("given: %d, id %q, want status %d", given.status, given.header.Get(api.HeaderID), want)
		}
	}
}

func TestOptionsAndHeadersReachTheConsumer(t *testing.T) {
	h := start(t)
	body := string([]byte{0, 0xff, '\n'})
	a := h.call("PUT", "/v1/queues/orders/messages/a?priority=7&key=customer%209", body,
		"Drawbridge-H-Content-Type", "image/png", "traceparent", "00-aa-bb-01", "Drawbridge-H-Baggage", "mine", "Baggage", "not mine", "X-Other", "no")
	if a.status != http.StatusCreated {
		t.Fatalf("put: %d %s", a.status, a.body)
	}
	got := h.call("POST", "/v1/queues/orders/lease", "")
	for name, want := range map[string]string{
		api.HeaderID:                "a",
		api.HeaderQueue:             "orders",
		api.HeaderPriority:          "7",
		api.HeaderKey:               "customer 9",
		api.HeaderOrigin:            "fra-1",
		api.HeaderDeliveries:        "1",
		api.HeaderQoS:               "at-least-once",
		"Drawbridge-H-Content-Type": "image/png",
		"Drawbridge-H-Traceparent":  "00-aa-bb-01",
		"Drawbridge-H-Baggage":      "mine",
		"Drawbridge-H-X-Other":      "",
		"Content-Type":              api.TypeBytes,
	} {
		if v := got.header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if string(got.body) != body {
		t.Errorf("body %q, want %q", got.body, body)
	}
}

func TestBatchGivesEachLineItsVerdict(t *testing.T) {
	h := start(t)
	h.call("PUT", "/v1/queues/small/messages/taken", "one")
	lines := []struct {
		line    string
		verdict api.Verdict
		code    api.Code
	}{
		{`{"id":"a","body":"text","priority":0,"headers":{"n":"v"}}`, api.VerdictStored, ""},
		{`{"id":"b","body_base64":"/wA="}`, api.VerdictStored, ""},
		{`{"id":"a","body":"text"}`, api.VerdictDuplicate, ""},
		{`{"id":"taken","body":"two"}`, api.VerdictIDConflict, api.CodeIDConflict},
		{`{"id":"c","body":"seventeen bytes !!"}`, api.VerdictRefused, api.CodeTooLarge},
		{`{"id":"d","body":"x","body_base64":"eA=="}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"e","prioritty":1}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"f","priority":10}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"g","headers":{"Upper":"v"}}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"h","headers":{"n":"a\nb"}}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"i","body":"\udcff"}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"j","body":"\ud83d\ude00"}`, api.VerdictStored, ""},
		{`{"id":"k","body":"\\udcff"}`, api.VerdictStored, ""},
		{"{\"id\":\"l\",\"body\":\"\xff\"}", api.VerdictRefused, api.CodeMalformed},
		{`{"id":"m"} {"id":"n"}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"has space"}`, api.VerdictRefused, api.CodeMalformed},
		{`{"id":"o","qos":"thrice"}`, api.VerdictRefused, api.CodeMalformed},
		{`not json`, api.VerdictRefused, api.CodeMalformed},
		{`{"body":"minted"}`, api.VerdictStored, ""},
	}
	var body strings.Builder
	for _, l := range lines {
		body.WriteString(l.line + "\n\n")
	}
	a := h.call("POST", "/v1/queues/small/messages", body.String(), "Content-Type", api.TypeNDJSON+"; charset=utf-8")
	if a.status != http.StatusCreated {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	results := linesOf[api.PutResult](t, a)
	if len(results) != len(lines) {
		t.Fatalf("%d verdicts for %d lines", len(results), len(lines))
	}
	var last uint64
	for i, l := range lines {
		got := results[i]
		if got.Verdict != l.verdict || got.Code != l.code {
			t.Errorf("%s: %+v, want %s %s", l.line, got, l.verdict, l.code)
		}
		if got.Verdict == api.VerdictStored {
			if got.Sequence <= last || got.ID == "" {
				t.Errorf("%s: %+v after sequence %d", l.line, got, last)
			}
			last = got.Sequence
		}
	}
}

func TestWhatMayHaveHappenedIsUnknown(t *testing.T) {
	h := start(t)
	for name, c := range map[string]struct {
		err    error
		code   api.Code
		status int
	}{
		"failed commit":             {fmt.Errorf("sync: %w", spool.ErrUnknown), api.CodeUnknown, http.StatusServiceUnavailable},
		"failed commit and closing": {errors.Join(spool.ErrClosed, spool.ErrUnknown), api.CodeUnknown, http.StatusServiceUnavailable},
		"an error of nobody":        {errors.New("odd"), api.CodeUnknown, http.StatusServiceUnavailable},
		"closed before it began":    {spool.ErrClosed, api.CodeStopping, http.StatusServiceUnavailable},
	} {
		h.store.put = func(context.Context, []spool.Put) ([]spool.PutResult, error) { return nil, c.err }
		a := h.call("PUT", "/v1/queues/orders/messages/a", "x")
		if p := a.problem(t); a.status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, p.Code, c.status, c.code)
		}
		batch := h.call("POST", "/v1/queues/orders/messages", `{"body":"x"}`, "Content-Type", api.TypeNDJSON)
		if p := batch.problem(t); p.Code != c.code {
			t.Errorf("%s, batch: %s, want %s", name, p.Code, c.code)
		}
	}
}
