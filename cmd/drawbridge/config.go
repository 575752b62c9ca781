package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"drawbridge/config"
)

func configCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Work with the configuration file",
	}
	commandGroup(cmd, configCheckCommand(g))
	return cmd
}

func configCheckCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Find every mistake of a configuration file in one run",
		Long: `check tells every mistake of a configuration file. Of an agent that runs it asks for how
long each peer may retry, and tells which routes the file would refuse it: ids cannot be
promised for longer than ledger_max_window.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, _ := g.configPath()
			if len(args) == 1 {
				path = args[0]
			}
			cfg, err := config.Load(path)
			var problems config.Errors
			if err != nil && !errors.As(err, &problems) {
				return err
			}
			if err == nil {
				problems = g.refusals(cmd.Context(), path, cfg)
			}
			if err := g.printProblems(path, cfg, problems); err != nil {
				return err
			}
			if len(problems) > 0 {
				return toldError{problems}
			}
			return nil
		},
	}
}

func (g *globals) printProblems(path string, cfg *config.Config, problems config.Errors) error {
	if g.json() {
		return g.printJSON(append(config.Errors{}, problems...))
	}
	if len(problems) == 0 {
		_, err := fmt.Fprintf(g.stdout, "%s is good: agent %s, queues: %d, links: %d\n", path, cfg.Agent, len(cfg.Queues), len(cfg.Links))
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(g.stderr, p.Error())
	}
	_, err := fmt.Fprintf(g.stderr, "%s: mistakes: %d\n", path, len(problems))
	return err
}
