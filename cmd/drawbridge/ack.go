package main

import (
	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func ackCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "ack RECEIPT...",
		Short: "End deliveries for good by their receipts",
		Long: `ack ends deliveries for good. One that is already settled is no failure: an earlier ack may have
been done and its answer lost. A stale receipt is one whose lease ran out: another delivery may own the message.`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.settle([]api.ReceiptVerdict{api.Acked, api.AlreadySettled}, func(agent *client.Client) ([]client.Settled, error) {
				return agent.Ack(cmd.Context(), args...)
			})
		},
	}
}
