package agent

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"drawbridge/agent/localapi"
	"drawbridge/agent/metrics"
	"drawbridge/link"
)

// openMonitor makes the face of those who watch the agent, and opens its socket if the configuration names one. Without the
// token that it should ask for it does not open.
func (a *Agent) openMonitor(version string) (err error) {
	listen := a.cfg.Listen
	var token *localapi.Token
	if listen.MetricsTokenFile != "" {
		if token, err = localapi.LoadToken(listen.MetricsTokenFile); err != nil {
			return fmt.Errorf("listen.metrics_token_file: %w", err)
		}
	}
	a.figures = metrics.NewTeller(a.source(version))
	a.monitor = localapi.NewMonitor(localapi.MonitorOptions{
		Health:  a.Health,
		Metrics: a.figures.ServeText,
		Numbers: a.figures,
		Token:   token,
		Log:     a.log.Named("monitor"),
	})
	if listen.Metrics == "" {
		return nil
	}
	if a.monitorSocket, err = net.Listen("tcp", listen.Metrics); err != nil {
		return fmt.Errorf("listen.metrics: %w", err)
	}
	return nil
}

// runMonitor serves until stop is called, which comes after all else has ended: whoever watches an agent sees it drain. A
// monitor that fails ends g.
func (a *Agent) runMonitor(ctx context.Context, g *errgroup.Group) (stop func()) {
	if a.monitorSocket == nil {
		return func() {}
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	var failure error
	go func() {
		failure = a.monitor.Run(serving, a.monitorSocket)
		close(ended)
	}()
	g.Go(func() error {
		select {
		case <-ended:
			return failure
		case <-ctx.Done():
			return nil
		}
	})
	return func() {
		cancel()
		<-ended
	}
}

// Monitor returns the handler of those who watch the agent, for tests that cannot use a socket.
func (a *Agent) Monitor() *localapi.Monitor { return a.monitor }

// MonitorAddr returns where the monitor listens, nil if it does not.
func (a *Agent) MonitorAddr() net.Addr {
	if a.monitorSocket == nil {
		return nil
	}
	return a.monitorSocket.Addr()
}

// source is where the figures of this agent are read from.
func (a *Agent) source(version string) metrics.Source {
	return metrics.Source{
		Agent:             a.cfg.Agent,
		Version:           version,
		Queues:            a.spool.Stats,
		Ledger:            a.spool.LedgerStats,
		Links:             a.statuses,
		Spool:             a.spoolFigures,
		Health:            a.healthFigures,
		LedgerMemoryBytes: uint64(a.cfg.LedgerMemoryBytes),
		LedgerDiskBytes:   a.cfg.LedgerMaxBytes,
	}
}

func (a *Agent) statuses() []link.Status {
	all := make([]link.Status, len(a.links))
	for i, l := range a.links {
		all[i] = l.Status()
	}
	return all
}

func (a *Agent) spoolFigures() metrics.Spool {
	dir := spoolDir(a.cfg)
	f := metrics.Spool{Reopened: a.health.reopenings(), FileBytes: fileBytes(filepath.Join(dir, "spool.db"))}
	if counts, ok := a.spool.(interface{ Commits() uint64 }); ok {
		f.Commits = counts.Commits()
	}
	if free, size, err := diskSpace(dir); err == nil {
		f.DiskFreeBytes, f.DiskBytes = free, size
	}
	return f
}

func (a *Agent) healthFigures() metrics.Health {
	verdict := metrics.Health{Ready: !a.health.stopping.Load()}
	for _, p := range a.health.own() {
		verdict.Ready = verdict.Ready && p.unready == ""
		verdict.Parts = append(verdict.Parts, metrics.Part{Name: p.Name, OK: p.OK})
	}
	return verdict
}
