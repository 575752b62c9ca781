package config_test

import "testing"

// Each file is wrong as YAML, or in a form of YAML that a configuration has no use for.
func TestWhatIsNoConfigurationIsTold(t *testing.T) {
	requireProblems(t, []badFile{
		{"empty", ``, []string{
			"0:0 : the file is empty; `drawbridge init` writes one to begin with",
		}},
		{"only comments", `# nothing`, []string{
			"0:0 : the file is empty; `drawbridge init` writes one to begin with",
		}},
		{"two documents", `agent: a
---
agent: b`, []string{
			`3:1 : the file holds a second document; write everything in one, without ---`,
		}},
		{"a list", `- agent: a`, []string{
			"1:1 : want lines of the form `key: value`, got a list",
		}},
		{"a single value", `agent`, []string{
			"1:1 : want lines of the form `key: value`, got a single value",
		}},
		{"no space after the colon", `agent:a`, []string{
			"1:1 : want lines of the form `key: value`, got a single value",
		}},
		{"UTF-16", "\xff\xfea\x00", []string{
			`0:0 : the file is UTF-16, save it as UTF-8`,
		}},
		{"not UTF-8", "agent: a\ndata_dir: /caf\xe9", []string{
			`2:15 : byte 0xe9 is not UTF-8`,
		}},
		{"control character", "agent: a\x00", []string{
			`1:9 : control character U+0000 is not allowed`,
		}},
		{"tab", "agent: a\nlisten:\n\tapi: /s", []string{
			`3:1 : a tab in the indentation, YAML indents with spaces`,
		}},
		{"unclosed quote", `agent: "a
log: {level: loud}`, []string{
			`1:8 : not YAML: could not find end character of double-quoted text`,
			`2:14 log.level: "loud" is not allowed, want one of: trace, debug, info, warn, error`,
		}},
		{"unclosed bracket", `agent: a
queues: {orders: {}
log: {level: info}`, []string{
			`2:9 : not YAML: could not find flow mapping end token '}'`,
		}},
		{"two syntax errors", `agent: 'a
queues: [
log: {level: loud}`, []string{
			`1:8 : not YAML: could not find end character of single-quoted text`,
			`2:9 : not YAML: sequence end token ']' not found`,
			`3:14 log.level: "loud" is not allowed, want one of: trace, debug, info, warn, error`,
		}},
		{"wrong indentation", `agent: a
log:
  level: info
   format: text`, []string{
			`3:10 : not YAML: mapping value is not allowed in this context`,
		}},
		{"a line without a colon", `agent: a
log
data_dir: /d`, []string{
			"2:1 : want a line of the form `key: value`",
		}},
		{"deep nesting", `agent: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`, []string{
			`1:28 : not YAML: nested deeper than 20`,
		}},
		{"anchor, alias, merge, tag", `agent: &name a
data_dir: !!str /d
queues:
  a: *name
  b:
    <<: *name`, []string{
			`1:8 agent: anchors (&) are not supported, write the value where it is used`,
			`2:11 data_dir: tags (!) are not supported, write the value alone`,
			`4:6 queues.a: aliases (*) are not supported, write the value here`,
			"6:5 queues.b: merging (<<) is not supported; what all queues share stands in `defaults`",
		}},
		{"key that is no word", `agent: a
? [x, y]
: 1`, []string{
			`3:1 : not YAML: found an invalid key for this map`,
		}},
		{"directive", `%YAML 1.2
---
agent: a`, []string{
			`1:1 : directives (%) are not supported`,
		}},
	})
}
