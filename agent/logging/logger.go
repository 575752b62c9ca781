package logging

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// logger is one logger of a Log. The embedded one writes; this one decides whether.
type logger struct {
	hclog.Logger
	log   *Log
	level *atomic.Int32
	// implied are the facts of With in words: a flood of one link's lines must not hold back another's.
	implied string
}

// Log implements hclog.Logger.
func (l *logger) Log(level hclog.Level, text string, facts ...any) {
	if l.writes(level) {
		l.log.floods.write(line{l.Logger, l.implied, level, text, inWords(facts)})
	}
}

// inWords replaces facts that know their words by these: as an object of JSON an identity would be a list of numbers, and
// nobody would find by it what the command line shows.
func inWords(facts []any) []any {
	words := facts
	for i, fact := range facts {
		if _, ok := fact.(fmt.Stringer); !ok {
			continue
		}
		if &words[0] == &facts[0] {
			words = slices.Clone(facts)
		}
		words[i] = fmt.Sprint(fact)
	}
	return words
}

func (l *logger) writes(level hclog.Level) bool { return int32(level) >= l.level.Load() }

func (l *logger) Trace(text string, facts ...any) { l.Log(hclog.Trace, text, facts...) }
func (l *logger) Debug(text string, facts ...any) { l.Log(hclog.Debug, text, facts...) }
func (l *logger) Info(text string, facts ...any)  { l.Log(hclog.Info, text, facts...) }
func (l *logger) Warn(text string, facts ...any)  { l.Log(hclog.Warn, text, facts...) }
func (l *logger) Error(text string, facts ...any) { l.Log(hclog.Error, text, facts...) }

func (l *logger) IsTrace() bool { return l.writes(hclog.Trace) }
func (l *logger) IsDebug() bool { return l.writes(hclog.Debug) }
func (l *logger) IsInfo() bool  { return l.writes(hclog.Info) }
func (l *logger) IsWarn() bool  { return l.writes(hclog.Warn) }
func (l *logger) IsError() bool { return l.writes(hclog.Error) }

// GetLevel implements hclog.Logger.
func (l *logger) GetLevel() hclog.Level { return hclog.Level(l.level.Load()) }

// SetLevel implements hclog.Logger, whose contract lets it do nothing: levels are the operator's, through Log.SetLevel.
func (l *logger) SetLevel(hclog.Level) {}

// With implements hclog.Logger.
func (l *logger) With(facts ...any) hclog.Logger {
	facts = inWords(facts)
	return &logger{l.Logger.With(facts...), l.log, l.level, l.implied + fmt.Sprint(facts...) + "\x00"}
}

// Named implements hclog.Logger.
func (l *logger) Named(name string) hclog.Logger { return l.named(l.Logger.Named(name)) }

// ResetNamed implements hclog.Logger.
func (l *logger) ResetNamed(name string) hclog.Logger { return l.named(l.Logger.ResetNamed(name)) }

func (l *logger) named(out hclog.Logger) hclog.Logger {
	part := out.Name()[strings.LastIndexByte(out.Name(), '.')+1:]
	level, known := l.log.levels[part]
	if !known {
		level = l.log.levels[""]
	}
	return &logger{out, l.log, level, l.implied}
}

// StandardLogger implements hclog.Logger.
func (l *logger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(o), "", 0)
}

// StandardWriter implements hclog.Logger. It writes at o.ForceLevel, or at Info, and infers nothing from the text.
func (l *logger) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	w := standard{l, hclog.Info}
	if o != nil && o.ForceLevel != hclog.NoLevel {
		w.level = o.ForceLevel
	}
	return w
}

// standard takes the lines of libraries that know no hclog. Their texts are not constant, so that each becomes a fact under
// one text: all of them together are bounded.
type standard struct {
	log   *logger
	level hclog.Level
}

func (w standard) Write(p []byte) (int, error) {
	w.log.Log(w.level, "a library reports", "text", string(bytes.TrimRight(p, " \t\n")))
	return len(p), nil
}
