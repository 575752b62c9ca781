package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func nackCommand(g *globals) *cobra.Command {
	var how client.Nack
	cmd := &cobra.Command{
		Use:   "nack RECEIPT...",
		Short: "Give messages back by the receipts of their deliveries",
		Long: `nack gives messages back: the work failed. Each waits as the queue's retry says, or as --delay
says, and then comes again in its place. One that was handed out as often as its queue allows dies:
it is a dead letter now, with --text. A stale receipt is one whose lease ran out: another delivery
may own the message.`,
		Example: `  drawbridge nack "$receipt"
  drawbridge nack "$receipt" --delay 10m --text 'the printer is out of paper'
  drawbridge nack "$receipt" --delay 0s`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case how.Delay < 0:
				return usageOf(cmd, fmt.Errorf("--delay %s: use 0s or more", how.Delay))
			case how.Delay == 0 && cmd.Flags().Changed("delay"):
				how.Delay = -1 // not at all, whatever the queue says
			}
			return g.settle([]api.ReceiptVerdict{api.Nacked, api.Died, api.AlreadySettled}, func(agent *client.Client) ([]client.Settled, error) {
				return agent.Nack(cmd.Context(), how, args...)
			})
		},
	}
	cmd.Flags().DurationVar(&how.Delay, "delay", 0, "how long the messages wait, up to 720h; 0s is not at all (default: as the queue's retry says)")
	cmd.Flags().StringVar(&how.Text, "text", "", "is kept with a message that dies of it, up to 512 bytes")
	return cmd
}
