// Command drawbridge is the agent and every tool for it, one file per subcommand. It parses arguments and prints; all else
// is done by package agent, or asked of a running agent by package client.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"drawbridge/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal asks; after it a second one ends the process at once, whatever it is doing.
	context.AfterFunc(ctx, stop)
	code := execute(ctx, os.Args[1:], host{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, uid: os.Getuid()})
	os.Exit(code)
}

// host is what a command sees of the process it runs in. Tests give it others.
type host struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	uid            int
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, h host) int {
	root := newRoot(h)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !alreadyTold(err) {
		fmt.Fprintln(h.stderr, "drawbridge:", err)
	}
	if errors.Is(err, client.ErrUnreachable) {
		fmt.Fprintln(h.stderr, "Is it running? Start it with 'drawbridge run', or name its socket with --api or DRAWBRIDGE_API")
	}
	return exitCode(err)
}
