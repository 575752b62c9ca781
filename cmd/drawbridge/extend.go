package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func extendCommand(g *globals) *cobra.Command {
	var visibility time.Duration
	cmd := &cobra.Command{
		Use:   "extend RECEIPT...",
		Short: "Keep deliveries for longer by their receipts",
		Long: `extend has leases run anew: for --visibility from now on, or for the visibility_timeout of the queue.
It prints how long each really runs. A lease that has run out cannot be extended: its receipt is stale.`,
		Example: `  drawbridge extend "$receipt" --visibility 10m`,
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if visibility <= 0 && cmd.Flags().Changed("visibility") {
				return usageOf(cmd, errors.New("--visibility: use 1ms or more; to give a message back, use nack"))
			}
			return g.settle([]api.ReceiptVerdict{api.Extended}, func(agent *client.Client) ([]client.Settled, error) {
				return agent.Extend(cmd.Context(), visibility, args...)
			})
		},
	}
	cmd.Flags().DurationVar(&visibility, "visibility", 0, "how long the leases run from now on, up to 24h (default: the queue's visibility_timeout)")
	return cmd
}
