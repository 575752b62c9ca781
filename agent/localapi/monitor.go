package localapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/netutil"

	"drawbridge/api"
)

// MonitorOptions say what a Monitor shows. All fields are needed but Token.
type MonitorOptions struct {
	// Health returns the present state. It may take a second.
	Health func() api.Health
	// Metrics answers in the text format of those who collect metrics; Numbers marshals the same numbers as JSON, anew each
	// time.
	Metrics http.HandlerFunc
	Numbers json.Marshaler
	// Token is what requests must bring, all but that for /livez; nil lets everybody in.
	Token *Token
	Log   hclog.Logger
}

// Bounds of what those who watch an agent can hold open. They ask briefly and often.
const (
	maxMonitorConns          = 64
	maxMonitorHeaderBytes    = 16 << 10
	monitorReadHeaderTimeout = 5 * time.Second
	monitorReadTimeout       = 10 * time.Second
	monitorWriteTimeout      = 30 * time.Second
	monitorIdleTimeout       = time.Minute
	monitorGrace             = time.Second
)

// Monitor answers those who watch an agent. It reads and changes nothing. It is an http.Handler, safe for concurrent use.
type Monitor struct {
	opts MonitorOptions
	mux  *http.ServeMux
}

// NewMonitor returns a Monitor that Run lets loose on a listener.
func NewMonitor(opts MonitorOptions) *Monitor {
	m := &Monitor{opts: opts, mux: http.NewServeMux()}
	for pattern, c := range map[string]call{
		"GET /metrics":      m.guarded(m.metrics),
		"GET /metrics.json": m.guarded(m.numbers),
		"GET /readyz":       m.guarded(m.readyz),
		"GET /health":       m.guarded(m.health),
		"GET /livez":        alive, // says nothing that a connection does not say
		"/":                 m.guarded(m.noCall),
	} {
		m.mux.Handle(pattern, c)
	}
	return m
}

// ServeHTTP answers one call.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := checkPath(r.URL); err != nil {
		writeProblem(w, problemOf(r.Method, err))
		return
	}
	m.mux.ServeHTTP(w, r)
}

// Run serves connections of l until ctx ends. It closes l, returns when no call is in progress, and must be called once.
func (m *Monitor) Run(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           m,
		ReadHeaderTimeout: monitorReadHeaderTimeout,
		ReadTimeout:       monitorReadTimeout,
		WriteTimeout:      monitorWriteTimeout,
		IdleTimeout:       monitorIdleTimeout,
		MaxHeaderBytes:    maxMonitorHeaderBytes,
		ErrorLog:          m.opts.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(netutil.LimitListener(l, maxMonitorConns)) }()
	m.opts.Log.Info("metrics are up", "address", l.Addr().String())
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("metrics on %s: %w", l.Addr(), err), srv.Close())
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), monitorGrace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // who reads a scrape for longer than the grace reads the next one elsewhere
	}
	<-served
	return nil
}

// guarded lets c answer only those who may ask.
func (m *Monitor) guarded(c call) call {
	if m.opts.Token == nil {
		return c
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := m.opts.Token.check(w, r); err != nil {
			return err
		}
		return c(w, r)
	}
}

func (m *Monitor) metrics(w http.ResponseWriter, r *http.Request) error {
	m.opts.Metrics(w, r)
	return nil
}

func (m *Monitor) numbers(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, m.opts.Numbers)
}

func (m *Monitor) readyz(w http.ResponseWriter, r *http.Request) error {
	return writeReady(w, m.opts.Health())
}

func (m *Monitor) health(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, m.opts.Health())
}

// noCall answers for every path and method that no other pattern takes.
func (m *Monitor) noCall(w http.ResponseWriter, r *http.Request) error {
	_, pattern := m.mux.Handler(&http.Request{Method: http.MethodGet, URL: r.URL, Host: r.Host})
	if pattern == "/" {
		return refuse(api.CodeNoSuchCall, "%s %s: no such call", clip(r.Method), clip(r.URL.Path))
	}
	w.Header().Set("Allow", http.MethodGet)
	return refuse(api.CodeBadMethod, "%s %s: this path takes GET", clip(r.Method), clip(r.URL.Path))
}
