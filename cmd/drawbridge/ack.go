package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"drawbridge/api"
)

func ackCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "ack RECEIPT...",
		Short: "End deliveries for good by their receipts",
		Long: `ack ends deliveries for good. One that is already settled is no failure: an earlier ack may have
been done and its answer lost. A stale receipt is one whose lease ran out: another delivery may own the message.`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			results, err := agent.Ack(cmd.Context(), args...)
			if err != nil {
				return err
			}
			if err := g.printAcks(results); err != nil {
				return err
			}
			for _, res := range results {
				if res.Verdict != api.Acked && res.Verdict != api.AckAlready {
					return toldError{verdictError{api.VerdictRefused, fmt.Errorf("receipt %s is %s", res.Receipt, res.Verdict)}}
				}
			}
			return nil
		},
	}
}

func (g *globals) printAcks(results []api.AckResult) error {
	if g.json() {
		return g.printJSON(results)
	}
	for _, res := range results {
		if _, err := fmt.Fprintln(g.stdout, res.Receipt, res.Verdict); err != nil {
			return err
		}
	}
	return nil
}
