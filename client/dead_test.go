package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"drawbridge/api"
	"drawbridge/client"
	"drawbridge/message"
	"drawbridge/spool"
)

// buried returns a client of an agent with n dead letters of orders, whose ids are 0 to n-1.
func buried(t *testing.T, n int) *client.Client {
	t.Helper()
	store, c, _ := newStore(t)
	ctx := t.Context()
	for i := range n {
		m := spool.Put{Queue: "orders", ID: fmt.Sprint(i), Body: []byte{0xff, byte(i)}, Headers: message.NewHeaders(map[string]string{"city": "Paris & Lyon"})}
		if _, err := store.Put(ctx, []spool.Put{m}); err != nil {
			t.Fatal(err)
		}
		d, err := store.Lease(ctx, spool.LeaseRequest{Queue: "orders"})
		if err != nil || len(d) != 1 {
			t.Fatalf("lease: %v %v", d, err)
		}
		bury := spool.Settlement{Receipt: d[0].Receipt, Act: spool.Bury, Text: fmt.Sprintf("no use: %d", i)}
		if _, err := store.Settle(ctx, []spool.Settlement{bury}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestDeadLettersAreWhatDied(t *testing.T) {
	c := buried(t, 3)
	letters, err := c.DeadLetters(t.Context(), "orders", client.DeadFilter{}, 10)
	if err != nil || len(letters) != 3 {
		t.Fatalf("%+v, %v", letters, err)
	}
	l := letters[1]
	if l.ID != "1" || string(l.Body) != "\xff\x01" || l.Headers["city"] != "Paris & Lyon" || l.Leased {
		t.Errorf("%+v", l)
	}
	if d := l.Death; d.Reason != "rejected" || d.Text != "no use: 1" || d.Queue != "orders" || d.Deliveries != 1 || time.Since(d.At) > time.Minute {
		t.Errorf("death: %+v", d)
	}
}

func TestEveryFieldOfAFilterCounts(t *testing.T) {
	c := buried(t, 2)
	letters, err := c.DeadLetters(t.Context(), "orders", client.DeadFilter{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		filter client.DeadFilter
		want   uint64
	}{
		"nothing":      {client.DeadFilter{}, 2},
		"reason":       {client.DeadFilter{Reason: "rejected"}, 2},
		"other reason": {client.DeadFilter{Reason: "ttl"}, 0},
		"text":         {client.DeadFilter{Text: "use: 1"}, 1},
		"id":           {client.DeadFilter{ID: "1"}, 1},
		"header":       {client.DeadFilter{Header: "City=Paris & Lyon"}, 2},
		"other header": {client.DeadFilter{Header: "city=Paris"}, 0},
		"route":        {client.DeadFilter{Route: "nyc/in"}, 0},
		"older":        {client.DeadFilter{OlderThan: time.Hour}, 0},
		"newer":        {client.DeadFilter{NewerThan: time.Hour}, 2},
		"from":         {client.DeadFilter{From: letters[1].Sequence}, 1},
	} {
		count, err := c.DeadCount(t.Context(), "orders", of.filter)
		if err != nil || count.Total != 2 || count.Matching != of.want {
			t.Errorf("%s: %+v, %v; want %d", name, count, err, of.want)
		}
	}
}

func TestRequeueAndPurgeTellTheirProgress(t *testing.T) {
	c := buried(t, 5)
	ctx := t.Context()
	letters, err := c.DeadLetters(ctx, "orders", client.DeadFilter{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var told []api.DeadProgress
	tell := func(p api.DeadProgress) { told = append(told, p) }
	dry, err := c.RequeueDead(ctx, "orders", client.DeadChoice{All: true, DryRun: true}, tell)
	if err != nil || dry.Of != 5 || dry.Requeued != 0 || !dry.Finished {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	some, err := c.RequeueDead(ctx, "orders", client.DeadChoice{Sequences: []uint64{letters[0].Sequence, letters[4].Sequence}}, tell)
	if err != nil || some.Requeued != 2 || len(told) < 3 || told[len(told)-1].Requeued != 2 {
		t.Errorf("by sequence: %+v, %v; told %+v", some, err, told)
	}
	first, err := c.RequeueDead(ctx, "orders", client.DeadChoice{Filter: client.DeadFilter{Text: "no use"}, Max: 1, Rate: 100}, nil)
	if err != nil || first.Of != 1 || first.Requeued != 1 {
		t.Errorf("the first of a filter: %+v, %v", first, err)
	}
	gone, err := c.PurgeDead(ctx, "orders", client.DeadChoice{All: true}, nil)
	if err != nil || gone.Purged != 2 || !gone.Finished {
		t.Errorf("purge: %+v, %v", gone, err)
	}
	if deliveries, err := c.Lease(ctx, "orders", client.Lease{Max: 10}); err != nil || len(deliveries) != 3 {
		t.Errorf("%d live again, %v; want 3", len(deliveries), err)
	}
}

func TestNothingChosenIsRefused(t *testing.T) {
	c := buried(t, 1)
	_, err := c.PurgeDead(t.Context(), "orders", client.DeadChoice{}, nil)
	var answered *client.Error
	if !errors.As(err, &answered) || answered.Code != api.CodeBadOption || !answered.Refused() {
		t.Errorf("purge of nothing in particular: %v", err)
	}
}

func TestRequeueThatIsCutOffIsUnknown(t *testing.T) {
	c := buried(t, 4)
	ctx, leave := context.WithCancel(t.Context())
	last, err := c.RequeueDead(ctx, "orders", client.DeadChoice{All: true, Rate: 1}, func(p api.DeadProgress) {
		if p.Done > 0 {
			leave()
		}
	})
	if !errors.Is(err, client.ErrUnknown) || last.Finished || last.Done == 0 {
		t.Errorf("%+v, %v", last, err)
	}
}

func TestAnswerThatEndsEarlyIsUnknown(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":          "",
		"not finished":     `{"done":1,"of":2}` + "\n",
		"half a line":      `{"done":1,"of":2}` + "\n" + `{"done":2,"of":2,"fin`,
		"ended with words": `{"done":1,"of":2,"requeued":1,"code":"stopping","detail":"the agent is stopping"}` + "\n",
	} {
		c := fakeAgent(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(answer)) })
		if _, err := c.RequeueDead(t.Context(), "orders", client.DeadChoice{All: true}, nil); !errors.Is(err, client.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fakeAgent returns a client of a server that answers every call in one way.
func fakeAgent(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	socket := socketPath(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	c := client.New(socket)
	t.Cleanup(func() {
		c.Close()
		_ = server.Close()
		<-served
	})
	return c
}
