package main

import "github.com/spf13/cobra"

func clockCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Judge a jump of time that the agent has found at its start",
	}
	commandGroup(cmd, clockAcceptCommand(g))
	return cmd
}

func clockAcceptCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "accept",
		Short: "Say that the agent was stopped for as long as its clock tells",
		Long: `accept ends the hold of an agent that was stopped for more than a day by the clock of
its host. Until then it forgets no id for its age, because a clock that is wrong by years
would empty its memory of what was accepted. "drawbridge health" shows the jump. If the
clock was wrong, correct it and accept when a whole window has passed since: ids from
before would be forgotten at once else.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			return agent.AcceptClock(cmd.Context())
		},
	}
}
