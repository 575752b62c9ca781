package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// kind is what a node can be. The zero value stands for a key that is not there.
type kind int

const (
	absent kind = iota
	empty
	scalar
	mapping
	list
)

// String names a kind as an operator would.
func (k kind) String() string {
	return [...]string{"nothing", "nothing", "a single value", "a mapping", "a list"}[k]
}

// node is one value of the file with its place. A scalar is its text: what a value must look like is for the key to say,
// so a queue may be called 2024 or on, and no number is ever rounded.
type node struct {
	kind kind
	place
	text    string
	entries []entry
	items   []node
}

// isMapping says whether n can be read as a mapping: one left empty has no keys.
func (n node) isMapping() bool { return n.kind == mapping || n.kind == empty }

// entry is one key of a mapping.
type entry struct {
	key   string
	at    place
	value node
}

// tree turns the parser's nodes into ours, and refuses what makes a configuration say one thing in two places or another
// thing than it seems to: anchors, aliases, merges, tags and keys that are no words. Refusing aliases also makes a file's
// size the bound of its meaning.
func (r *reader) tree(from ast.Node, at place) node {
	if from == nil {
		return node{kind: empty, place: at}
	}
	key := at
	at = r.source.placeOf(from.GetToken(), at.path)
	switch from := from.(type) {
	case *ast.MappingNode:
		n := node{kind: mapping, place: at}
		for _, value := range from.Values {
			n.entries = append(n.entries, r.entry(value, at)...)
		}
		if len(n.entries) > 0 && !from.IsFlowStyle {
			// The parser's place of a block mapping is its first colon.
			n.line, n.column = n.entries[0].at.line, n.entries[0].at.column
		}
		return n
	case *ast.MappingValueNode:
		return node{kind: mapping, place: at, entries: r.entry(from, at)}
	case *ast.SequenceNode:
		n := node{kind: list, place: at}
		for i, value := range from.Values {
			item := at
			item.path = fmt.Sprintf("%s[%d]", at.path, i)
			if text, at, ok := r.source.glued(value, item); ok {
				n.items = append(n.items, node{kind: scalar, place: at, text: text})
				continue
			}
			n.items = append(n.items, r.tree(value, item))
		}
		return n
	case *ast.NullNode:
		if implicit := from.GetToken().Type == token.ImplicitNullType; implicit {
			return node{kind: empty, place: key}
		}
		return node{kind: empty, place: at}
	case *ast.StringNode:
		return node{kind: scalar, place: at, text: from.Value}
	case *ast.LiteralNode:
		return node{kind: scalar, place: at, text: from.Value.Value}
	case *ast.AnchorNode:
		r.report(at, "anchors (&) are not supported, write the value where it is used")
		return r.tree(from.Value, key)
	case *ast.AliasNode:
		r.report(at, "aliases (*) are not supported, write the value here")
		return node{place: at}
	case *ast.TagNode:
		r.report(at, "tags (!) are not supported, write the value alone")
		return r.tree(from.Value, key)
	case ast.ScalarNode:
		return node{kind: scalar, place: at, text: from.GetToken().Value}
	}
	r.report(at, "this form of YAML is not supported, write `key: value`")
	return node{place: at}
}

// glued undoes a mistake of the parser: within braces it takes the item host:4747 of a list for a mapping. A colon that no
// space follows is part of the word.
func (s *source) glued(item ast.Node, at place) (text string, where place, ok bool) {
	m, isMapping := item.(*ast.MappingNode)
	if !isMapping || len(m.Values) != 1 || m.Start.Type == token.MappingStartType {
		return "", at, false
	}
	value, isScalar := m.Values[0].Value.(ast.ScalarNode)
	if !isScalar {
		return "", at, false
	}
	key, colon := m.Values[0].Key.GetToken(), m.Values[0].Start
	if value.GetToken().Position.Offset != colon.Position.Offset+1 || value.GetToken().Type == token.ImplicitNullType {
		return "", at, false
	}
	return key.Value + ":" + value.GetToken().Value, s.placeOf(key, at.path), true
}

// entry returns the entries of one key: one, or none if the key is refused.
func (r *reader) entry(from *ast.MappingValueNode, parent place) []entry {
	at := r.source.placeOf(from.Key.GetToken(), parent.path)
	var key string
	switch name := from.Key.(type) {
	case *ast.StringNode:
		key = name.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		key = name.GetToken().Value
	case *ast.MergeKeyNode:
		r.report(at, "merging (<<) is not supported; what all queues share stands in `defaults`")
		return nil
	default:
		r.report(at, "a key must be a plain word")
		return nil
	}
	at = at.below(key)
	return []entry{{key: key, at: at, value: r.tree(from.Value, at)}}
}

// placeOf returns where a token stands. The parser counts the white space before some tokens as theirs.
func (s *source) placeOf(t *token.Token, path string) place {
	if t == nil || t.Position == nil {
		return place{path: path}
	}
	at := place{line: s.above + t.Position.Line, column: max(1, t.Position.Column), path: path}
	if at.line < 1 || at.line > len(s.lines) {
		return at
	}
	line := s.lines[at.line-1]
	for at.column < len(line) && (line[at.column-1] == ' ' || line[at.column-1] == '\t') {
		at.column++
	}
	return at
}
