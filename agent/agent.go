// Package agent assembles one host's drawbridge from its configuration: the spool, the endpoint, a link per peer and the
// local API. It owns the lifetime of each and nothing else: what a part does stands in that part.
package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"drawbridge/agent/localapi"
	"drawbridge/agent/metrics"
	"drawbridge/config"
	"drawbridge/dedupe"
	"drawbridge/link"
	"drawbridge/link/quic"
	"drawbridge/spool"
)

// Host is what an agent takes from its surroundings. The zero value is this machine; tests put other things in place.
type Host struct {
	// ListenPacket opens the socket that links use. Default quic.ListenUDP.
	ListenPacket func(addr string) (net.PacketConn, error)
	// Now is the wall clock of the spool. Default time.Now.
	Now func() time.Time
	// Hook is called at each of bolt.HookPoints and, by every link, of link.HookPoints: at the steps that a crash may follow. In
	// the spool its error is taken for one of the disk, in a link it ends the session. Nil in production.
	Hook func(point string) error
	// DataConns is how many data connections a link opens beside its control connection. Default link.DefaultDataConns.
	DataConns int
	// Version is told by the API.
	Version string
	// LogLevels are those of the log that New is given; nil where they are fixed.
	LogLevels localapi.LogLevels
}

// Agent is one running agent. Make it with New, run it once with Run.
type Agent struct {
	cfg      *config.Config
	log      hclog.Logger
	id       *quic.Identity
	spool    engine
	endpoint *quic.Endpoint
	links    []*link.Link
	api      *localapi.Server
	socket   net.Listener // of the API; nil if the configuration names none
	health   *health

	figures       *metrics.Teller
	monitor       *localapi.Monitor
	monitorSocket net.Listener // nil if the configuration names none
}

// New opens everything that can fail to open: identity, spool, link socket, API socket. On an error it leaves nothing open.
func New(cfg *config.Config, log hclog.Logger, host Host) (_ *Agent, err error) {
	a := &Agent{cfg: cfg, log: log.Named("agent")}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.id, err = quic.LoadIdentity(IdentityPath(cfg.DataDir)); err != nil {
		return nil, err
	}
	for _, name := range cfg.LinkNames() {
		if slices.Contains(cfg.Links[name].PeerIDs, a.id.Pin()) {
			return nil, fmt.Errorf("link %q: its peer_id is this agent's own identity; put the one that `drawbridge identity show` prints on the other host", name)
		}
	}
	if a.spool, err = openSpool(cfg, log, host); err != nil {
		return nil, err
	}
	if err = a.listen(host); err != nil {
		return nil, err
	}
	for _, name := range cfg.LinkNames() {
		a.links = append(a.links, link.New(a.linkOptions(name, host), a.spool, a.endpoint))
	}
	a.health = newHealth(cfg, a.spool, a.links)
	a.api = localapi.New(a.spool, localapi.Options{
		Agent:   cfg.Agent,
		Version: host.Version,
		Queue:   func(name string) (spool.QueueOptions, bool) { q, ok := cfg.Queues[name]; return q, ok },
		Links:   a.Links,
		Health:  a.Health,
		// A client that neither sends nor reads must not hold the agent longer than its grace; 0 would be the default.
		Grace:     max(time.Nanosecond, min(localapi.DefaultGrace, cfg.ShutdownGrace)),
		Log:       a.log.Named("api"),
		LogLevels: host.LogLevels,
	})
	if cfg.Listen.API != "" {
		if a.socket, err = localapi.Listen(cfg.Listen.API); err != nil {
			return nil, err
		}
	}
	if err = a.openMonitor(host.Version); err != nil {
		return nil, err
	}
	return a, nil
}

// IdentityPath is where an agent keeps its key.
func IdentityPath(dataDir string) string { return filepath.Join(dataDir, "identity.key") }

func (a *Agent) listen(host Host) error {
	open := host.ListenPacket
	if open == nil {
		open = quic.ListenUDP
	}
	addr := a.cfg.Listen.Link
	if addr == "" {
		addr = ":0" // an agent that only dials
	}
	pc, err := open(addr)
	if err != nil {
		return fmt.Errorf("listen.link %s: %w", addr, err)
	}
	known := make(map[link.Pin]bool)
	for _, l := range a.cfg.Links {
		for _, pin := range l.PeerIDs {
			known[pin] = true
		}
	}
	strangers := newStrangers(a.log)
	a.endpoint, err = quic.Listen(pc, a.id, quic.Options{
		Allow:   func(pin link.Pin) bool { return known[pin] },
		Refused: strangers.refused,
	})
	if err != nil {
		return err
	}
	a.warnOfSmallBuffers(pc)
	return nil
}

// enoughBufferBytes lets a link take bursts of a few hundred Mbit/s.
const enoughBufferBytes = 2 << 20

// warnOfSmallBuffers says once what the operator can do for a fast link. It stands for the line that quic-go would print.
func (a *Agent) warnOfSmallBuffers(pc net.PacketConn) {
	socket, ok := pc.(*quic.Socket)
	if !ok {
		return // a network of a test
	}
	receive, send, err := socket.BufferBytes()
	if err == nil && min(receive, send) < enoughBufferBytes {
		a.log.Warn("the socket's buffers are small: fast links will lose packets; raise net.core.rmem_max and net.core.wmem_max to 8388608",
			"receive_bytes", receive, "send_bytes", send)
	}
}

func (a *Agent) linkOptions(name string, host Host) link.Options {
	l := a.cfg.Links[name]
	seed := fnv.New64a()
	pin := a.id.Pin()
	seed.Write(pin[:])
	seed.Write([]byte(name))
	o := link.Options{
		Name:          name,
		Agent:         a.cfg.Agent,
		Self:          pin,
		Pins:          l.PeerIDs,
		Addresses:     l.Addresses,
		IdleHeartbeat: l.IdleHeartbeat,
		DataConns:     host.DataConns,
		Seed:          seed.Sum64(), // two agents must not jitter in step
		Log:           a.log.Named("link"),
		Hook:          host.Hook,
	}
	for _, s := range l.Send {
		o.Sends = append(o.Sends, link.Send{Name: s.Name, From: s.From, To: s.To, RetryFor: s.RetryFor})
	}
	for _, r := range l.Receive {
		o.Receives = append(o.Receives, link.Receive{To: r.To, ByIDs: a.cfg.Queues[r.To].ByIDs, MaxWindow: a.cfg.LedgerMaxWindow})
		o.MaxMessageBytes = max(o.MaxMessageBytes, a.cfg.Queues[r.To].MaxMessageBytes)
	}
	return o
}

// Run serves until ctx ends or a part fails, and returns when every goroutine it started has returned. When ctx ends the API
// takes no new work, links let what is in flight be answered within the configured grace and say Bye, and the spool closes
// last. An error is a part that has failed for good.
func (a *Agent) Run(ctx context.Context) error {
	a.log.Info("agent started", "agent", a.cfg.Agent, "identity", a.id.Pin(), "spool", a.spool.Identity().Spool,
		"epoch", a.spool.Identity().Epoch, "listen", a.endpoint.Addr(), "api", a.cfg.Listen.API)
	g, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { a.health.stopping.Store(true) })
	stopMonitor := a.runMonitor(ctx, g)
	if a.socket != nil {
		g.Go(func() error { return a.api.Run(ctx, a.socket) })
	}
	for _, l := range a.links {
		g.Go(func() error { return l.Run(ctx, a.cfg.ShutdownGrace) })
	}
	g.Go(func() error { return a.accept(ctx) })
	g.Go(func() error {
		select {
		case <-a.spool.Failed():
			return fmt.Errorf("spool: %w", a.spool.Err())
		case <-ctx.Done():
			return nil
		}
	})
	err := g.Wait()
	stopMonitor()
	err = errors.Join(err, a.close())
	a.log.Info("agent stopped")
	return err
}

// accept hands the connections of peers to their links, by the key that each has proved.
func (a *Agent) accept(ctx context.Context) error {
	byPin := make(map[link.Pin]*link.Link)
	for _, l := range a.links {
		for _, pin := range l.Pins() {
			byPin[pin] = l
		}
	}
	for {
		conn, err := a.endpoint.Accept(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		byPin[conn.Peer()].Accept(ctx, conn)
	}
}

// close releases what New has opened. The spool closes last: nothing can still write.
func (a *Agent) close() (err error) {
	if a.monitorSocket != nil {
		_ = a.monitorSocket.Close() // at the latest now; Run has closed it
	}
	if a.socket != nil {
		if e := a.socket.Close(); !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}
	if a.endpoint != nil {
		err = errors.Join(err, a.endpoint.Close())
	}
	if a.spool != nil {
		err = errors.Join(err, a.spool.Close())
	}
	if a.health != nil {
		a.health.close()
	}
	return err
}

// API returns the handler of the local API, for tests that cannot use a socket.
func (a *Agent) API() *localapi.Server { return a.api }

// Spool returns the agent's spool.
func (a *Agent) Spool() spool.Store { return a.spool }

// queueOptions completes the configured options of each queue with what follows from the links.
func queueOptions(cfg *config.Config) map[string]spool.QueueOptions {
	all := make(map[string]spool.QueueOptions, len(cfg.Queues))
	for name, o := range cfg.Queues {
		o.Remember = dedupe.DefaultWindow
		all[name] = o
	}
	for _, l := range cfg.Links {
		for _, s := range l.Send {
			o := all[s.From]
			o.Route = s.Name
			all[s.From] = o
		}
	}
	return all
}
