package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"drawbridge/agent"
	"drawbridge/agent/logging"
	"drawbridge/config"
)

func runCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the agent until it is told to stop",
		Long: `run is the agent. SIGTERM or SIGINT stops it: it takes no new work, lets what is in flight be
answered and closes its spool last. A second signal ends it at once, which loses nothing either.

As a service of systemd (Type=notify) it says when it takes messages, how it is, and that
its spool still answers (WatchdogSec=).`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := g.loadConfig()
			if err != nil {
				return err
			}
			// The agent has a line of its own about small buffers; quic-go knows no other way to keep its own back.
			if err := os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true"); err != nil {
				return err
			}
			log := newLog(cfg.Log, g)
			defer log.Close()
			limitMemory(cfg.MemoryLimitBytes, g.getenv, log.Logger().Named("agent"))
			return serve(cmd.Context(), cfg, log)
		},
	}
}

// serve runs the agent and lets the service manager, if there is one, know how it is.
func serve(ctx context.Context, cfg *config.Config, log *logging.Log) error {
	s := newService(log.Logger().Named("agent"))
	s.opening()
	a, err := agent.New(cfg, log.Logger(), agent.Host{Version: version(), LogLevels: log})
	if err != nil {
		s.failed(err)
		return err
	}
	// New has recovered the spool and bound the sockets: what comes from now on waits for nothing but its turn.
	s.ready(a)
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(ctx, a, ended)
	}()
	err = a.Run(ctx)
	close(ended)
	<-watched
	if err != nil {
		s.failed(err)
	}
	return err
}
