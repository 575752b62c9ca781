package config

import "slices"

// LogParts are the parts of an agent that have a log level of their own.
func LogParts() []string { return slices.Clone(levelKeys.known) }

// logLevels are the words for levels, the most talkative first.
var logLevels = []string{"trace", "debug", "info", "warn", "error"}

func (r *reader) log(n node, into *Log) {
	f := r.fields(n, logKeys)
	r.word(f["level"], &into.Level, logLevels...)
	r.word(f["format"], &into.Format, "text", "json")
	levels := r.fields(f["levels"], levelKeys)
	if len(levels) > 0 {
		into.Levels = make(map[string]string, len(levels))
	}
	for part, level := range levels {
		own := into.Level
		r.word(level, &own, logLevels...)
		into.Levels[part] = own
	}
}
