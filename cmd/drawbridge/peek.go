package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func peekCommand(g *globals) *cobra.Command {
	var from uint64
	var max int
	cmd := &cobra.Command{
		Use:   "peek QUEUE",
		Short: "Show messages in their places without taking them",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if max < 1 {
				return usageOf(cmd, fmt.Errorf("--max %d: use 1 or more", max))
			}
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			peeked, err := agent.Peek(cmd.Context(), args[0], from, max)
			if err != nil {
				return err
			}
			if len(peeked) == 0 {
				return errNothing
			}
			return g.printPeeked(peeked)
		},
	}
	cmd.Flags().Uint64Var(&from, "from", 0, "begin at this sequence")
	cmd.Flags().IntVar(&max, "max", 20, "show up to so many messages")
	return cmd
}

func (g *globals) printPeeked(peeked []client.Peeked) error {
	if g.json() {
		for i := range peeked {
			p := &peeked[i]
			line := api.Peeked{Message: messageLine(&p.Stored), Leased: p.Leased, Waiting: p.Waiting, InDoubt: p.InDoubt}
			line.Death = p.Death
			if err := g.printLine(line); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(g.stdout, "SEQUENCE", "ID", "STATE", "DELIVERIES", "PRIORITY", "STORED", "BYTES", "BODY")
	for i := range peeked {
		p := &peeked[i]
		t.row(p.Sequence, p.ID, stateOf(p), p.Deliveries, p.Priority, p.StoredAt.Local().Format(time.DateTime), len(p.Body), glimpse(p.Body))
	}
	return t.print()
}

func stateOf(p *client.Peeked) string {
	switch {
	case p.InDoubt:
		return "in doubt"
	case p.Leased:
		return "leased"
	case p.Waiting:
		return "waiting"
	}
	return "ready"
}

// glimpse shows the beginning of a body on one line, whatever its bytes.
func glimpse(body []byte) string {
	const shown = 40
	if len(body) <= shown {
		return strconv.Quote(string(body))
	}
	return strconv.Quote(string(body[:shown])) + "…"
}
