package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/client"
	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

var queues = map[string]spool.QueueOptions{
	"orders": {},
	"small":  {MaxMessageBytes: 16},
	"out":    {Route: "nyc/in"},
}

// counted counts the connections it accepts.
type counted struct {
	net.Listener
	conns atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.conns.Add(1)
	}
	return conn, err
}

// newAgent serves the real API over a real spool.
func newAgent(t *testing.T) (*client.Client, *counted) {
	t.Helper()
	_, c, counting := newStore(t)
	return c, counting
}

// newStore is newAgent for a test that has to do what no call does.
func newStore(t *testing.T) (*bolt.Store, *client.Client, *counted) {
	t.Helper()
	store, err := bolt.Open(filepath.Join(t.TempDir(), "spool"), bolt.Options{Agent: "fra-1", Queues: queues})
	if err != nil {
		t.Fatal(err)
	}
	socket := socketPath(t)
	l, err := localapi.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	server := localapi.New(store, localapi.Options{
		Agent:   "fra-1",
		Version: "v0",
		Queue:   func(name string) (spool.QueueOptions, bool) { q, ok := queues[name]; return q, ok },
		Links:   func() []api.Link { return []api.Link{{Name: "nyc", State: "up", RTTMillis: 1.5}} },
		Health:  func() api.Health { return api.Health{Ready: true} },
		Log:     hclog.NewNullLogger(),
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	counting := &counted{Listener: l}
	go func() { ended <- server.Run(ctx, counting) }()
	c := client.New(socket)
	t.Cleanup(func() {
		c.Close()
		stop()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			t.Error(err)
		}
	})
	return store, c, counting
}

func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "client")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "api.sock")
}

func TestMessageGoesThroughUnchanged(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	sent := []client.Message{
		{ID: "a/../b?c#d%", Key: "kéy & more", Priority: new(uint8(4)), Headers: map[string]string{"content-type": "image/png", "x~y": "ü=1;2"}, Body: []byte{0, 0xff, '\n'}},
		{ID: "..", Body: []byte("text")},
		{ID: ".", QoS: message.AtLeastOnce},
		{ID: `"<&>"`, Body: bytes.Repeat([]byte{0xfe}, message.DefaultMessageBytes)},
	}
	for _, m := range sent {
		if res, err := c.Put(ctx, "orders", m); err != nil || res.Verdict != api.VerdictStored || res.ID != m.ID || res.Sequence == 0 {
			t.Fatalf("put %s: %+v %v", m.ID, res, err)
		}
	}
	peeked, err := c.Peek(ctx, "orders", 0, 10)
	if err != nil || len(peeked) != len(sent) {
		t.Fatalf("peek: %d messages, %v", len(peeked), err)
	}
	for i, m := range sent {
		requireSame(t, peeked[i].Stored, m)
		one, err := c.Lease(ctx, "orders", client.Lease{Visibility: time.Hour})
		if err != nil || len(one) != 1 {
			t.Fatalf("lease: %d deliveries, %v", len(one), err)
		}
		requireSame(t, one[0].Stored, m)
		if one[0].Sequence != peeked[i].Sequence || one[0].Deliveries != 1 || one[0].LeaseFor > time.Hour || one[0].LeaseFor < 59*time.Minute {
			t.Errorf("delivery of %s: %+v", m.ID, one[0])
		}
		if got, err := c.Ack(ctx, one[0].Receipt, one[0].Receipt[1:]); err != nil || got[0].Verdict != api.Acked || got[1].Verdict != api.BadReceipt {
			t.Errorf("ack: %+v %v", got, err)
		}
	}
	if left, err := c.Lease(ctx, "orders", client.Lease{}); err != nil || left != nil {
		t.Errorf("lease of an empty queue: %v %v", left, err)
	}
}

func requireSame(t *testing.T, got client.Stored, want client.Message) {
	t.Helper()
	if got.ID != want.ID || got.Key != want.Key || got.Priority != 4 || got.QoS != want.QoS || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("got %.200v, want %.200v", got, want)
	}
	if got.Origin != "fra-1" || got.Queue != "orders" || time.Since(got.StoredAt) > time.Minute {
		t.Errorf("got origin %s, queue %s, stored at %s", got.Origin, got.Queue, got.StoredAt)
	}
	if len(got.Headers) != len(want.Headers) {
		t.Errorf("headers %v, want %v", got.Headers, want.Headers)
	}
	for name, value := range want.Headers {
		if got.Headers[name] != value {
			t.Errorf("header %s: %q, want %q", name, got.Headers[name], value)
		}
	}
}

func TestBatchRoundTrip(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	results, err := c.PutBatch(ctx, "orders", []client.Message{
		{ID: "a", Body: []byte("text"), Headers: map[string]string{"n": "v"}},
		{ID: "a", Body: []byte("other")},
		{ID: "has space"},
		{Body: []byte{0xff}, Priority: new(uint8(9))},
		{ID: "b", Headers: map[string]string{"n": "a\nb"}},
		{ID: "c", Key: "\xff"},
		{ID: "d", Priority: new(uint8(10))},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []api.Verdict{api.VerdictStored, api.VerdictIDConflict, api.VerdictRefused, api.VerdictStored, api.VerdictRefused, api.VerdictRefused, api.VerdictRefused}
	for i, verdict := range want {
		if results[i].Verdict != verdict || results[i].ID == "" {
			t.Errorf("message %d: %+v, want %s", i, results[i], verdict)
		}
	}
	got, err := c.Lease(ctx, "orders", client.Lease{Max: 10})
	if err != nil || len(got) != 2 {
		t.Fatalf("lease: %d deliveries, %v", len(got), err)
	}
	if got[0].ID != results[3].ID || !bytes.Equal(got[0].Body, []byte{0xff}) || got[0].Priority != 9 {
		t.Errorf("first: %+v", got[0])
	}
	if got[1].ID != "a" || string(got[1].Body) != "text" || got[1].Headers["n"] != "v" {
		t.Errorf("second: %+v", got[1])
	}
}

func TestRefusalsAreCertain(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	big := bytes.Repeat([]byte("x"), 8<<20)
	for name, call := range map[string]func() error{
		"too large":         func() error { return put(c, "small", client.Message{Body: big[:17]}) },
		"far too large":     func() error { return put(c, "orders", client.Message{Body: big}) },
		"no queue":          func() error { return put(c, "nope", client.Message{}) },
		"empty queue":       func() error { return put(c, "", client.Message{}) },
		"odd queue":         func() error { return put(c, "../x", client.Message{}) },
		"bad id":            func() error { return put(c, "orders", client.Message{ID: "a b"}) },
		"bad header name":   func() error { return put(c, "orders", client.Message{Headers: map[string]string{"a b": "v"}}) },
		"bad header value":  func() error { return put(c, "orders", client.Message{Headers: map[string]string{"a": "\n"}}) },
		"bad priority":      func() error { return put(c, "orders", client.Message{Priority: new(uint8(10))}) },
		"lease of a routed": func() error { _, err := c.Lease(ctx, "out", client.Lease{}); return err },
		"no such link":      func() error { _, err := c.Link(ctx, "nope"); return err },
	} {
		err := call()
		var answered *client.Error
		if !errors.As(err, &answered) || !answered.Refused() || errors.Is(err, client.ErrUnknown) || errors.Is(err, client.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// put makes sure that result and error say the same.
func put(c *client.Client, queue string, m client.Message) error {
	res, err := c.Put(context.Background(), queue, m)
	if err != nil && (res.Verdict != api.VerdictRefused || res.ID == "") {
		return fmt.Errorf("verdict %q of id %q beside the error %w", res.Verdict, res.ID, err)
	}
	return err
}

func TestRetryUnderTheSameIDIsADuplicate(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	first, err := c.Put(ctx, "orders", client.Message{Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Put(ctx, "orders", client.Message{ID: first.ID, Body: []byte("x")})
	if err != nil || again.Verdict != api.VerdictDuplicate || again.Sequence != first.Sequence {
		t.Errorf("again: %+v %v, first %+v", again, err, first)
	}
	other, err := c.Put(ctx, "orders", client.Message{ID: first.ID, Body: []byte("y")})
	var answered *client.Error
	if !errors.As(err, &answered) || answered.Code != api.CodeIDConflict || other.Verdict != api.VerdictIDConflict {
		t.Errorf("other content: %+v %v", other, err)
	}
}

func TestNobodyThereIsUnreachable(t *testing.T) {
	c := client.New(socketPath(t))
	ctx := t.Context()
	res, err := c.Put(ctx, "orders", client.Message{})
	if !errors.Is(err, client.ErrUnreachable) || errors.Is(err, client.ErrUnknown) || res.Verdict != api.VerdictRefused {
		t.Errorf("put: %+v %v", res, err)
	}
	if _, err := c.Queues(ctx); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("queues: %v", err)
	}
}

func TestSilenceIsUnknown(t *testing.T) {
	socket := socketPath(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler) // as an agent that is killed after it read the message
	})}
	go server.Serve(l)
	defer server.Close()
	c := client.New(socket)
	ctx := t.Context()
	res, err := c.Put(ctx, "orders", client.Message{Body: []byte("x")})
	if !errors.Is(err, client.ErrUnknown) || res.Verdict != api.VerdictUnknown || res.ID == "" {
		t.Errorf("put: %+v %v", res, err)
	}
	batch, err := c.PutBatch(ctx, "orders", []client.Message{{ID: "a"}, {}})
	if !errors.Is(err, client.ErrUnknown) || len(batch) != 2 || batch[0].ID != "a" || batch[1].Verdict != api.VerdictUnknown {
		t.Errorf("batch: %+v %v", batch, err)
	}
	if _, err := c.Ack(ctx, "r"); !errors.Is(err, client.ErrUnknown) {
		t.Errorf("ack: %v", err)
	}
	if _, err := c.Queues(ctx); err == nil || errors.Is(err, client.ErrUnknown) {
		t.Errorf("a question has no unknown outcome: %v", err)
	}
}

func TestLeaseEndsWithItsContext(t *testing.T) {
	c, _ := newAgent(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Lease(ctx, "orders", client.Lease{Wait: time.Minute}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lease: %v", err)
	}
}

func TestCallersShareConnections(t *testing.T) {
	c, l := newAgent(t)
	const callers = 64
	var calls sync.WaitGroup
	for caller := range callers {
		calls.Go(func() {
			for i := range 10 {
				if _, err := c.Put(t.Context(), "orders", client.Message{ID: fmt.Sprintf("%d-%d", caller, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	// A caller that finds all connections busy dials one and may then be given another that has become free.
	if n := l.conns.Load(); n > 2*callers {
		t.Errorf("%d callers used %d connections", callers, n)
	}
	queue, err := c.Queue(t.Context(), "orders")
	if err != nil || queue.Messages != callers*10 {
		t.Errorf("%d messages, %v", queue.Messages, err)
	}
}

func TestStatus(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	queues, err := c.Queues(ctx)
	if err != nil || len(queues) != 3 || queues[1].Name != "out" || queues[1].Route != "nyc/in" {
		t.Errorf("queues: %+v %v", queues, err)
	}
	links, err := c.Links(ctx)
	if err != nil || len(links) != 1 || links[0].RTTMillis != 1.5 {
		t.Errorf("links: %+v %v", links, err)
	}
	if link, err := c.Link(ctx, "nyc"); err != nil || link.State != "up" {
		t.Errorf("link: %+v %v", link, err)
	}
	if health, err := c.Health(ctx); err != nil || !health.Ready {
		t.Errorf("health: %+v %v", health, err)
	}
	if info, err := c.Info(ctx); err != nil || info.Agent != "fra-1" || len(info.Spool) != 32 {
		t.Errorf("info: %+v %v", info, err)
	}
	if _, err := c.Queue(ctx, "nope"); err == nil || !strings.Contains(err.Error(), "no such queue") {
		t.Errorf("queue: %v", err)
	}
}
