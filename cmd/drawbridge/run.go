package main

import (
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"drawbridge/agent"
	"drawbridge/config"
)

func runCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the agent until it is told to stop",
		Long: `run is the agent. SIGTERM or SIGINT stops it: it takes no new work, lets what is in flight be
answered and closes its spool last. A second signal ends it at once, which loses nothing either.`,
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
			a, err := agent.New(cfg, log, agent.Host{Version: version()})
			if err != nil {
				return err
			}
			return a.Run(cmd.Context())
		},
	}
}

func newLog(c config.Log, g *globals) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Level:      hclog.LevelFromString(c.Level),
		JSONFormat: c.Format == "json",
		Output:     g.stderr,
	})
}
