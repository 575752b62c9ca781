package config

import (
	"strconv"
	"time"

	"drawbridge/spool"
)

// unlimited is the word for a queue that hands its messages out for ever.
const unlimited = "unlimited"

// mostDeliveries is as often as anybody can want; more is meant to be without end.
const mostDeliveries = 1_000_000

// maxDeliveries stores how often a message is handed out: a number from 1 on, or unlimited.
func (r *reader) maxDeliveries(n node, into *uint32) {
	var text string
	if !r.text(n, &text) {
		return
	}
	if text == unlimited {
		*into = spool.UnlimitedDeliveries
		return
	}
	most, err := strconv.ParseUint(text, 10, 32)
	if err != nil || most == 0 || most > mostDeliveries {
		r.suggest(n.place, nearest(text, []string{unlimited}), "%q is not allowed, want a whole number from 1 to %d, or %s", clip(text), mostDeliveries, unlimited)
		return
	}
	*into = uint32(most)
}

// Kinds of retry.
const (
	retryNone        = "none"
	retryFixed       = "fixed"
	retryLinear      = "linear"
	retryExponential = "exponential"
)

// retry stores how long messages wait that were given back. What is written replaces all that is inherited: a word is a
// mapping that holds nothing but its kind.
func (r *reader) retry(n node, into *spool.Retry) {
	switch n.kind {
	case absent:
		return
	case list:
		r.report(n.place, "want a word or a mapping such as `{ %s }`, got %s", retryKeys.example, n.kind)
		return
	}
	kind := retryExponential
	var wanted spool.Retry
	if n.kind == mapping {
		f := r.fields(n, retryKeys)
		r.word(f["kind"], &kind, retryNone, retryFixed, retryLinear, retryExponential)
		r.duration(f["first"], &wanted.First, time.Millisecond, noLimit)
		r.duration(f["max"], &wanted.Max, time.Millisecond, noLimit)
		r.idleRetry(f, kind, wanted)
	} else {
		r.word(n, &kind, retryNone, retryFixed, retryLinear, retryExponential)
	}
	wanted.Kind = retryKind(kind)
	*into = wanted
}

// idleRetry reports what is written in a retry and would change nothing.
func (r *reader) idleRetry(f map[string]node, kind string, retry spool.Retry) {
	first, most := f["first"], f["max"]
	switch {
	case kind == retryNone && first.kind == scalar:
		r.report(first.place, "kind %s does not wait: leave `first` out, or write another kind", kind)
	case (kind == retryNone || kind == retryFixed) && most.kind == scalar:
		r.report(most.place, "kind %s has no waits that grow: leave `max` out, or write another kind", kind)
	case retry.First != 0 && retry.Max != 0 && retry.First > retry.Max:
		r.report(first.place, "%s is longer than `max`, which is %s", FormatDuration(retry.First), FormatDuration(retry.Max))
	}
}

func retryKind(word string) spool.RetryKind {
	switch word {
	case retryNone:
		return spool.RetryNone
	case retryFixed:
		return spool.RetryFixed
	case retryLinear:
		return spool.RetryLinear
	}
	return spool.RetryExponential
}
