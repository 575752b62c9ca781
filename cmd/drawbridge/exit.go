package main

import (
	"errors"

	"drawbridge/api"
	"drawbridge/client"
)

// Exit codes, the same for all subcommands.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitNothing
	exitRefused
	exitUnknown
	exitUnreachable
)

// errNothing ends a command that found nothing: an empty queue is no failure, but a script must see it.
var errNothing = errors.New("nothing there")

// usageError is a mistake on the command line.
type usageError struct{ error }

// verdictError is a verdict that is no success. The text is that of the error it wraps.
type verdictError struct {
	verdict api.Verdict
	error
}

func (e verdictError) Unwrap() error { return e.error }

// toldError is an error of which the command has printed all there is to say.
type toldError struct{ error }

func (e toldError) Unwrap() error { return e.error }

func alreadyTold(err error) bool {
	var told toldError
	return errors.As(err, &told) || errors.Is(err, errNothing)
}

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var usage usageError
	var verdict verdictError
	var answered *client.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errNothing):
		return exitNothing
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	case errors.Is(err, client.ErrUnknown):
		return exitUnknown
	case errors.As(err, &verdict):
		return exitRefused
	case errors.As(err, &answered) && (answered.Code == api.CodeNoSuchQueue || answered.Code == api.CodeNoSuchLink):
		return exitNothing
	case errors.As(err, &answered) && answered.Refused():
		return exitRefused
	}
	return exitFailed
}
