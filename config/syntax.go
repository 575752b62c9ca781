package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// document returns the file's one mapping. It is whole unless a part of the file could not be read, which is reported; then
// the mapping holds the rest, and checks that compare one part with another would only guess.
func (r *reader) document() (root node, whole bool) {
	file, err := r.parse(r.source.text)
	switch {
	case errors.Is(err, errTooMuch):
		r.syntaxError(err)
		return node{}, false
	case err != nil:
		return r.sections(err), false
	}
	var bodies []node
	for _, doc := range file.Docs {
		if directive, ok := doc.Body.(*ast.DirectiveNode); ok {
			r.report(r.source.placeOf(directive.GetToken(), ""), "directives (%%) are not supported")
			continue
		}
		if doc.Body != nil {
			bodies = append(bodies, r.tree(doc.Body, place{}))
		}
	}
	switch {
	case len(bodies) == 0:
		r.report(place{}, "the file is empty; `drawbridge init` writes one to begin with")
		return node{}, false
	case len(bodies) > 1:
		r.report(bodies[1].place, secondDocument)
		return bodies[0], false
	case r.source.separated() != nil:
		r.report(r.source.placeOf(r.source.separated(), ""), secondDocument)
		return bodies[0], false
	case bodies[0].kind != mapping:
		r.report(bodies[0].place, "want lines of the form `key: value`, got %s", bodies[0].kind)
		return node{}, false
	}
	return bodies[0], true
}

const secondDocument = "the file holds a second document; write everything in one, without ---"

// separated returns the first --- that stands behind something. The parser passes over what follows two of them.
func (s *source) separated() *token.Token {
	begun := false
	for _, t := range lexer.Tokenize(s.text) {
		switch {
		case t.Type == token.DirectiveType:
			return nil // is told by itself
		case t.Type == token.DocumentHeaderType && begun:
			return t
		case t.Type != token.CommentType:
			begun = true
		}
	}
	return nil
}

// sections reads a file with a syntax error one top-level key after the other, so that an error in one does not hide those
// of the others.
func (r *reader) sections(first error) (root node) {
	root.kind = mapping
	found := false
	for _, section := range r.source.sections() {
		r.source.above = section.above
		if !r.section(section.text, &root) {
			found = true
		}
	}
	r.source.above = 0
	if !found {
		r.syntaxError(first)
	}
	return root
}

// section adds the keys of one section to root, and reports whether it has the right form.
func (r *reader) section(text string, root *node) bool {
	file, err := r.parse(text)
	if err != nil {
		r.syntaxError(err)
		return false
	}
	wellFormed := true
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		n := r.tree(doc.Body, place{})
		if n.kind != mapping {
			r.report(n.place, "want a line of the form `key: value`")
			wellFormed = false
		}
		root.entries = append(root.entries, n.entries...)
	}
	return wellFormed
}

// section is a part of the file and how many lines stand above it.
type section struct {
	above int
	text  string
}

// sections cuts the file before each line that begins with a word.
func (s *source) sections() []section {
	lines := strings.Split(s.text, "\n")
	begins := func(line string) bool {
		return line != "" && !strings.ContainsAny(line[:1], " \t#-:,]}")
	}
	var sections []section
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && !begins(lines[to]) {
			to++
		}
		sections = append(sections, section{from, strings.Join(lines[from:to], "\n")})
		from = to
	}
	return sections
}

// maxNesting is how deep a line may nest. The parser's time and memory grow with the square of it; this version's
// configuration nests to five.
const maxNesting = 20

// errTooMuch is wrapped by parse for a file that is not given to the parser at all.
var errTooMuch = errors.New("the file is more than a configuration can be")

func tooMuch(at *token.Token, format string, args ...any) error {
	return errors.Join(errTooMuch, &yaml.SyntaxError{Message: fmt.Sprintf(format, args...), Token: at})
}

// parse runs the YAML parser within bounds.
func (r *reader) parse(text string) (file *ast.File, err error) {
	tokens := lexer.Tokenize(text)
	if len(tokens) > maxTokens {
		return nil, tooMuch(tokens[maxTokens], "more than %d words and signs", maxTokens)
	}
	if deep := nestsTooDeep(tokens); deep != nil {
		return nil, tooMuch(deep, "nested deeper than %d", maxNesting)
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// nestsTooDeep returns the first token that is too deep in brackets, or that one line stacks on too many others. Nesting by
// indentation needs no bound: it costs a file its size.
func nestsTooDeep(tokens token.Tokens) *token.Token {
	brackets, stacked, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line, stacked = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			stacked++
		}
		if brackets > maxNesting || stacked > maxNesting {
			return t
		}
	}
	return nil
}

// syntaxError reports what the parser found, in words that help where its own do not.
func (r *reader) syntaxError(err error) {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		r.report(place{}, "the file is not YAML: %v", err)
		return
	}
	at := r.source.placeOf(syntax.Token, "")
	text := "not YAML: " + syntax.Message
	switch {
	case strings.Contains(syntax.Message, "'\t'"):
		at.column = 1
		text = "a tab in the indentation, YAML indents with spaces"
	case r.source.isAt(at, "${") || r.source.isAt(place{line: at.line, column: at.column - 1}, "${"):
		text = "not YAML: inside { } and [ ] a ${VARIABLE} needs quotes"
	}
	r.report(at, "%s", text)
}

// isAt says whether text stands at a place.
func (s *source) isAt(at place, text string) bool {
	if at.line < 1 || at.line > len(s.lines) || at.column < 1 {
		return false
	}
	line, want := s.lines[at.line-1], []rune(text)
	from := at.column - 1
	return from+len(want) <= len(line) && slices.Equal(line[from:from+len(want)], want)
}
