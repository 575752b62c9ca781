// Package logging is the log of one agent: a level for each part that can be changed while the agent runs, and a bound on
// lines that say the same. It writes through hclog and decides only which lines are written, never what they say.
package logging

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// Options say what is written, and where.
type Options struct {
	Output io.Writer
	// JSON writes one object a line instead of text.
	JSON bool
	// Level is that of every part that Levels does not name.
	Level hclog.Level
	// Levels holds the levels of single parts.
	Levels map[string]hclog.Level
	// Parts are the names of all parts. A logger belongs to the part that the last name of it says, such as link for
	// agent.link; one with another name is bound by Level, for good.
	Parts []string
}

// Log is the log of one agent. It is safe for concurrent use. Close it, so that what was held back is told.
type Log struct {
	configured map[string]hclog.Level
	// levels has one entry a part, and one without a name for all other loggers. The map never changes.
	levels map[string]*atomic.Int32
	floods *floods
	// out writes every line that it is given.
	out hclog.Logger
}

// New returns a log that writes to o.Output.
func New(o Options) *Log {
	l := &Log{
		configured: make(map[string]hclog.Level, len(o.Parts)),
		levels:     map[string]*atomic.Int32{"": level(o.Level)},
		floods:     newFloods(),
		out:        hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, JSONFormat: o.JSON, Output: o.Output}),
	}
	for _, part := range o.Parts {
		own, named := o.Levels[part]
		if !named {
			own = o.Level
		}
		l.configured[part], l.levels[part] = own, level(own)
	}
	return l
}

func level(l hclog.Level) *atomic.Int32 {
	var v atomic.Int32
	v.Store(int32(l))
	return &v
}

// Logger returns the logger that all others are named under.
func (l *Log) Logger() hclog.Logger {
	return &logger{Logger: l.out, log: l, level: l.levels[""]}
}

// Default is the word that gives parts the level of the configuration back.
const Default = "default"

// words are the levels that a part can have.
var words = []string{"trace", "debug", "info", "warn", "error"}

// Levels returns the present level of every part.
func (l *Log) Levels() map[string]string {
	present := make(map[string]string, len(l.configured))
	for part := range l.configured {
		present[part] = hclog.Level(l.levels[part].Load()).String()
	}
	return present
}

// SetLevel gives a part, or all parts if the name is empty, a level in words: trace, debug, info, warn, error, or Default.
// It lasts until the agent stops. The change itself is always logged. An error names what is allowed; then nothing was
// changed.
func (l *Log) SetLevel(part, word string) error {
	parts := slices.Sorted(maps.Keys(l.configured))
	if part != "" && !slices.Contains(parts, part) {
		return fmt.Errorf("the log has no part %q, use one of %s", clip(part), strings.Join(parts, ", "))
	}
	if word != Default && !slices.Contains(words, word) {
		return fmt.Errorf("%q is no level, use one of %s, or %s for what the configuration says", clip(word), strings.Join(words, ", "), Default)
	}
	if part != "" {
		parts = []string{part}
	}
	for _, part := range parts {
		next := l.configured[part]
		if word != Default {
			next = hclog.LevelFromString(word)
		}
		if before := hclog.Level(l.levels[part].Swap(int32(next))); before != next {
			l.out.Info("log level changed", "part", part, "level", next.String(), "before", before.String())
		}
	}
	return nil
}

// Close tells what is held back. Lines that come later are written without a bound.
func (l *Log) Close() { l.floods.close() }

// clip keeps a hostile word from filling an answer.
func clip(s string) string {
	if len(s) > 50 {
		return s[:50] + "…"
	}
	return s
}
