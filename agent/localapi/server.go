// Package localapi is the agent's face to programs on its host: HTTP over a Unix socket, with raw bodies so that curl is a
// client. It turns requests into calls of the spool and errors into answers whose status and code say what is certain. It
// decides nothing about messages.
package localapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/api"
	"drawbridge/spool"
)

// Store is what the API needs of the spool.
type Store interface {
	spool.Local
	Identity() spool.Identity
	Stats() []spool.QueueStats
	AcceptTime(ctx context.Context) error
}

// Options say what a Server shows. All fields are needed but Grace and LogLevels.
type Options struct {
	// Agent and Version name who answers.
	Agent, Version string
	// Queue returns the options of a configured queue. It is asked by every call and must not block.
	Queue func(name string) (spool.QueueOptions, bool)
	// Links and Health return the present state. Links must not block; Health may take a second.
	Links  func() []api.Link
	Health func() api.Health
	// Grace is how long requests in progress may take once the server is told to stop; 0 means DefaultGrace.
	Grace time.Duration
	Log   hclog.Logger
	// LogLevels are those of the agent's log; nil where they are fixed.
	LogLevels LogLevels
}

// DefaultGrace is enough for any commit in progress; only a client that neither sends nor reads needs longer.
const DefaultGrace = 10 * time.Second

// Bounds of what a client can hold open without doing anything.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 5 * time.Minute
	// maxHeaderBytes holds 64 message headers of 16 KiB in all with their prefixes, and an id in percent-encoding.
	maxHeaderBytes = 64 << 10
)

// Server answers the calls of the local API. It is an http.Handler, safe for concurrent use.
type Server struct {
	store   Store
	opts    Options
	mux     *http.ServeMux
	started time.Time
	bodies  *budget
	// stopping is closed when Run is told to stop: long polls end at once, with what they have.
	stopping chan struct{}
}

// New returns a Server that Run lets loose on a listener.
func New(store Store, opts Options) *Server {
	if opts.Grace == 0 {
		opts.Grace = DefaultGrace
	}
	s := &Server{
		store:    store,
		opts:     opts,
		mux:      http.NewServeMux(),
		started:  time.Now(),
		bodies:   newBudget(largeBodiesBytes),
		stopping: make(chan struct{}),
	}
	for pattern, c := range map[string]call{
		"PUT /v1/queues/{queue}/messages/{id}": s.put,
		"POST /v1/queues/{queue}/messages":     s.post,
		"GET /v1/queues/{queue}/messages":      s.peek,
		"GET /v1/queues/{queue}/dead":          s.dead,
		"POST /v1/queues/{queue}/dead/requeue": s.requeueDead,
		"POST /v1/queues/{queue}/dead/purge":   s.purgeDead,
		"POST /v1/queues/{queue}/lease":        s.lease,
		"POST /v1/receipts/ack":                s.ack,
		"POST /v1/receipts/nack":               s.nack,
		"POST /v1/receipts/extend":             s.extend,
		"POST /v1/receipts/bury":               s.bury,
		"POST /v1/clock/accept":                s.acceptClock,
		"GET /v1/queues":                       s.queues,
		"GET /v1/queues/{queue}":               s.queue,
		"GET /v1/links":                        s.links,
		"GET /v1/links/{link}":                 s.link,
		"GET /v1/info":                         s.info,
		"GET /v1/log":                          s.log,
		"PUT /v1/log":                          s.setLog,
		"GET /livez":                           s.livez,
		"GET /readyz":                          s.readyz,
		"GET /health":                          s.health,
		"/":                                    s.noCall,
	} {
		s.mux.Handle(pattern, c)
	}
	return s
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := newExchange(w, r, s.bodies)
	defer e.end()
	if err := checkPath(r.URL); err != nil {
		writeProblem(e, problemOf(r.Method, err))
		return
	}
	s.mux.ServeHTTP(e, r)
}

// Run serves connections of l until ctx ends, then takes no more, ends long polls, and gives requests in progress the grace.
// It closes l, returns when every connection has ended, and must be called once.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	conns := newBounded(l, s.opts.Log)
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// What is asked of * is a path that is none, like others.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     s.opts.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
		// A request outlives the order to stop: it has the grace.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnState:   conns.note,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(conns) }()
	s.opts.Log.Info("local API is up", "address", l.Addr().String())

	var failure error
	select {
	case failure = <-served:
		served <- failure
	case <-ctx.Done():
	}
	close(s.stopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		s.opts.Log.Warn("requests cut off at shutdown", "error", err, "after", s.opts.Grace)
		_ = srv.Close() // what it closes are connections that have had their grace
	}
	<-served
	conns.wait()
	if failure != nil && !errors.Is(failure, http.ErrServerClosed) {
		return fmt.Errorf("local API on %s: %w", l.Addr(), failure)
	}
	return nil
}

// call answers a request or returns why it cannot; then nothing has been written yet.
type call func(w http.ResponseWriter, r *http.Request) error

func (c call) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := c(w, r); err != nil {
		writeProblem(w, problemOf(r.Method, err))
	}
}

// noCall answers for every path and method that no other pattern takes.
func (s *Server) noCall(w http.ResponseWriter, r *http.Request) error {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "/" {
			w.Header().Add("Allow", method)
		}
	}
	if allowed := w.Header()["Allow"]; len(allowed) > 0 {
		return refuse(api.CodeBadMethod, "%s %s: this path takes %v", clip(r.Method), clip(r.URL.Path), allowed)
	}
	return refuse(api.CodeNoSuchCall, "%s %s: no such call", clip(r.Method), clip(r.URL.Path))
}

// checkPath refuses what the multiplexer would answer by leading the client elsewhere, without a word that a program can read.
func checkPath(u *url.URL) error {
	p := u.EscapedPath()
	if !strings.HasPrefix(p, "/") {
		return refuse(api.CodeMalformed, "%s is no path; one begins with /", clip(p))
	}
	if p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		return refuse(api.CodeMalformed, "the path %s has an empty part, or one that is . or .. alone; in an id or a name, write %%2E for a dot and %%2F for a slash", clip(p))
	}
	return nil
}
