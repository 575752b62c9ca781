package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is the text of one file.
type source struct {
	name  string
	text  string
	lines [][]rune
	// above is how many lines stand above the part that is being parsed alone.
	above int
}

// maxFileBytes and maxTokens bound the work of a parser that takes quadratic time on one huge mapping.
const (
	maxFileBytes = 1 << 20
	maxTokens    = 50_000
)

// newSource accepts UTF-8 with or without a byte order mark, and any line ends. What it returns has bare line feeds.
func newSource(name string, raw []byte) (*source, error) {
	raw, _ = bytes.CutPrefix(raw, []byte("\ufeff"))
	s := &source{name: name}
	if len(raw) > maxFileBytes {
		return nil, s.whole("the file is larger than %s", FormatBytes(maxFileBytes))
	}
	if bytes.HasPrefix(raw, []byte{0xff, 0xfe}) || bytes.HasPrefix(raw, []byte{0xfe, 0xff}) {
		return nil, s.whole("the file is UTF-16, save it as UTF-8")
	}
	s.text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(raw))
	for line := range strings.SplitSeq(s.text, "\n") {
		s.lines = append(s.lines, []rune(line))
	}
	if problems := s.unreadable(); problems != nil {
		return nil, problems
	}
	return s, nil
}

// unreadable reports characters that no configuration needs: the parser would carry them silently into a name or a path.
func (s *source) unreadable() error {
	var problems Errors
	for i, line := range strings.Split(s.text, "\n") {
		column := 0
		for offset, char := range line {
			column++
			at := place{line: i + 1, column: column}
			if char == utf8.RuneError && !strings.HasPrefix(line[offset:], "\ufffd") {
				problems = append(problems, s.problem(at, fmt.Sprintf("byte 0x%02x is not UTF-8", line[offset]), ""))
				break
			}
			if unicode.IsControl(char) && char != '\t' {
				problems = append(problems, s.problem(at, fmt.Sprintf("control character U+%04X is not allowed", char), ""))
				break
			}
		}
	}
	if problems == nil {
		return nil
	}
	return problems
}

// place is where something stands in the file and in the configuration.
type place struct {
	line, column int
	path         string
}

// below returns the place of what stands under key, before its own line is known.
func (p place) below(key string) place {
	plain := key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	if !plain {
		key = fmt.Sprintf("%q", clip(key))
	}
	if p.path != "" {
		key = p.path + "." + key
	}
	return place{line: p.line, column: p.column, path: key}
}

// whole is a mistake of the file as a whole.
func (s *source) whole(format string, args ...any) Errors {
	return Errors{s.problem(place{}, fmt.Sprintf(format, args...), "")}
}

func (s *source) problem(at place, text, suggestion string) Problem {
	return Problem{
		File: s.name, Line: at.line, Column: at.column, Path: at.path,
		Text: text, Suggestion: suggestion, Excerpt: s.excerpt(at),
	}
}

// maxExcerpt is how many characters of a long line are shown.
const maxExcerpt = 100

// excerpt returns the line of a place and a caret under it.
func (s *source) excerpt(at place) string {
	if at.line < 1 || at.line > len(s.lines) {
		return ""
	}
	line := s.lines[at.line-1]
	caret := max(0, min(at.column-1, len(line)))
	if from := max(0, caret-maxExcerpt/2); len(line) > maxExcerpt {
		line = line[from:min(from+maxExcerpt, len(line))]
		caret -= from
	}
	shown := strings.Map(func(char rune) rune {
		if !unicode.IsPrint(char) {
			return ' '
		}
		return char
	}, string(line))
	return fmt.Sprintf("%6d | %s\n%6s | %s^", at.line, strings.TrimRight(shown, " "), "", strings.Repeat(" ", caret))
}

// clip keeps a long value from filling the screen.
func clip(text string) string {
	if utf8.RuneCountInString(text) > 80 {
		return string([]rune(text)[:80]) + "…"
	}
	return text
}
