package localapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/spool"
)

// fill puts n messages into orders and leases them all.
func (h *host) fill(n int) (receipts []string) {
	h.t.Helper()
	for i := range n {
		if a := h.call("PUT", fmt.Sprintf("/v1/queues/orders/messages/%d", i), "x"); a.status != http.StatusCreated {
			h.t.Fatalf("put: %d %s", a.status, a.body)
		}
	}
	for _, d := range linesOf[api.Delivery](h.t, h.call("POST", "/v1/queues/orders/lease?max=1000", "")) {
		receipts = append(receipts, d.Receipt)
	}
	if len(receipts) != n {
		h.t.Fatalf("%d leased, want %d", len(receipts), n)
	}
	return receipts
}

// settle makes one call about receipts and returns its results.
func (h *host) settle(call, body string, headers ...string) []api.ReceiptResult {
	h.t.Helper()
	a := h.call("POST", "/v1/receipts/"+call, body, headers...)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != api.TypeNDJSON {
		h.t.Fatalf("%s: %d %s", call, a.status, a.body)
	}
	return linesOf[api.ReceiptResult](h.t, a)
}

// queue returns what the API says of orders.
func (h *host) queue() (q api.Queue) {
	h.t.Helper()
	if err := json.Unmarshal(h.call("GET", "/v1/queues/orders", "").body, &q); err != nil {
		h.t.Fatal(err)
	}
	return q
}

// requireWait requires a message that was given back, and for how long it waits.
func requireWait(t *testing.T, got api.ReceiptResult, want time.Duration) {
	t.Helper()
	if got.Verdict != api.Nacked || got.WaitMillis == nil || *got.WaitMillis != want.Milliseconds() || got.LeaseMillis != nil {
		t.Errorf("%+v, want nacked and a wait of %s", got, want)
	}
}

func TestNackSaysHowLongAMessageWaits(t *testing.T) {
	h := start(t)
	r := h.fill(3)
	requireWait(t, h.settle("nack", r[0])[0], time.Second) // the first wait unless the queue says otherwise
	requireWait(t, h.settle("nack?delay=1h", r[1])[0], time.Hour)
	requireWait(t, h.settle("nack?delay=0s", r[2])[0], 0)
	if q := h.queue(); q.Waiting != 2 || q.Leased != 0 || q.Messages != 3 {
		t.Errorf("%+v", q)
	}
	states := ""
	for _, p := range linesOf[api.Peeked](t, h.call("GET", "/v1/queues/orders/messages", "")) {
		states += fmt.Sprintf("%s %t %t;", p.ID, p.Leased, p.Waiting)
	}
	if states != "0 false true;1 false true;2 false false;" {
		t.Errorf("id, leased, waiting: %s", states)
	}
	if a := h.call("POST", "/v1/queues/orders/lease", ""); a.header.Get(api.HeaderID) != "2" || a.header.Get(api.HeaderDeliveries) != "2" {
		t.Errorf("what is ready at once: %d %v", a.status, a.header)
	}
}

func TestExtendSaysHowLongTheLeaseRuns(t *testing.T) {
	h := start(t)
	r := h.fill(1)
	for query, want := range map[string]time.Duration{"": spool.DefaultVisibilityTimeout, "?visibility=2h": 2 * time.Hour, "?visibility=5ms": 5 * time.Millisecond} {
		h := start(t)
		got := h.settle("extend"+query, h.fill(1)[0])[0]
		if got.Verdict != api.Extended || got.LeaseMillis == nil || *got.LeaseMillis != want.Milliseconds() || got.WaitMillis != nil {
			t.Errorf("extend%s: %+v, want a lease of %s", query, got, want)
		}
	}
	h.settle("ack", r[0])
	if got := h.settle("extend", r[0])[0]; got.Verdict != api.AlreadySettled || got.LeaseMillis != nil {
		t.Errorf("extend after an ack: %+v", got)
	}
}

func TestBuryKeepsTheText(t *testing.T) {
	h := start(t)
	r := h.fill(1)
	text := "no such street: \"Rue\" & Ö"
	if got := h.settle("bury?text="+url.QueryEscape(text), r[0]); got[0].Verdict != api.Buried {
		t.Errorf("%+v", got)
	}
	if got := h.settle("bury", r[0]); got[0].Verdict != api.AlreadySettled {
		t.Errorf("again: %+v", got)
	}
	if q := h.queue(); q.Buried != 1 || q.Messages != 0 {
		t.Errorf("%+v", q)
	}
	peeked := linesOf[api.Peeked](t, h.call("GET", "/v1/queues/orders.dead/messages", ""))
	if len(peeked) != 1 || peeked[0].Death == nil || peeked[0].Death.Text != text || peeked[0].Death.Reason != "rejected" {
		t.Fatalf("peek: %+v", peeked)
	}
	// A consumer of dead letters hears of the death in both forms.
	raw := h.call("POST", "/v1/queues/orders.dead/lease?visibility=1ms", "")
	var death api.Death
	if err := json.Unmarshal([]byte(raw.header.Get(api.HeaderDeath)), &death); err != nil || death.Text != text || death.Queue != "orders" || death.Deliveries != 1 {
		t.Errorf("lease: %v %+v", err, death)
	}
	lines := linesOf[api.Delivery](t, h.call("POST", "/v1/queues/orders.dead/lease?max=9&wait=1m", ""))
	if len(lines) != 1 || lines[0].Death == nil || *lines[0].Death != death {
		t.Errorf("lease of many: %+v", lines)
	}
}

func TestMessageThatWasHandedOutOftenEnoughDies(t *testing.T) {
	h := start(t)
	r := h.fill(1)[0]
	for range spool.DefaultMaxDeliveries - 1 {
		requireWait(t, h.settle("nack?delay=0s", r)[0], 0)
		r = h.receipt("orders")
	}
	if got := h.settle("nack?delay=0s&text=paper+jam", r)[0]; got.Verdict != api.Died || got.WaitMillis != nil {
		t.Errorf("%+v", got)
	}
	if dead := h.dead("orders", ""); len(dead) != 1 || dead[0].Death.Reason != "max-deliveries" || dead[0].Death.Text != "paper jam" {
		t.Errorf("%+v", dead)
	}
}

func TestALineGoesBeforeTheQuery(t *testing.T) {
	h := start(t)
	r := h.fill(4)
	body := fmt.Sprintf(`{"receipt":%q,"delay":"2h"}`+"\n"+`%q`+"\n"+`{"receipt":"none"}`+"\n"+`{"receipt":%q,"delay":"0s"}`+"\n", r[0], r[1], r[2])
	got := h.settle("nack?delay=1h", body, "Content-Type", api.TypeNDJSON)
	if len(got) != 4 || got[2].Verdict != api.BadReceipt || got[2].WaitMillis != nil {
		t.Fatalf("%+v", got)
	}
	requireWait(t, got[0], 2*time.Hour)
	requireWait(t, got[1], time.Hour)
	requireWait(t, got[3], 0)

	array := fmt.Sprintf(`[{"receipt":%q,"visibility":"3h"},%q]`, r[3], r[0])
	got = h.settle("extend", array, "Content-Type", api.TypeJSON)
	if len(got) != 2 || got[0].Receipt != r[3] || *got[0].LeaseMillis != (3*time.Hour).Milliseconds() || got[1].Verdict != api.AlreadySettled {
		t.Errorf("%+v", got)
	}
	h.settle("bury?text=common", fmt.Sprintf(`{"receipt":%q,"text":"its own"}`, r[3]), "Content-Type", api.TypeNDJSON)
	if dead := h.dead("orders", ""); len(dead) != 1 || dead[0].Death.Text != "its own" {
		t.Errorf("%+v", dead)
	}
}

func TestAReceiptIsStaleOnceItsLeaseHasRunOut(t *testing.T) {
	h := start(t)
	h.call("PUT", "/v1/queues/orders/messages/a", "x")
	lost := h.call("POST", "/v1/queues/orders/lease?visibility=1ms", "").header.Get(api.HeaderReceipt)
	if a := h.call("POST", "/v1/queues/orders/lease?wait=1m", ""); a.status != http.StatusOK {
		t.Fatalf("second lease: %d %s", a.status, a.body)
	}
	for _, call := range []string{"ack", "nack", "extend", "bury"} {
		if got := h.settle(call, lost); len(got) != 1 || got[0] != (api.ReceiptResult{Receipt: lost, Verdict: api.Stale}) {
			t.Errorf("%s: %+v", call, got)
		}
	}
	if q := h.queue(); q.Messages != 1 || q.Leased != 1 {
		t.Errorf("a stale receipt changed something: %+v", q)
	}
}

// One mistake refuses the whole call: half of it done would be hard to tell.
func TestMistakesInASettlementChangeNothing(t *testing.T) {
	h := start(t)
	r := h.fill(1)[0]
	for _, c := range []struct {
		call, body, mediaType string
		code                  api.Code
		says                  string
	}{
		{"ack?delay=1s", r, api.TypeText, api.CodeBadOption, "delay"},
		{"nack?visibility=1s", r, api.TypeText, api.CodeBadOption, "visibility"},
		{"nack?delay=-1s", r, api.TypeText, api.CodeBadOption, "from 0s to 720h"},
		{"nack?delay=721h", r, api.TypeText, api.CodeBadOption, "from 0s to 720h"},
		{"nack?delay=soon", r, api.TypeText, api.CodeBadOption, "like 30s"},
		{"nack?delay=1s&delay=2s", r, api.TypeText, api.CodeBadOption, "2 times"},
		{"extend?visibility=0s", r, api.TypeText, api.CodeBadOption, "from 1ms to 24h"},
		{"extend?visibility=25h", r, api.TypeText, api.CodeBadOption, "from 1ms to 24h"},
		{"extend?text=x", r, api.TypeText, api.CodeBadOption, "text"},
		{"bury?delay=1s", r, api.TypeText, api.CodeBadOption, "delay"},
		{"nack", "", api.TypeText, api.CodeMalformed, "no receipt"},
		{"nack", `{"receipt":"` + r + `"}` + "\n" + `{"receipt":"a","delay":"soon"}`, api.TypeNDJSON, api.CodeMalformed, "receipt 2: delay=soon"},
		{"extend", `["` + r + `",{"receipt":"a","visibility":"25h"}]`, api.TypeJSON, api.CodeMalformed, "receipt 2: visibility=25h"},
		{"extend", `["` + r + `",{"receipt":"a","delay":"1s"}]`, api.TypeJSON, api.CodeMalformed, "delay belongs to another call"},
		{"ack", `{"receipt":"` + r + `","text":"why"}`, api.TypeNDJSON, api.CodeMalformed, "text belongs to another call"},
		{"bury", `{"receipt":"` + r + `","why":"x"}`, api.TypeNDJSON, api.CodeMalformed, "unknown field"},
		{"nack", `{"receipt":"` + r + `","delay":5}`, api.TypeNDJSON, api.CodeMalformed, "JSON"},
		{"bury", strings.Repeat("a\n", localapi.MaxReceipts+1), api.TypeText, api.CodeTooLarge, "at most 10000"},
	} {
		p := h.call("POST", "/v1/receipts/"+c.call, c.body, "Content-Type", c.mediaType).problem(t)
		if p.Code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %.60q: %s %s, want %s and %q", c.call, c.body, p.Code, p.Detail, c.code, c.says)
		}
	}
	if got := h.settle("ack", r); got[0].Verdict != api.Acked {
		t.Errorf("a call that was refused has settled the delivery: %+v", got)
	}
}
