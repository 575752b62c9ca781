package localapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"drawbridge/api"
	"drawbridge/message"
)

// options reads the query of one request. The first failure sticks, so that a call reads all it needs and looks once. An
// option nobody knows is an error: a mistyped one would otherwise be ignored in silence.
type options struct {
	values url.Values
	err    error
}

func readOptions(u *url.URL, known ...string) *options {
	if u.RawQuery == "" {
		return &options{}
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return &options{err: refuse(api.CodeBadOption, "query: %v", err)}
	}
	o := &options{values: values}
	for name, given := range values {
		if !slices.Contains(known, name) {
			o.fail("option %q: unknown here, use one of %v", clip(name), known)
		}
		if len(given) > 1 {
			o.fail("option %q: given %d times", clip(name), len(given))
		}
	}
	return o
}

func (o *options) fail(format string, args ...any) {
	if o.err == nil {
		o.err = refuse(api.CodeBadOption, format, args...)
	}
}

func (o *options) text(name string) string { return o.values.Get(name) }

// yes tells whether an option is given as true.
func (o *options) yes(name string) bool {
	switch s := o.text(name); s {
	case "true":
		return true
	case "", "false":
	default:
		o.fail("%s=%s: use true or false", name, clip(s))
	}
	return false
}

// number returns a whole number between low and high, or byDefault if it is not given.
func (o *options) number(name string, byDefault, low, high uint64) uint64 {
	s := o.values.Get(name)
	if s == "" {
		return byDefault
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n < low || n > high {
		o.fail("%s=%s: use a whole number from %d to %d", name, clip(s), low, high)
		return byDefault
	}
	return n
}

// duration returns a duration between low and high, or 0 if it is not given.
func (o *options) duration(name string, low, high time.Duration) time.Duration {
	d, err := parseDuration(o.text(name), low, high)
	if err != nil {
		o.fail("%s=%v", name, err)
	}
	return d
}

// parseDuration reads a duration between low and high; an empty text is 0.
func parseDuration(s string, low, high time.Duration) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < low || d > high {
		return 0, fmt.Errorf("%s: use a duration like 30s, from %s to %s", clip(s), low, high)
	}
	return d, nil
}

func (o *options) qos(name string) message.QoS {
	q, ok := parseQoS(o.values.Get(name))
	if !ok {
		o.fail("%s=%s: use %s or %s", name, clip(o.values.Get(name)), message.AtLeastOnce, message.AtMostOnce)
	}
	return q
}

func parseQoS(s string) (message.QoS, bool) {
	switch s {
	case "", message.AtLeastOnce.String():
		return message.AtLeastOnce, true
	case message.AtMostOnce.String():
		return message.AtMostOnce, true
	}
	return 0, false
}
