// Package link connects one agent to one peer: it dials and is dialled, keeps one session in force, ships what the spool
// holds for the peer, and decides what the peer ships. Connections carry frames, never meaning: whatever breaks, the next
// session begins from what both spools have on disk.
//
// Read link.go (the life of a link), session.go (one session), sender.go and receiver.go (its two halves) in turn. What to
// ship and when to ship it again is decided in link/flow, which does no I/O.
package link

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"drawbridge/dedupe"
	"drawbridge/link/flow"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
)

// Options describe one link. Zero values of the tunables mean their defaults.
type Options struct {
	// Name is the link's name in the configuration; Agent is the name of this agent.
	Name, Agent string
	// Self is the pin of this agent's key, Pins those that the peer may prove.
	Self Pin
	Pins []Pin
	// Addresses are dialled, the first listed preferred. Empty: this side waits to be dialled.
	Addresses []string
	Sends     []Send
	Receives  []Receive

	// IdleHeartbeat is the time between heartbeats while nothing is unanswered. Default 2s.
	IdleHeartbeat time.Duration
	// DataConns is how many data connections the dialling side opens beside the control connection. Default 4.
	DataConns int
	// CreditBytes and CreditMessages bound what the peer may have unanswered per route. Defaults 4 MiB and 8192.
	CreditBytes    uint64
	CreditMessages uint64
	// MaxMessageBytes is the largest body this side takes. Default message.DefaultMessageBytes.
	MaxMessageBytes uint64
	// Seed makes the jitter of redials repeatable.
	Seed uint64
	Log  hclog.Logger
	// Hook is called at each of HookPoints, from many goroutines. Its error ends the session, as if the step had failed. Tests
	// only.
	Hook func(point string) error
}

// Send is a route out of one of our queues.
type Send struct {
	// Name keeps the route's progress in the spool; From is our queue, To the peer's.
	Name, From, To string
	// RetryFor is the longest a message may be retried, announced to the peer; 0 means without end.
	RetryFor time.Duration
}

// Receive is a queue of ours into which the peer may ship.
type Receive struct {
	To string
	// ByIDs says that ids carry the guarantee there (spool.QueueOptions.ByIDs); MaxWindow is the longest they are promised then.
	// Default dedupe.DefaultMaxWindow.
	ByIDs     bool
	MaxWindow time.Duration
}

// Defaults of Options.
const (
	DefaultIdleHeartbeat  = 2 * time.Second
	DefaultDataConns      = 4
	DefaultCreditBytes    = 4 << 20
	DefaultCreditMessages = 8192
)

func (o Options) withDefaults() Options {
	setDefault(&o.IdleHeartbeat, DefaultIdleHeartbeat)
	setDefault(&o.DataConns, DefaultDataConns)
	setDefault(&o.CreditBytes, DefaultCreditBytes)
	setDefault(&o.CreditMessages, DefaultCreditMessages)
	setDefault(&o.MaxMessageBytes, message.DefaultMessageBytes)
	o.Receives = slices.Clone(o.Receives)
	for i := range o.Receives {
		setDefault(&o.Receives[i].MaxWindow, dedupe.DefaultMaxWindow)
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return o
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Store is what a link needs of the spool: to lease and settle what leaves, to accept what arrives, and to know which
// opening of it this is.
type Store interface {
	spool.Outgoing
	spool.Incoming
	Watch(queue string) (ready <-chan struct{}, stop func())
	Identity() spool.Identity
	LedgerStats() spool.LedgerStats
	Meta(key string) ([]byte, error)
	SetMeta(ctx context.Context, key string, value []byte) error
}

// Link is one peer. Make it with New, run it with Run, hand it the peer's connections with Accept.
type Link struct {
	o        Options
	store    Store
	dialer   Dialer
	log      hclog.Logger
	redial   *flow.Redial
	slow     *flow.Slow
	incoming chan Conn
	status   *status
	wasUp    atomic.Bool // since the last race of dials
	attempt  int         // counts dials since the link was up; the dialler's own
	// greetings counts the connections whose first words are awaited.
	greetings atomic.Int64
	newcomers newcomers

	mu      sync.Mutex // guards what follows; never held over I/O
	session *session   // in force, possibly stalled; nil if none
	last    useOrder   // the last Use that was obeyed or said
	ended   error      // why the session before ended, unless another took over
	changed chan struct{}
	tallies map[string]*tally
}

// useOrder is the place of a Use among those of one opening of the chooser's spool.
type useOrder struct {
	chooser message.Epoch
	order   uint64
}

// New makes a link that does nothing until Run.
func New(o Options, store Store, dialer Dialer) *Link {
	o = o.withDefaults()
	rng := rand.New(rand.NewPCG(o.Seed, 0x6472617762726467))
	l := &Link{
		o:        o,
		store:    store,
		dialer:   dialer,
		log:      o.Log.With("link", o.Name),
		redial:   flow.NewRedial(rng),
		slow:     flow.NewSlow(rng),
		incoming: make(chan Conn),
		status:   newStatus(time.Now()),
		changed:  make(chan struct{}),
		tallies:  make(map[string]*tally),
	}
	for _, s := range o.Sends {
		l.tallies["send "+s.Name] = &tally{}
	}
	for _, r := range o.Receives {
		l.tallies["receive "+r.To] = &tally{}
	}
	return l
}

// Pins returns the keys that the peer may prove.
func (l *Link) Pins() []Pin { return l.o.Pins }

// Run keeps the link up until ctx ends, then lets frames in flight be answered for as long as grace lasts, says Bye and
// returns when every goroutine it started has returned. It never gives up on the peer; it returns an error only for a
// broken invariant.
func (l *Link) Run(ctx context.Context, grace time.Duration) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	g, work := errgroup.WithContext(work)
	g.Go(func() error { return l.acceptAll(work, g) })
	if len(l.o.Addresses) > 0 {
		g.Go(func() error { return l.dialWhenDown(work, g) })
	} else {
		l.status.set(Connecting, "waiting for the peer to dial: no addresses are configured here", time.Now())
	}
	select {
	case <-ctx.Done():
		l.drain(grace)
		stop(errShutdown)
	case <-work.Done():
	}
	if err := g.Wait(); err != nil && !errors.Is(err, errShutdown) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("link %q: %w", l.o.Name, err)
	}
	return nil
}

// Accept hands the link a connection that the peer has dialled. It blocks until Run has taken it or ctx has ended.
func (l *Link) Accept(ctx context.Context, c Conn) {
	select {
	case l.incoming <- c:
	case <-ctx.Done():
		c.Close(closeCode(protocol.CodeShutdown), string(protocol.CodeShutdown))
	}
}

// errShutdown is the cause with which Run ends its work.
var errShutdown = errors.New("the agent is shutting down")

func (l *Link) acceptAll(ctx context.Context, g *errgroup.Group) error {
	for {
		select {
		case c := <-l.incoming:
			g.Go(func() error { l.welcome(ctx, c); return nil })
		case <-ctx.Done():
			return nil
		}
	}
}

// dialWhenDown dials whenever no session is in force or the one in force is stalled. A stalled session stays: whichever
// side first hears again wins.
func (l *Link) dialWhenDown(ctx context.Context, g *errgroup.Group) error {
	for ctx.Err() == nil {
		if !l.waitUntilDown(ctx) {
			return nil
		}
		if l.wasUp.Swap(false) {
			l.redial.Reset()
			l.slow.Reset()
			l.attempt = 0
		}
		if isRefusal(l.takeEnded()) && !pause(ctx, l.slow.NextBackOff()) {
			return nil
		}
		conn, err := l.race(ctx)
		if err != nil {
			continue // ctx has ended, or the session in force is heard again
		}
		err = l.hello(ctx, conn, g)
		if err == nil || errors.Is(err, errSuperseded) {
			continue
		}
		l.note(err)
		if isRefusal(err) && !pause(ctx, l.slow.NextBackOff()) {
			return nil
		}
	}
	return nil
}

// takeEnded returns once why the last session ended.
func (l *Link) takeEnded() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.ended
	l.ended = nil
	return err
}

// waitUntilDown blocks while a session is in force that is not stalled, and reports whether ctx still runs.
func (l *Link) waitUntilDown(ctx context.Context) bool {
	for {
		s, changed := l.current()
		if s == nil || s.stalled.Load() {
			return ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// current returns the session in force and a channel that is closed at the next change of it or of its being stalled.
func (l *Link) current() (*session, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session, l.changed
}

func (l *Link) signalLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// install puts s in force and ends the session before it. It reports false if a later Use was obeyed already.
func (l *Link) install(s *session, u useOrder) bool {
	l.mu.Lock()
	if l.last.chooser == u.chooser && u.order <= l.last.order {
		l.mu.Unlock()
		return false
	}
	old := l.session
	l.session, l.last = s, u
	l.signalLocked()
	l.mu.Unlock()
	if old != nil {
		old.end(errSuperseded)
	}
	return true
}

// nextUse returns the place of the Use that this agent, as the chooser, says next.
func (l *Link) nextUse() useOrder {
	epoch := l.store.Identity().Epoch
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.chooser != epoch {
		return useOrder{chooser: epoch, order: 1}
	}
	return useOrder{chooser: epoch, order: l.last.order + 1}
}

// retire takes s out of force, if it still is, and lets the dialler go on.
func (l *Link) retire(s *session, cause error) {
	l.mu.Lock()
	inForce := l.session == s
	if inForce {
		l.session, l.ended = nil, cause
		l.signalLocked()
	}
	l.mu.Unlock()
	if inForce && !errors.Is(cause, errShutdown) {
		l.down(cause)
	}
}

// sessionChanged wakes whoever waits for a session to stall or to recover.
func (l *Link) sessionChanged() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signalLocked()
}

// drain stops shipping and waits until all that was shipped is answered and settled, at most grace.
func (l *Link) drain(grace time.Duration) {
	l.status.set(Draining, errShutdown.Error(), time.Now())
	s, _ := l.current()
	if s == nil {
		return
	}
	s.shippers.stop()
	ctx, cancel := context.WithTimeout(s.ctx, grace)
	defer cancel()
	s.waitSettled(ctx)
	s.bye()
	s.end(errShutdown)
}

// pause sleeps for d and reports whether ctx still runs.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
