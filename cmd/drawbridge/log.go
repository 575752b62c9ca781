package main

import (
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"drawbridge/agent/logging"
	"drawbridge/api"
	"drawbridge/config"
)

// newLog returns the agent's log as the configuration wants it.
func newLog(c config.Log, g *globals) *logging.Log {
	levels := make(map[string]hclog.Level, len(c.Levels))
	for part, level := range c.Levels {
		levels[part] = hclog.LevelFromString(level)
	}
	return logging.New(logging.Options{
		Output: g.stderr,
		JSON:   c.Format == "json",
		Level:  hclog.LevelFromString(c.Level),
		Levels: levels,
		Parts:  config.LogParts(),
	})
}

func logCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "log [LEVEL [PART]]",
		Short: "Show what the running agent logs, or make it say more or less",
		Long: `log shows the level of each part of the agent's log. With a level (trace, debug, info,
warn, error) it gives it to all parts, or to the one that is named, at once and until the
agent stops. The level "default" is that of the configuration.`,
		Example: `  drawbridge log debug link
  drawbridge log default`,
		Args: arguments(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			var log api.Log
			switch len(args) {
			case 0:
				log, err = agent.Log(cmd.Context())
			case 1:
				log, err = agent.SetLog(cmd.Context(), args[0], "")
			case 2:
				log, err = agent.SetLog(cmd.Context(), args[0], args[1])
			}
			if err != nil {
				return err
			}
			return g.printLog(log)
		},
	}
}

func (g *globals) printLog(log api.Log) error {
	if g.json() {
		return g.printJSON(log)
	}
	t := newTable(g.stdout, "PART", "LEVEL")
	for _, part := range slices.Sorted(maps.Keys(log.Levels)) {
		t.row(part, log.Levels[part])
	}
	return t.print()
}
