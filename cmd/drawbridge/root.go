package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// globals are the flags that every subcommand knows, and what they are filled from.
type globals struct {
	host
	api, config, output string
}

func newRoot(h host) *cobra.Command {
	g := &globals{host: h}
	root := &cobra.Command{
		Use:   "drawbridge",
		Short: "Carry messages between hosts over links that drop, and say where each of them is",
		Long: `drawbridge is a store-and-forward bridge agent. Local programs put messages into
durable queues; agents ship them to each other over links that drop.

Exit codes: 0 ok, 1 failed, 2 usage, 3 nothing there, 4 refused, 5 outcome unknown
(repeat with the same id), 6 agent not reachable.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if g.output != "table" && g.output != "json" {
				return usageError{fmt.Errorf("--output %s: use table or json", g.output)}
			}
			return nil
		},
	}
	root.SetIn(h.stdin)
	root.SetOut(h.stdout)
	root.SetErr(h.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageOf(cmd, err) })
	flags := root.PersistentFlags()
	flags.StringVar(&g.api, "api", "", "the agent's Unix socket (DRAWBRIDGE_API; default: listen.api of the configuration)")
	flags.StringVar(&g.config, "config", "", "the agent's configuration file (DRAWBRIDGE_CONFIG)")
	flags.StringVarP(&g.output, "output", "o", "table", "table or json")
	commandGroup(root,
		runCommand(g), demoCommand(g),
		initCommand(g), identityCommand(g), configCommand(g),
		putCommand(g), takeCommand(g), ackCommand(g), nackCommand(g), extendCommand(g), buryCommand(g), peekCommand(g), deadCommand(g),
		queuesCommand(g), linksCommand(g), healthCommand(g), logCommand(g), clockCommand(g), versionCommand(g),
	)
	return root
}

// commandGroup makes parent a command that only has subcommands. An unknown one is a usage error with a suggestion.
func commandGroup(parent *cobra.Command, children ...*cobra.Command) {
	parent.AddCommand(children...)
	parent.Args = cobra.ArbitraryArgs
	parent.SuggestionsMinimumDistance = 2
	parent.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		text := fmt.Sprintf("unknown command %q", args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
		}
		return usageOf(cmd, fmt.Errorf("%s", text))
	}
}

// usageOf makes err a usage error that says where to read on.
func usageOf(cmd *cobra.Command, err error) error {
	return usageError{fmt.Errorf("%w\nRun '%s --help' for usage", err, cmd.CommandPath())}
}

// arguments makes a mistake in the number of arguments a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageOf(cmd, fmt.Errorf("%s: %w", cmd.UseLine(), err))
		}
		return nil
	}
}
