package localapi_test

import (
	"net/http"
	"strings"
	"testing"

	"drawbridge/agent/localapi"
	"drawbridge/api"
)

func TestBadRequestsSayWhatIsWrong(t *testing.T) {
	h := start(t)
	long := strings.Repeat("x", 129)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		code               api.Code
	}{
		{"PUT", "/v1/queues/nope/messages/a", "x", nil, 404, api.CodeNoSuchQueue},
		{"PUT", "/v1/queues/NOPE/messages/a", "x", nil, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders.dead/messages/a", "x", nil, 403, api.CodeReserved},
		{"PUT", "/v1/queues/orders/messages/a%20b", "x", nil, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders/messages/" + long, "x", nil, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders/messages/a?priority=10", "x", nil, 400, api.CodeBadOption},
		{"PUT", "/v1/queues/orders/messages/a?priority=-1", "x", nil, 400, api.CodeBadOption},
		{"PUT", "/v1/queues/orders/messages/a?priority=1&priority=2", "x", nil, 400, api.CodeBadOption},
		{"PUT", "/v1/queues/orders/messages/a?prio=1", "x", nil, 400, api.CodeBadOption},
		{"PUT", "/v1/queues/orders/messages/a?qos=thrice", "x", nil, 400, api.CodeBadOption},
		{"PUT", "/v1/queues/orders/messages/a?key=%ff", "x", nil, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders/messages/a?key=%0A", "x", nil, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders/messages/a?%zz", "x", nil, 400, api.CodeBadOption},
		{"PUT", "/v1/queues/orders/messages/a", "x", []string{"Drawbridge-H-Name", "\xff"}, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders/messages/a", "x", []string{"Drawbridge-H-Name", strings.Repeat("v", 17<<10)}, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/orders/messages/a", "x", []string{"Drawbridge-H-", "no name"}, 400, api.CodeMalformed},
		{"PUT", "/v1/queues/small/messages/a", strings.Repeat("x", 17), nil, 413, api.CodeTooLarge},
		{"POST", "/v1/queues/small/messages", strings.Repeat("x", 17), nil, 413, api.CodeTooLarge},
		{"POST", "/v1/queues/nope/messages", `{}`, []string{"Content-Type", api.TypeNDJSON}, 404, api.CodeNoSuchQueue},
		{"POST", "/v1/queues/orders/messages?priority=1", `{}`, []string{"Content-Type", api.TypeNDJSON}, 400, api.CodeBadOption},
		{"POST", "/v1/queues/orders/messages", strings.Repeat("{}\n", localapi.MaxBatchMessages+1), []string{"Content-Type", api.TypeNDJSON}, 413, api.CodeTooLarge},
		{"POST", "/v1/queues/nope/lease", "", nil, 404, api.CodeNoSuchQueue},
		{"POST", "/v1/queues/out/lease", "", nil, 409, api.CodeQueueIsRouted},
		{"POST", "/v1/queues/orders/lease?max=0", "", nil, 400, api.CodeBadOption},
		{"POST", "/v1/queues/orders/lease?max=1001", "", nil, 400, api.CodeBadOption},
		{"POST", "/v1/queues/orders/lease?wait=forever", "", nil, 400, api.CodeBadOption},
		{"POST", "/v1/queues/orders/lease?wait=11m", "", nil, 400, api.CodeBadOption},
		{"POST", "/v1/queues/orders/lease?visibility=-1s", "", nil, 400, api.CodeBadOption},
		{"POST", "/v1/queues/orders/lease", "max=3", nil, 400, api.CodeMalformed},
		{"GET", "/v1/queues/nope/messages", "", nil, 404, api.CodeNoSuchQueue},
		{"GET", "/v1/queues/orders/messages?from=x", "", nil, 400, api.CodeBadOption},
		{"POST", "/v1/receipts/ack", "", nil, 400, api.CodeMalformed},
		{"POST", "/v1/receipts/ack", "[1]", []string{"Content-Type", api.TypeJSON}, 400, api.CodeMalformed},
		{"POST", "/v1/receipts/ack", `{"receit":"a"}`, []string{"Content-Type", api.TypeNDJSON}, 400, api.CodeMalformed},
		{"POST", "/v1/receipts/ack", strings.Repeat("a\n", localapi.MaxReceipts+1), nil, 413, api.CodeTooLarge},
		{"GET", "/v1/queues/nope", "", nil, 404, api.CodeNoSuchQueue},
		{"GET", "/v1/links/nope", "", nil, 404, api.CodeNoSuchLink},
		{"GET", "/v1/queues?all=1", "", nil, 400, api.CodeBadOption},
		{"GET", "/v2/queues", "", nil, 404, api.CodeNoSuchCall},
		{"DELETE", "/v1/queues/orders", "", nil, 405, api.CodeBadMethod},
		{"GET", "/v1/receipts/ack", "", nil, 405, api.CodeBadMethod},
	} {
		a := h.call(c.method, c.path, c.body, c.headers...)
		p := a.problem(t)
		if a.status != c.status || p.Code != c.code {
			t.Errorf("%s %s: %d %s, want %d %s: %s", c.method, c.path, a.status, p.Code, c.status, c.code, p.Detail)
		}
		if p.Title == "" || p.Detail == "" || p.Status != a.status {
			t.Errorf("%s %s: a problem without words: %+v", c.method, c.path, p)
		}
	}
	if stats := h.store.Stats(); stats[0].Stored+stats[1].Stored+stats[2].Stored != 0 {
		t.Errorf("a refused request stored something: %+v", stats)
	}
}

func TestBadMethodNamesTheGoodOnes(t *testing.T) {
	h := start(t)
	a := h.call("DELETE", "/v1/queues/orders/messages", "")
	if allow := a.header.Values("Allow"); len(allow) != 2 || allow[0] != http.MethodGet || allow[1] != http.MethodPost {
		t.Errorf("Allow: %v", allow)
	}
}

func TestStatus(t *testing.T) {
	h := start(t)
	h.call("PUT", "/v1/queues/orders/messages/a", "x")
	for path, want := range map[string]string{
		"/v1/queues":        `"name":"orders","messages":1`,
		"/v1/queues/orders": `"stored":1`,
		"/v1/queues/out":    `"route":"nyc/in"`,
		"/v1/links":         `[{"name":"nyc","state":"up"`,
		"/v1/links/nyc":     `{"name":"nyc"`,
		"/v1/info":          `"agent":"fra-1","version":"v0","spool":"` + h.store.Identity().Spool.String() + `"`,
		"/livez":            "alive",
		"/readyz":           "ready",
		"/health":           `"ready":true`,
	} {
		if a := h.call("GET", path, ""); a.status != http.StatusOK || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
}
