package main

import (
	"errors"

	"github.com/spf13/cobra"

	"drawbridge/api"
)

func healthCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask whether the agent takes messages, and how its parts are",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			health, err := agent.Health(cmd.Context())
			if err != nil {
				return err
			}
			if err := g.printHealth(health); err != nil {
				return err
			}
			if !health.Ready {
				return toldError{errors.New("the agent is not ready")}
			}
			return nil
		},
	}
}

func (g *globals) printHealth(health api.Health) error {
	if g.json() {
		return g.printJSON(health)
	}
	t := newTable(g.stdout, "PART", "OK", "DETAIL")
	t.row("agent", yes(health.Ready), ready(health.Ready))
	for _, c := range health.Checks {
		t.row(c.Name, yes(c.OK), dash(c.Detail))
	}
	return t.print()
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}

func ready(ok bool) string {
	if ok {
		return "takes messages"
	}
	return "takes no messages"
}
