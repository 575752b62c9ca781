package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/client"
	"drawbridge/config"
)

func deadCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "Look at dead letters, give them another life, or remove them",
		Long: `A dead letter is a message that was set aside: the far side refused it, it was handed out
too often, or somebody buried it. It lies in the queue of the same name with the suffix
.dead, with the reason, until it is requeued, taken or purged.`,
	}
	commandGroup(cmd, deadListCommand(g), deadCountCommand(g), deadShowCommand(g), deadRequeueCommand(g), deadPurgeCommand(g))
	return cmd
}

// deadFlags are the flags that choose dead letters.
type deadFlags struct {
	filter       client.DeadFilter
	older, newer string
}

func (f *deadFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Reason, "reason", "", "those that died of this, such as too-large")
	flags.StringVar(&f.filter.Route, "route", "", "those that died on this route")
	flags.StringVar(&f.filter.Text, "text", "", "those whose death says this somewhere in its text")
	flags.StringVar(&f.filter.ID, "id", "", "the one with this id")
	flags.StringVar(&f.filter.Header, "header", "", "NAME=VALUE, those with this message header")
	flags.StringVar(&f.older, "older", "", "those that died longer ago than this, such as 2d")
	flags.StringVar(&f.newer, "newer", "", "those that died less long ago than this")
	flags.Uint64Var(&f.filter.From, "from", 0, "those from this sequence on")
}

// names are the flags of the filter.
func (f *deadFlags) names() []string {
	return []string{"reason", "route", "text", "id", "header", "older", "newer", "from"}
}

// read returns the filter. A flag that is given and empty is a mistake: it would let everything through.
func (f *deadFlags) read(cmd *cobra.Command) (client.DeadFilter, error) {
	for _, name := range f.names() {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return f.filter, usageOf(cmd, fmt.Errorf("--%s: it is empty", name))
		}
	}
	if h := f.filter.Header; h != "" && strings.Index(h, "=") < 1 {
		return f.filter, usageOf(cmd, fmt.Errorf("--header %s: want NAME=VALUE", h))
	}
	var err error
	if f.filter.OlderThan, err = ageOf("older", f.older); err == nil {
		f.filter.NewerThan, err = ageOf("newer", f.newer)
	}
	if err != nil {
		return f.filter, usageOf(cmd, err)
	}
	return f.filter, nil
}

func ageOf(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	age, err := config.ParseDuration(text)
	if err == nil && age <= 0 {
		err = errors.New("use more than nothing")
	}
	if err != nil {
		return 0, fmt.Errorf("--%s %s: %w", flag, text, err)
	}
	return age, nil
}

// given tells whether the command line has any of the filter's flags.
func (f *deadFlags) given(cmd *cobra.Command) bool {
	for _, name := range f.names() {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}
