package localapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/message"
	"drawbridge/spool"
)

// bury makes a dead letter out of a new message of orders. Its path may end in a query; headers are pairs.
func (h *host) bury(path, text string, headers ...string) {
	h.t.Helper()
	if a := h.call("PUT", "/v1/queues/orders/messages/"+path, "body of "+path, headers...); a.status != http.StatusCreated {
		h.t.Fatalf("put: %d %s", a.status, a.body)
	}
	receipt := spool.Receipt(h.receipt("orders"))
	settled, err := h.store.Settle(h.t.Context(), []spool.Settlement{{Receipt: receipt, Act: spool.Bury, Text: text}})
	if err != nil || settled[0].Err != nil {
		h.t.Fatalf("bury: %v %+v", err, settled)
	}
}

// buryMany makes n dead letters with the ids 0 to n-1.
func (h *host) buryMany(n int) {
	h.t.Helper()
	puts := make([]spool.Put, n)
	for i := range puts {
		puts[i] = spool.Put{Queue: "orders", ID: fmt.Sprint(i), Body: []byte("x")}
	}
	if _, err := h.store.Put(h.t.Context(), puts); err != nil {
		h.t.Fatal(err)
	}
	if err := buryAll(h.t.Context(), h.store, "no use"); err != nil {
		h.t.Fatal(err)
	}
}

// buryAll makes dead letters of all that is ready in orders.
func buryAll(ctx context.Context, store spool.Local, text string) error {
	deliveries, err := store.Lease(ctx, spool.LeaseRequest{Queue: "orders", Max: 1000})
	burials := make([]spool.Settlement, len(deliveries))
	for i := range deliveries {
		burials[i] = spool.Settlement{Receipt: deliveries[i].Receipt, Act: spool.Bury, Text: text}
	}
	if err == nil {
		_, err = store.Settle(ctx, burials)
	}
	return err
}

// buryOnRoute makes a dead letter of a message that was refused at the far side.
func (h *host) buryOnRoute(id, text string) {
	h.t.Helper()
	h.call("PUT", "/v1/queues/out/messages/"+id, "x")
	out := h.store.Store.(spool.Outgoing)
	route := spool.Route{Queue: "out", Name: "nyc/in"}
	held, err := out.Held(h.t.Context(), route, message.DefaultPriority, 0, 1)
	if err != nil || len(held) != 1 {
		h.t.Fatalf("held: %v %v", held, err)
	}
	if err := out.Mark(h.t.Context(), route, message.DefaultPriority, held[0].Number); err != nil {
		h.t.Fatal(err)
	}
	burial := spool.Burial{Number: held[0].Number, Reason: message.ReasonTooLarge, Text: text}
	if err := out.BuryRoute(h.t.Context(), route, message.DefaultPriority, []spool.Burial{burial}); err != nil {
		h.t.Fatal(err)
	}
}

// dead lists the dead letters of a queue.
func (h *host) dead(queue, query string) []api.Peeked {
	h.t.Helper()
	a := h.call("GET", "/v1/queues/"+queue+"/dead"+query, "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != api.TypeNDJSON {
		h.t.Fatalf("dead%s: %d %s", query, a.status, a.body)
	}
	return linesOf[api.Peeked](h.t, a)
}

// swept makes a call that requeues or purges and returns the last line of its answer.
func (h *host) swept(call, body string) api.DeadProgress {
	h.t.Helper()
	a := h.call("POST", "/v1/queues/orders/dead/"+call, body)
	lines := linesOf[api.DeadProgress](h.t, a)
	if a.status != http.StatusOK || len(lines) == 0 || !lines[len(lines)-1].Finished {
		h.t.Fatalf("%s: %d %s", call, a.status, a.body)
	}
	return lines[len(lines)-1]
}

func (h *host) count(queue, query string) (count api.DeadCount) {
	h.t.Helper()
	a := h.call("GET", "/v1/queues/"+queue+"/dead?count=true"+query, "")
	if err := json.Unmarshal(a.body, &count); err != nil || a.status != http.StatusOK {
		h.t.Fatalf("count: %d %s", a.status, a.body)
	}
	return count
}

func idsOf(letters []api.Peeked) string {
	ids := make([]string, len(letters))
	for i, l := range letters {
		ids[i] = l.ID
	}
	return strings.Join(ids, " ")
}

// aged is a store whose dead letters say that they died longer ago, the first one an hour, the next one two, and so on.
type aged struct{ localapi.Store }

func (a aged) Peek(ctx context.Context, queue string, from uint64, max int) ([]spool.Peeked, error) {
	peeked, err := a.Store.Peek(ctx, queue, from, max)
	for i := range peeked {
		if p := &peeked[i]; p.Death != nil {
			var n int
			if _, err := fmt.Sscan(p.ID, &n); err != nil {
				return nil, err
			}
			p.Death.At = p.Death.At.Add(-time.Duration(n+1) * time.Hour)
		}
	}
	return peeked, err
}

func TestDeadLettersAreListedWithTheirDeaths(t *testing.T) {
	h := start(t)
	h.bury("a", "no such street", "Drawbridge-H-City", "Paris")
	h.buryOnRoute("b", "the queue takes 16")
	got := h.dead("orders", "")
	if len(got) != 1 || got[0].Queue != "orders.dead" || *got[0].Text != "body of a" || got[0].Headers["city"] != "Paris" {
		t.Fatalf("dead letters of orders: %+v", got)
	}
	d := got[0].Death
	if d == nil || d.Reason != "rejected" || d.Text != "no such street" || d.Queue != "orders" || d.Deliveries != 1 || time.Since(d.At) > time.Minute {
		t.Errorf("death: %+v", d)
	}
	routed := h.dead("out.dead", "") // the name of their own queue does as well
	if len(routed) != 1 || routed[0].Death.Route != "nyc/in" || routed[0].Death.Reason != "too-large" {
		t.Errorf("dead letters of out: %+v", routed)
	}
}

func TestDeadLettersAreFiltered(t *testing.T) {
	h := start(t)
	h.bury("0", "no such street", "Drawbridge-H-City", "Paris")
	h.bury("1", "no such city", "Drawbridge-H-City", "Pari")
	h.bury("2", "")
	h.buryOnRoute("3", "")
	third := fmt.Sprint(h.dead("orders", "")[2].Sequence)
	h.store.Store = aged{h.store.Store}
	for query, want := range map[string]string{
		"?reason=rejected":                "0 1 2",
		"?reason=ttl":                     "",
		"?reason=reject":                  "",
		"?text=such":                      "0 1",
		"?text=street":                    "0",
		"?id=1":                           "1",
		"?header=City=Paris":              "0",
		"?header=city=":                   "",
		"?route=nyc/in":                   "",
		"?older=90m":                      "1 2",
		"?newer=150m":                     "0 1",
		"?older=90m&newer=150m&text=city": "1",
		"?from=" + third:                  "2",
		"?max=2":                          "0 1",
		"?text=city&max=1":                "1",
	} {
		if got := idsOf(h.dead("orders", query)); got != want {
			t.Errorf("dead%s: %q, want %q", query, got, want)
		}
	}
	if got := idsOf(h.dead("out", "?route=nyc/in&reason=too-large")); got != "3" {
		t.Errorf("by route: %q", got)
	}
}

func TestDeadLettersAreCountedBeyondOneStep(t *testing.T) {
	h := start(t)
	h.buryMany(300)
	h.bury("300", "another text")
	h.store.Store = aged{h.store.Store}
	all := h.count("orders", "")
	if all.Queue != "orders" || all.Total != 301 || all.Matching != 301 || all.ByReason["rejected"] != 301 {
		t.Errorf("all: %+v", all)
	}
	if all.OldestAt == nil || time.Since(*all.OldestAt).Round(time.Hour) != 301*time.Hour {
		t.Errorf("oldest at %v", all.OldestAt)
	}
	some := h.count("orders", "&text=another")
	if some.Total != 301 || some.Matching != 1 || some.ByReason["rejected"] != 1 {
		t.Errorf("filtered: %+v", some)
	}
	if none := h.count("small", ""); none.Total != 0 || none.OldestAt != nil || len(none.ByReason) != 0 {
		t.Errorf("none: %+v", none)
	}
	if got := len(h.dead("orders", "?max=10000")); got != 301 {
		t.Errorf("%d are listed, want 301", got)
	}
}

func TestRequeueBySequenceTakesEveryForm(t *testing.T) {
	h := start(t)
	for name, c := range map[string]struct{ mediaType, format string }{
		"curl":    {"application/x-www-form-urlencoded", "%d"},
		"text":    {"text/plain", "%d\r\n\n"},
		"array":   {api.TypeJSON, `[%d]`},
		"objects": {api.TypeJSON, `[{"sequence":%d}]`},
		"numbers": {api.TypeNDJSON, "%d\n"},
		"lines":   {api.TypeNDJSON, "{\"sequence\":%d}\n"},
	} {
		h.bury(name, "")
		letters := h.dead("orders", "")
		a := h.call("POST", "/v1/queues/orders/dead/requeue", fmt.Sprintf(c.format, letters[0].Sequence), "Content-Type", c.mediaType)
		lines := linesOf[api.DeadProgress](t, a)
		last := lines[len(lines)-1]
		if a.status != http.StatusOK || !last.Finished || last.Done != 1 || last.Of != 1 || last.Requeued != 1 || last.ByReason["rejected"] != 1 {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		lease := h.call("POST", "/v1/queues/orders/lease", "")
		if lease.header.Get(api.HeaderID) != name || lease.header.Get(api.HeaderDeliveries) != "1" {
			t.Errorf("%s: lease: %d %v", name, lease.status, lease.header)
		}
		h.call("POST", "/v1/receipts/ack", lease.header.Get(api.HeaderReceipt))
	}
}

func TestRequeueSkipsWhatItCannotTakeAndSaysWhy(t *testing.T) {
	h := start(t)
	h.buryMany(3)
	letters := h.dead("orders", "")
	h.receipt("orders.dead")
	list := fmt.Sprintf("%d\n%d\n%d\n999999\n", letters[2].Sequence, letters[0].Sequence, letters[2].Sequence)
	dry := h.swept("requeue?dry_run=true", list)
	if dry.Of != 3 || dry.Requeued != 0 || !dry.DryRun || dry.SkippedFor[api.SkipGone] != 1 || dry.SkippedFor[api.SkipLeased] != 1 {
		t.Errorf("dry run: %+v", dry)
	}
	got := h.swept("requeue", list)
	if got.Done != 3 || got.Of != 3 || got.Requeued != 1 || got.Skipped != 2 || got.SkippedFor[api.SkipGone] != 1 || got.SkippedFor[api.SkipLeased] != 1 {
		t.Errorf("requeue: %+v", got)
	}
	if left := idsOf(h.dead("orders", "")); left != "0 1" {
		t.Errorf("left are %q", left)
	}
}

func TestSweepsByFilter(t *testing.T) {
	h := start(t)
	h.buryMany(270)
	h.bury("odd", "odd one")
	if dry := h.swept("requeue?text=use&dry_run=true", ""); dry.Of != 270 || dry.Done != 0 || h.count("orders", "").Total != 271 {
		t.Errorf("dry run: %+v", dry)
	}
	if few := h.swept("requeue?text=use&max=3", ""); few.Of != 3 || few.Requeued != 3 {
		t.Errorf("the first three: %+v", few)
	}
	if rest := h.swept("requeue?text=use", ""); rest.Requeued != 267 || rest.Done != 267 {
		t.Errorf("the rest: %+v", rest)
	}
	if first := h.call("POST", "/v1/queues/orders/lease", ""); first.header.Get(api.HeaderID) != "0" {
		t.Errorf("first to live again is %s", first.header.Get(api.HeaderID))
	}
	if left := idsOf(h.dead("orders", "")); left != "odd" {
		t.Errorf("left are %q", left)
	}
	if got := h.swept("purge?id=nobody", ""); got.Of != 0 || got.Purged != 0 {
		t.Errorf("purge of nothing: %+v", got)
	}
	if got := h.swept("purge?all=true", ""); got.Of != 1 || got.Purged != 1 || h.count("orders", "").Total != 0 {
		t.Errorf("purge: %+v", got)
	}
}

func TestSweepsRefuseWhatMayBeAMistake(t *testing.T) {
	h := start(t)
	h.buryMany(2)
	sequence := fmt.Sprint(h.dead("orders", "")[0].Sequence)
	for _, c := range []struct{ path, body, hint string }{
		{"orders/dead/purge", "", "all=true"},
		{"orders/dead/requeue", "\n \n", "all=true"},
		{"orders/dead/purge?max=1", "", "all=true"},
		{"orders/dead/purge?reason=", "", "it is empty"},
		{"orders/dead/purge?reason=&older=1h", "", "it is empty"},
		{"orders/dead/purge?all=true&reason=rejected", "", "leave out one"},
		{"orders/dead/purge?all=true", sequence, "nothing to choose"},
		{"orders/dead/purge?text=use", sequence, "nothing to choose"},
		{"orders/dead/purge?all=yes", "", "true or false"},
		{"orders/dead/purge?all=true&rate=3", "", "unknown here"},
		{"orders/dead/requeue?all=true&rate=0", "", "whole number"},
		{"orders/dead/requeue?header=city", "", "NAME=VALUE"},
		{"orders/dead/requeue", "one", "is no sequence"},
		{"orders/dead/requeue", "-1", "is no sequence"},
		{"orders/dead/requeue", strings.Repeat("1\n", 10_001), "more than 10000"},
		{"nobody/dead/requeue?all=true", "", "no such queue"},
		{"nobody.dead/dead/purge?all=true", "", "no such queue"},
	} {
		a := h.call("POST", "/v1/queues/"+c.path, c.body)
		if p := a.problem(t); a.status/100 != 4 || !strings.Contains(p.Detail, c.hint) {
			t.Errorf("%s with %.20q: %d %s, want a word of %q", c.path, c.body, a.status, p.Detail, c.hint)
		}
	}
	for _, query := range []string{"?count=true&max=3", "?older=-1h", "?newer=soon", "?count=1"} {
		if a := h.call("GET", "/v1/queues/orders/dead"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("dead%s: %d %s", query, a.status, a.body)
		}
	}
	if left := h.count("orders", "").Total; left != 2 {
		t.Errorf("%d are left of 2 that nobody asked for", left)
	}
}

// relapsing is a store in which what is requeued dies again at once.
type relapsing struct{ localapi.Store }

func (r relapsing) Requeue(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	answers, err := r.Store.Requeue(ctx, queue, sequences)
	if err == nil {
		err = buryAll(ctx, r.Store, "again")
	}
	return answers, err
}

func TestWhatDiesDuringARequeueStaysDead(t *testing.T) {
	h := start(t)
	h.buryMany(260)
	h.store.Store = relapsing{h.store.Store}
	if got := h.swept("requeue?all=true", ""); got.Of != 260 || got.Requeued != 260 {
		t.Errorf("%+v", got)
	}
	if got := h.count("orders", "&text=again"); got.Matching != 260 || got.Total != 260 {
		t.Errorf("dead again: %+v", got)
	}
}

// gated is a store that lets one batch through each time it is told to.
type gated struct {
	localapi.Store
	came chan []uint64
	pass chan struct{}
}

func (g gated) Requeue(ctx context.Context, queue string, sequences []uint64) ([]error, error) {
	select {
	case g.came <- slices.Clone(sequences):
	case <-ctx.Done():
	}
	select {
	case <-g.pass:
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", spool.ErrUnknown, err)
	}
	return g.Store.Requeue(ctx, queue, sequences)
}

func (h *host) gate() gated {
	g := gated{h.store.Store, make(chan []uint64), make(chan struct{})}
	h.store.Store = g
	return g
}

func TestClientThatGoesAwayStopsARequeue(t *testing.T) {
	h := start(t)
	h.buryMany(6)
	g := h.gate()
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := h.try(ctx, "POST", "/v1/queues/orders/dead/requeue?all=true&rate=20", "")
		gone <- err
	}()
	if first := <-g.came; len(first) != 2 {
		t.Errorf("the first batch at 20 a second holds %d, want 2", len(first))
	}
	g.pass <- struct{}{}
	<-g.came
	leave()
	if err := <-gone; err == nil {
		t.Fatal("the client that left got an answer")
	}
	h.stop() // and nothing is left that could go on
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
	h.ended <- nil
	left, err := h.store.Peek(t.Context(), "orders.dead", 0, 10)
	if err != nil || len(left) != 4 {
		t.Errorf("%d are left, %v; want 4 of 6", len(left), err)
	}
}

func TestProgressIsToldAsItGoes(t *testing.T) {
	h := start(t)
	h.buryMany(3)
	begun := time.Now()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://agent/v1/queues/orders/dead/requeue?all=true&rate=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var lines []api.DeadProgress
	var at []time.Duration
	for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
		var p api.DeadProgress
		if err := json.Unmarshal(scan.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		lines, at = append(lines, p), append(at, time.Since(begun))
	}
	last := lines[len(lines)-1]
	if !last.Finished || last.Requeued != 3 || lines[0].Of != 3 || lines[0].Done != 0 || len(lines) < 4 {
		t.Errorf("%+v", lines)
	}
	if took := at[len(at)-1]; took < 1900*time.Millisecond {
		t.Errorf("three at one a second took %s", took)
	}
	if at[0] > time.Second {
		t.Errorf("the first line came after %s: it was held back", at[0])
	}
}

func TestStopEndsARequeueWithAWord(t *testing.T) {
	h := start(t)
	h.buryMany(4)
	g := h.gate()
	swept := make(chan answer, 1)
	go func() { swept <- h.call("POST", "/v1/queues/orders/dead/requeue?all=true&rate=1", "") }()
	<-g.came
	h.stop()
	g.pass <- struct{}{}
	a := <-swept
	lines := linesOf[api.DeadProgress](t, a)
	last := lines[len(lines)-1]
	if last.Finished || last.Code != api.CodeStopping || last.Requeued != 1 || last.Of != 4 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestErrorInTheMidstOfAPurgeIsToldByTheLastLine(t *testing.T) {
	h := start(t)
	h.buryMany(2)
	h.store.Store = failing{h.store.Store}
	a := h.call("POST", "/v1/queues/orders/dead/purge?all=true", "")
	lines := linesOf[api.DeadProgress](t, a)
	last := lines[len(lines)-1]
	if a.status != http.StatusOK || last.Finished || last.Code != api.CodeUnknown || !strings.Contains(last.Detail, "the disk is gone") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// failing is a store whose purges end unknown.
type failing struct{ localapi.Store }

func (failing) Purge(context.Context, string, []uint64) ([]error, error) {
	return nil, fmt.Errorf("%w: the disk is gone", spool.ErrUnknown)
}
