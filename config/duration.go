package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// units from the longest to the shortest. A day is 24 hours: durations are spool time, which knows no calendar.
var units = []struct {
	name string
	unit time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
}

var (
	durationTerm = regexp.MustCompile(`^(\d+)(ms|[a-zA-Z]+)`)
	bareNumber   = regexp.MustCompile(`^\d+$`)
)

// ParseDuration reads a duration such as 30s, 72h or 1d12h: whole numbers with the units w, d, h, m, s, ms, each at most
// once, longest first.
func ParseDuration(text string) (time.Duration, error) {
	if bareNumber.MatchString(text) {
		return 0, fmt.Errorf("%s has no unit, write %ss for seconds; units are w, d, h, m, s, ms", clip(text), clip(text))
	}
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("%s is negative, want a duration such as 30s", clip(text))
	}
	malformed := fmt.Errorf("%q is not a duration, write one such as 30s, 72h or 1d12h; units are w, d, h, m, s, ms", clip(text))
	var total time.Duration
	next := 0
	for rest := text; rest != ""; {
		m := durationTerm.FindStringSubmatch(rest)
		if m == nil {
			return 0, malformed
		}
		for next < len(units) && units[next].name != m[2] {
			next++
		}
		if next == len(units) {
			return 0, malformed
		}
		unit := units[next].unit
		next++
		count, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || count > (math.MaxInt64-int64(total))/int64(unit) {
			return 0, fmt.Errorf("%s is too long, at most about 292 years can be told", clip(text))
		}
		total += time.Duration(count) * unit
		rest = rest[len(m[0]):]
	}
	if next == 0 {
		return 0, malformed
	}
	return total, nil
}

// FormatDuration writes d, to the millisecond, as ParseDuration reads it.
func FormatDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range units {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
