package main

import (
	"errors"

	"github.com/spf13/cobra"

	"drawbridge/cmd/drawbridge/demo"
)

func demoCommand(g *globals) *cobra.Command {
	o := demo.Defaults()
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch two agents carry messages over a broken link, and be judged",
		Long: `demo runs two agents in temporary directories, with a link between them that loses packets
and goes down, kills both on the way, and judges by what the producers heard and the consumer
saw: nothing lost, nothing doubled, order kept, nothing corrupt. Exit code 0 only if so.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			verdict, err := demo.Run(cmd.Context(), o, g.stderr)
			if errors.Is(err, demo.ErrOptions) {
				return usageOf(cmd, err)
			}
			if err != nil {
				return err
			}
			if err := g.printVerdict(verdict); err != nil {
				return err
			}
			if !verdict.OK() {
				return toldError{errors.New("the crossing was not clean")}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Input, "input", o.Input, "file whose lines are sent (default: a sample inside the program)")
	flags.IntVar(&o.Messages, "messages", o.Messages, "how many messages are sent")
	flags.Float64Var(&o.Loss, "loss", o.Loss, "share of packets that the link loses, 0 to below 1")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "decides which packets are lost")
	flags.BoolVar(&o.Keep, "keep", o.Keep, "leave both agents running and say what to try with them")
	return cmd
}

func (g *globals) printVerdict(v demo.Verdict) error {
	if g.json() {
		return g.printJSON(v)
	}
	return v.WriteText(g.stdout)
}
