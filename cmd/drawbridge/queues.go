package main

import (
	"time"

	"github.com/spf13/cobra"

	"drawbridge/api"
)

func queuesCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "queues [QUEUE]",
		Short: "Show what lies in the queues",
		Args:  arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			var queues []api.Queue
			if len(args) == 1 {
				queues = make([]api.Queue, 1)
				queues[0], err = agent.Queue(cmd.Context(), args[0])
			} else {
				queues, err = agent.Queues(cmd.Context())
			}
			if err != nil {
				return err
			}
			return g.printQueues(queues)
		},
	}
}

func (g *globals) printQueues(queues []api.Queue) error {
	if g.json() {
		return g.printJSON(queues)
	}
	t := newTable(g.stdout, "QUEUE", "MESSAGES", "SIZE", "OLDEST", "LEASED", "WAITING", "IN DOUBT", "STORED", "ACCEPTED", "ACKED", "SETTLED", "BURIED", "ROUTE")
	for _, q := range queues {
		t.row(q.Name, q.Messages, sizeOf(q.Bytes), period(time.Duration(q.OldestAgeMillis)*time.Millisecond), q.Leased, q.Waiting, q.InDoubt,
			q.Stored, q.Accepted, q.Acked, q.Settled, q.Buried, dash(q.Route))
	}
	return t.print()
}
