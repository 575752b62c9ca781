package localapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// queues are what every test's agent has.
var queues = map[string]spool.QueueOptions{
	"orders": {},
	"small":  {MaxMessageBytes: 16},
	"out":    {Route: "nyc/in"},
}

// host is one agent's API on a real socket, over a real spool.
type host struct {
	t      *testing.T
	store  *watched
	socket string
	http   *http.Client
	stop   context.CancelFunc
	ended  chan error
}

// watched is a real store that tells a test what goes on, or fails when a test wants it to.
type watched struct {
	localapi.Store
	put     func(context.Context, []spool.Put) ([]spool.PutResult, error)
	waiting chan struct{} // a value per call of Watch
	left    chan struct{} // a value when its caller has stopped watching
}

func (w *watched) Put(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
	if w.put != nil {
		return w.put(ctx, puts)
	}
	return w.Store.Put(ctx, puts)
}

func (w *watched) Watch(queue string) (<-chan struct{}, func()) {
	ready, stop := w.Store.Watch(queue)
	w.waiting <- struct{}{}
	return ready, func() { stop(); w.left <- struct{}{} }
}

func start(t *testing.T) *host { return startWithin(t, time.Minute) }

func startWithin(t *testing.T, grace time.Duration) *host {
	t.Helper()
	store, err := bolt.Open(filepath.Join(t.TempDir(), "spool"), bolt.Options{Agent: "fra-1", Queues: queues})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{
		t:      t,
		store:  &watched{Store: store, waiting: make(chan struct{}, 16), left: make(chan struct{}, 16)},
		socket: filepath.Join(shortDir(t), "run", "api.sock"),
		ended:  make(chan error, 1),
	}
	l, err := localapi.Listen(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := localapi.New(h.store, localapi.Options{
		Agent:   "fra-1",
		Version: "v0",
		Queue:   func(name string) (spool.QueueOptions, bool) { q, ok := queues[name]; return q, ok },
		Links:   func() []api.Link { return []api.Link{{Name: "nyc", State: "up"}} },
		Health:  func() api.Health { return api.Health{Ready: true} },
		Grace:   grace,
		Log:     hclog.NewNullLogger(),
	})
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.ended <- server.Run(ctx, l) }()
	h.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", h.socket)
		},
	}}
	t.Cleanup(func() {
		h.http.CloseIdleConnections()
		stop()
		if err := <-h.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return h
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) problem(t *testing.T) api.Problem {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != api.TypeProblem {
		t.Fatalf("status %d has content type %q, want %q: %s", a.status, got, api.TypeProblem, a.body)
	}
	var p api.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func linesOf[T any](t *testing.T, a answer) (values []T) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(a.body)); ; {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatalf("%v in %s", err, a.body)
		}
		values = append(values, v)
	}
}

// call makes one request; headers are pairs.
func (h *host) call(method, path, body string, headers ...string) answer {
	h.t.Helper()
	a, err := h.try(h.t.Context(), method, path, body, headers...)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func (h *host) try(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, got}, err
}

// receipt leases one message and returns its receipt.
func (h *host) receipt(queue string) string {
	h.t.Helper()
	a := h.call("POST", "/v1/queues/"+queue+"/lease", "")
	if a.status != http.StatusOK {
		h.t.Fatalf("lease: %d %s", a.status, a.body)
	}
	return a.header.Get(api.HeaderReceipt)
}
