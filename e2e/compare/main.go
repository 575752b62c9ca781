// Compare measures drawbridge's default engine against the queue that a good engineer would build on SQLite, on one disk
// in one run. It is a module of its own, so that the agent does not depend on SQLite.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	rounds := flags.Int("rounds", 7, "how often each engine is measured")
	messages := flags.Int("messages", 40*batch, "messages of 1 KiB in each measurement")
	dir := flags.String("dir", os.TempDir(), "a directory on the disk to be measured")
	only := flags.String("only", "", "measure this engine alone, to profile it")
	profile := flags.String("cpuprofile", "", "write a CPU profile to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *messages < 1 {
		return errors.New("rounds and messages must be at least 1")
	}
	contenders, err := choose(*only)
	if err != nil {
		return err
	}
	if *profile != "" {
		end, err := profileTo(*profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	before := load()
	measured, err := measure(ctx, contenders, *dir, *rounds, *messages)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%d rounds of %d messages of 1 KiB; load average %s before, %s after\n\n", machine(), *rounds, *messages, before, load())
	return report(os.Stdout, contenders, measured)
}

// profileTo profiles until end is called.
func profileTo(path string) (end func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
