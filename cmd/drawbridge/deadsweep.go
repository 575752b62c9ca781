package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

// sweepFlags are the flags of what is done to many dead letters.
type sweepFlags struct {
	deadFlags
	choice client.DeadChoice
}

func (f *sweepFlags) add(cmd *cobra.Command) {
	f.deadFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.choice.All, "all", false, "every dead letter of the queue")
	flags.IntVar(&f.choice.Max, "max", 0, "at most so many of them, those that died first")
	flags.BoolVar(&f.choice.DryRun, "dry-run", false, "only tell what would be done")
}

// read returns what the command line chooses: sequences, a filter, or all.
func (f *sweepFlags) read(cmd *cobra.Command, args []string) (client.DeadChoice, error) {
	var err error
	if f.choice.Filter, err = f.deadFlags.read(cmd); err != nil {
		return f.choice, err
	}
	for _, arg := range args {
		sequence, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			return f.choice, usageOf(cmd, fmt.Errorf("%s is no sequence; 'dead list' shows them, and --id chooses by id", arg))
		}
		f.choice.Sequences = append(f.choice.Sequences, sequence)
	}
	listed, filtered := len(args) > 0, f.given(cmd)
	switch {
	case f.choice.Max < 0:
		err = fmt.Errorf("--max %d: use 1 or more", f.choice.Max)
	case listed && (filtered || f.choice.All || f.choice.Max > 0):
		err = errors.New("sequences leave nothing to choose: leave out --all, --max and every filter")
	case filtered && f.choice.All:
		err = errors.New("--all beside a filter: leave out one of them")
	case !listed && !filtered && !f.choice.All:
		err = errors.New("name sequences or a filter, or say --all")
	}
	if err != nil {
		return f.choice, usageOf(cmd, err)
	}
	return f.choice, nil
}

func deadRequeueCommand(g *globals) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "requeue QUEUE [SEQUENCE...]",
		Short: "Give dead letters another life at the tail of their queue",
		Long: `requeue moves dead letters back into their queue. It takes those of the sequences, those
that a filter lets through, or --all. What dies while it runs stays where it is, also if
it was just requeued. Interrupting it is safe, and so is repeating it.`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice, err := f.read(cmd, args[1:])
			if err != nil {
				return err
			}
			if choice.Rate < 0 {
				return usageOf(cmd, fmt.Errorf("--rate %d: use 1 or more", choice.Rate))
			}
			return g.sweep(cmd.Context(), args[0], choice, (*client.Client).RequeueDead)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.choice.Rate, "rate", 0, "at most so many a second (default: as fast as it goes)")
	return cmd
}

func deadPurgeCommand(g *globals) *cobra.Command {
	var f sweepFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge QUEUE [SEQUENCE...]",
		Short: "Remove dead letters for good",
		Long: `purge removes dead letters for good. It takes those of the sequences; those that a filter
lets through, or --all, only with --yes. Try --dry-run first.`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice, err := f.read(cmd, args[1:])
			if err != nil {
				return err
			}
			if len(choice.Sequences) == 0 && !choice.DryRun && !yes {
				return usageOf(cmd, errors.New("what is purged is gone for good: say --yes, or try --dry-run first"))
			}
			return g.sweep(cmd.Context(), args[0], choice, (*client.Client).PurgeDead)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "purge what no sequence names")
	return cmd
}

// sweeper is one of the client's calls.
type sweeper func(*client.Client, context.Context, string, client.DeadChoice, func(api.DeadProgress)) (api.DeadProgress, error)

func (g *globals) sweep(ctx context.Context, queue string, choice client.DeadChoice, call sweeper) error {
	agent, err := g.agent()
	if err != nil {
		return err
	}
	defer agent.Close()
	line := progressLine{out: g.stderr, shown: isTerminal(g.stderr)}
	result, err := call(agent, ctx, queue, choice, line.show)
	line.clear()
	if err != nil {
		return err
	}
	if err := g.printSweep(result); err != nil {
		return err
	}
	switch {
	case result.Of == result.SkippedFor[api.SkipGone]:
		return errNothing
	case result.Of == result.Skipped:
		return toldError{verdictError{api.VerdictRefused, fmt.Errorf("all %d dead letters were skipped", result.Of)}}
	}
	return nil
}

func (g *globals) printSweep(p api.DeadProgress) error {
	if g.json() {
		return g.printJSON(p)
	}
	_, err := fmt.Fprintln(g.stdout, sweepText(p))
	return err
}

// sweepText says in one line what was done, or how far it is.
func sweepText(p api.DeadProgress) string {
	var text string
	switch {
	case p.DryRun && p.Finished:
		text = fmt.Sprintf("would take %d", p.Of-p.Skipped)
	case p.Done == 0 && !p.Finished:
		text = fmt.Sprintf("found %d", p.Of)
	case p.Purged > 0:
		text = fmt.Sprintf("purged %d of %d", p.Purged, p.Of)
	case p.Requeued > 0:
		text = fmt.Sprintf("requeued %d of %d", p.Requeued, p.Of)
	default:
		text = fmt.Sprintf("none of %d", p.Of)
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf(", skipped %d (%s)", p.Skipped, counts(p.SkippedFor))
	}
	if len(p.ByReason) > 0 {
		text += ": " + counts(p.ByReason)
	}
	return text
}

func counts[K ~string](by map[K]uint64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[k], k))
	}
	return strings.Join(parts, ", ")
}

// progressLine is one line of a terminal that is written again and again. Elsewhere nothing is shown.
type progressLine struct {
	out     io.Writer
	shown   bool
	written bool
}

const clearLine = "\r\x1b[K"

func (l *progressLine) show(p api.DeadProgress) {
	if l.shown {
		fmt.Fprint(l.out, clearLine, sweepText(p))
		l.written = true
	}
}

func (l *progressLine) clear() {
	if l.written {
		fmt.Fprint(l.out, clearLine)
	}
}

func isTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	return isFile && isatty.IsTerminal(file.Fd())
}
