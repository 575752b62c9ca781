package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// reader walks the tree of one file, fills in values and collects what is wrong. A value that is wrong is left at its
// default, so that reading goes on.
type reader struct {
	source   *source
	env      func(string) (string, bool)
	problems Errors
}

// report adds a problem without a suggestion.
func (r *reader) report(at place, format string, args ...any) {
	r.problems = append(r.problems, r.source.problem(at, fmt.Sprintf(format, args...), ""))
}

// suggest adds a problem with what was probably meant.
func (r *reader) suggest(at place, suggestion, format string, args ...any) {
	r.problems = append(r.problems, r.source.problem(at, fmt.Sprintf(format, args...), suggestion))
}

// result returns the problems in the order of the file, or nil.
func (r *reader) result() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.problems
}

// fields returns the values of a mapping by their keys, each once, and reports every key that is not allowed. A mapping left
// empty has no fields; a missing key has the zero node.
func (r *reader) fields(n node, allowed keys) map[string]node {
	fields := make(map[string]node)
	for _, e := range r.entries(n, allowed.example) {
		switch {
		case slices.Contains(allowed.known, e.key):
			fields[e.key] = e.value
		case slices.Contains(allowed.later, e.key):
			r.report(e.at, "not supported by this version yet")
		default:
			r.unknown(e, allowed)
		}
	}
	return fields
}

// unknown reports a key that this kind of mapping does not have.
func (r *reader) unknown(e entry, allowed keys) {
	here := strings.Join(allowed.known, ", ")
	meant := nearest(e.key, slices.Concat(allowed.known, allowed.later))
	if home := home(e.key); home != "" && meant == "" {
		r.report(e.at, "unknown key here, it belongs under %s; allowed here: %s", home, here)
		return
	}
	r.suggest(e.at, meant, "unknown key, allowed here: %s", here)
}

// required reports a key that is missing from the mapping at a place.
func (r *reader) required(f map[string]node, key string, in place, example string) bool {
	if f[key].kind == absent {
		r.report(in, "%s is missing, write one such as `%s: %s`", key, key, example)
		return false
	}
	return true
}

// entries returns the entries of a mapping, each key once, in the order of the file.
func (r *reader) entries(n node, example string) []entry {
	if n.kind != mapping {
		if n.kind == scalar || n.kind == list {
			r.report(n.place, "want a mapping such as `%s`, got %s", example, n.kind)
		}
		return nil
	}
	var entries []entry
	lines := make(map[string]int)
	for _, e := range n.entries {
		if line, twice := lines[e.key]; twice {
			r.report(e.at, "given twice, first in line %d", line)
			continue
		}
		lines[e.key] = e.at.line
		entries = append(entries, e)
	}
	return entries
}

// items returns the items of a list; a list left empty has none.
func (r *reader) items(n node, example string) []node {
	if n.kind == scalar || n.kind == mapping {
		r.report(n.place, "want a list such as `%s`, got %s", example, n.kind)
	}
	return n.items
}

// text stores the text of a scalar, with variables replaced. It reports false if there is none.
func (r *reader) text(n node, into *string) bool {
	switch n.kind {
	case absent:
		return false
	case empty:
		r.report(n.place, "has no value; give it one or remove the key")
		return false
	case mapping, list:
		r.report(n.place, "want a single value, got %s", n.kind)
		return false
	}
	text, err := expand(n.text, r.env)
	if err != nil {
		r.report(n.place, "%v", err)
		return false
	}
	if text == "" {
		r.report(n.place, "is empty; give it a value or remove the key")
		return false
	}
	*into = text
	return true
}

// word stores one of a few words.
func (r *reader) word(n node, into *string, words ...string) {
	var text string
	if !r.text(n, &text) {
		return
	}
	if !slices.Contains(words, text) {
		r.suggest(n.place, nearest(text, words), "%q is not allowed, want one of: %s", clip(text), strings.Join(words, ", "))
		return
	}
	*into = text
}

// duration stores a duration between two bounds.
func (r *reader) duration(n node, into *time.Duration, least, most time.Duration) {
	var text string
	if !r.text(n, &text) {
		return
	}
	d, err := ParseDuration(text)
	switch {
	case err != nil:
		r.report(n.place, "%v", err)
	case d < least || d > most:
		r.report(n.place, "%s is out of range, want %s to %s", text, FormatDuration(least), FormatDuration(most))
	default:
		*into = d
	}
}

// size stores a number of bytes between two bounds.
func (r *reader) size(n node, into *uint64, least, most uint64) {
	var text string
	if !r.text(n, &text) {
		return
	}
	bytes, err := ParseBytes(text)
	switch {
	case err != nil:
		r.report(n.place, "%v", err)
	case bytes < least || bytes > most:
		r.report(n.place, "%s is out of range, want %s to %s", text, FormatBytes(least), FormatBytes(most))
	default:
		*into = bytes
	}
}
