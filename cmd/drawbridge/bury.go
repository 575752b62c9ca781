package main

import (
	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func buryCommand(g *globals) *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use:   "bury RECEIPT...",
		Short: "Make dead letters of messages by the receipts of their deliveries",
		Long: `bury sets messages aside: nobody can do the work. Each becomes a dead letter of its queue at once,
with the reason rejected and --text. "drawbridge dead" lists, requeues and purges dead letters.`,
		Example: `  drawbridge bury "$receipt" --text 'no such customer'`,
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.settle([]api.ReceiptVerdict{api.Buried, api.AlreadySettled}, func(agent *client.Client) ([]client.Settled, error) {
				return agent.Bury(cmd.Context(), text, args...)
			})
		},
	}
	cmd.Flags().StringVar(&text, "text", "", "is kept with the dead letters, up to 512 bytes")
	return cmd
}
