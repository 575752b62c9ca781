package localapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"drawbridge/api"
	"drawbridge/spool"
)

func TestLeaseOfNothing(t *testing.T) {
	h := start(t)
	for _, query := range []string{"", "?max=10", "?wait=1ms"} {
		if a := h.call("POST", "/v1/queues/orders/lease"+query, ""); a.status != http.StatusNoContent || len(a.body) > 0 {
			t.Errorf("lease%s: %d %q", query, a.status, a.body)
		}
	}
}

func TestLeaseOfManyIsLines(t *testing.T) {
	h := start(t)
	h.call("PUT", "/v1/queues/orders/messages/a?priority=4&key=k", "text", "Drawbridge-H-N", "v")
	h.call("PUT", "/v1/queues/orders/messages/b", "\xff\x00")
	a := h.call("POST", "/v1/queues/orders/lease?max=10&visibility=1h", "")
	got := linesOf[api.Delivery](t, a)
	if a.status != http.StatusOK || len(got) != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	first, second := got[0], got[1]
	if first.ID != "a" || first.Text == nil || *first.Text != "text" || first.Headers["n"] != "v" || first.Key != "k" || first.Deliveries != 1 {
		t.Errorf("first: %+v", first)
	}
	if second.ID != "b" || second.Text != nil || string(second.Base64) != "\xff\x00" || second.Receipt == first.Receipt {
		t.Errorf("second: %+v", second)
	}
	if left := time.Duration(first.LeaseMillis) * time.Millisecond; left > time.Hour || left < 59*time.Minute {
		t.Errorf("lease of 1h runs %s", left)
	}
}

func TestLongPollHearsOfAMessage(t *testing.T) {
	h := start(t)
	polled := make(chan answer, 1)
	go func() { polled <- h.call("POST", "/v1/queues/orders/lease?wait=1m", "") }()
	<-h.store.waiting
	h.call("PUT", "/v1/queues/orders/messages/a", "x")
	if a := <-polled; a.status != http.StatusOK || a.header.Get(api.HeaderID) != "a" {
		t.Errorf("poll: %d %s", a.status, a.body)
	}
}

func TestClientThatGoesAwayCostsNoLease(t *testing.T) {
	h := start(t)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := h.try(ctx, "POST", "/v1/queues/orders/lease?wait=1m", "")
		gone <- err
	}()
	<-h.store.waiting
	leave()
	if err := <-gone; err == nil {
		t.Fatal("the client that left got an answer")
	}
	<-h.store.left // the agent has noticed, before anything was there to lease
	h.call("PUT", "/v1/queues/orders/messages/a", "x")
	a := h.call("POST", "/v1/queues/orders/lease", "")
	if a.status != http.StatusOK || a.header.Get(api.HeaderDeliveries) != "1" {
		t.Errorf("lease: %d, deliveries %s", a.status, a.header.Get(api.HeaderDeliveries))
	}
}

func TestStopEndsLongPolls(t *testing.T) {
	h := start(t)
	polled := make(chan answer, 1)
	go func() { polled <- h.call("POST", "/v1/queues/orders/lease?wait=1m", "") }()
	<-h.store.waiting
	h.stop()
	if a := <-polled; a.status != http.StatusNoContent {
		t.Errorf("poll at stop: %d %s", a.status, a.body)
	}
}

func TestStopLetsAPutFinish(t *testing.T) {
	h := start(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	h.store.put = func(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
		close(begun)
		<-finish
		return h.store.Store.Put(ctx, puts)
	}
	put := make(chan answer, 1)
	go func() { put <- h.call("PUT", "/v1/queues/orders/messages/a", "x") }()
	<-begun
	h.stop()
	for { // until nothing is taken any more
		if _, err := h.try(t.Context(), "GET", "/livez", ""); err != nil {
			break
		}
	}
	close(finish)
	if a := <-put; a.status != http.StatusCreated {
		t.Errorf("put over the stop: %d %s", a.status, a.body)
	}
}

func TestGraceEnds(t *testing.T) {
	h := startWithin(t, time.Millisecond)
	begun := make(chan struct{})
	h.store.put = func(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
		close(begun)
		<-ctx.Done() // a commit that hangs
		return nil, fmt.Errorf("%w: %w", spool.ErrUnknown, context.Cause(ctx))
	}
	put := make(chan error, 1)
	go func() {
		_, err := h.try(t.Context(), "PUT", "/v1/queues/orders/messages/a", "x")
		put <- err
	}()
	<-begun
	h.stop()
	if err := <-put; err == nil {
		t.Error("a put that never ended was answered")
	}
}

func TestAckTakesEveryForm(t *testing.T) {
	h := start(t)
	for i := range 8 {
		h.call("PUT", fmt.Sprintf("/v1/queues/orders/messages/%d", i), "x")
	}
	for name, c := range map[string]struct{ mediaType, format string }{
		"curl":    {"application/x-www-form-urlencoded", "%s"},
		"text":    {"text/plain", "%s\r\n"},
		"array":   {api.TypeJSON, `["%s"]`},
		"objects": {api.TypeJSON, `[{"receipt":"%s"}]`},
		"strings": {api.TypeNDJSON, "\"%s\"\n"},
		"lines":   {api.TypeNDJSON, "{\"receipt\":\"%s\"}\n"},
	} {
		receipt := h.receipt("orders")
		body := fmt.Sprintf(c.format, receipt)
		for _, want := range []api.ReceiptVerdict{api.Acked, api.AlreadySettled} {
			a := h.call("POST", "/v1/receipts/ack", body, "Content-Type", c.mediaType)
			got := linesOf[api.ReceiptResult](t, a)
			if a.status != http.StatusOK || len(got) != 1 || got[0] != (api.ReceiptResult{Receipt: receipt, Verdict: want}) {
				t.Errorf("%s: %d %s, want %s", name, a.status, a.body, want)
			}
		}
	}
}

func TestAckKeepsTheOrder(t *testing.T) {
	h := start(t)
	h.call("PUT", "/v1/queues/orders/messages/a", "x")
	a := h.call("POST", "/v1/receipts/ack", "bogus\n"+h.receipt("orders")+"\n\nbogus")
	got := linesOf[api.ReceiptResult](t, a)
	if len(got) != 3 || got[0].Verdict != api.BadReceipt || got[1].Verdict != api.Acked || got[2].Verdict != api.BadReceipt {
		t.Errorf("%s", a.body)
	}
}

func TestPeekStepsThroughAQueue(t *testing.T) {
	h := start(t)
	for i := range 40 {
		h.call("PUT", fmt.Sprintf("/v1/queues/out/messages/%d", i), "x")
	}
	all := linesOf[api.Peeked](t, h.call("GET", "/v1/queues/out/messages", ""))
	if len(all) != 40 {
		t.Fatalf("%d messages, want 40", len(all))
	}
	for i, p := range all {
		if p.ID != fmt.Sprint(i) {
			t.Fatalf("place %d holds %s", i, p.ID)
		}
	}
	some := linesOf[api.Peeked](t, h.call("GET", fmt.Sprintf("/v1/queues/out/messages?from=%d&max=17", all[3].Sequence), ""))
	if len(some) != 17 || some[0].ID != "3" || some[16].ID != "19" {
		t.Errorf("%d messages from place 3: %+v", len(some), some)
	}
	if none := h.call("GET", "/v1/queues/orders/messages", ""); none.status != http.StatusOK || strings.TrimSpace(string(none.body)) != "" {
		t.Errorf("empty queue: %d %q", none.status, none.body)
	}
}
