package config

import (
	"fmt"
	"strings"
)

// Problem is one mistake in a file.
type Problem struct {
	File string `json:"file"`
	// Line and Column count from 1; 0 when the mistake has no place, such as a file that cannot be read. Columns count
	// characters, not bytes.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path is the key that is wrong, such as links.nyc.send[0].from; empty for the whole file.
	Path string `json:"path,omitempty"`
	// Text says what is wrong and what is allowed.
	Text string `json:"text"`
	// Suggestion is what was probably meant; empty if nothing is near.
	Suggestion string `json:"suggestion,omitempty"`
	// Excerpt is the line of the file and a caret under the column.
	Excerpt string `json:"excerpt,omitempty"`
}

// Error returns the problem as it is shown in a terminal, over several lines.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	if p.Suggestion != "" {
		fmt.Fprintf(&b, "; did you mean %q?", p.Suggestion)
	}
	if p.Excerpt != "" {
		b.WriteString("\n" + p.Excerpt)
	}
	return b.String()
}

// Errors is every mistake of one file, in the order of lines.
type Errors []Problem

// Error returns all problems as they are shown in a terminal.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, p := range e {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "\n")
}
