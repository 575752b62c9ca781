package config_test

import (
	"errors"
	"strings"
	"testing"

	"drawbridge/config"
	"drawbridge/message"
)

// Whatever the bytes: soon an answer, which is problems with places inside the file or a configuration that keeps the rules.
func FuzzParse(f *testing.F) {
	f.Add([]byte(config.Sample("fra-1", config.Paths{DataDir: "/d", API: "/s"})))
	f.Add([]byte(peers.Replace("agent: a\nlisten: {link: :1}\nqueues: {o: {}}\nlinks: {nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: o}]}}\n")))
	f.Add([]byte("a: &x [*x, !!str 'y']\n? b\n: |\n  c\n---\n- d: \"\\x41\"\n<<: {e: ~}\n"))
	f.Add([]byte("%YAML 1.2\n--- # c\n{a: >-\n b, c: $${D:-${E}}}\n...\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := config.Parse("f.yaml", src, func(name string) (string, bool) { return name, name != "UNSET" })
		if err == nil {
			requireRules(t, c)
			return
		}
		var problems config.Errors
		if !errors.As(err, &problems) || len(problems) == 0 || c != nil {
			t.Fatalf("got %v and %v", c, err)
		}
		for _, p := range problems {
			if p.Line > 0 && (p.Column < 1 || p.Excerpt == "") || p.Text == "" || strings.Contains(p.Text, "ast.") {
				t.Fatalf("problem %+v", p)
			}
		}
	})
}

func requireRules(t *testing.T, c *config.Config) {
	if err := message.CheckAgent(c.Agent); err != nil {
		t.Fatal(err)
	}
	for name, q := range c.Queues {
		if message.CheckQueue(name) != nil || q.VisibilityTimeout <= 0 || q.MaxMessageBytes == 0 {
			t.Fatalf("queue %q with %+v", name, q)
		}
	}
	for name, l := range c.Links {
		if len(l.PeerIDs) < 1 || len(l.PeerIDs) > 2 || len(l.Send)+len(l.Receive) == 0 || len(l.Addresses) == 0 && c.Listen.Link == "" {
			t.Fatalf("link %q with %+v", name, l)
		}
		for _, s := range l.Send {
			if _, ok := c.Queues[s.From]; !ok || s.Name == "" || message.CheckQueue(s.To) != nil {
				t.Fatalf("link %q sends %+v", name, s)
			}
		}
	}
}

// Files that are all the parser's worst case. Without the bounds the brackets take minutes and gigabytes: this test would not end.
func TestHostileFilesAreAnsweredSoon(t *testing.T) {
	for name, piece := range map[string]string{
		"brackets": "[", "braces": "{a: ", "dashes": "- ", "questions": "? ", "tags": "!a ", "anchors": "&a ",
		"keys": "a:\n", "lists": "- [a, b]\n", "quotes": "\"", "spaces": " ", "commas": "a,", "documents": "---\na: b\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := config.Parse("f.yaml", []byte(strings.Repeat(piece, 1<<18/len(piece))), nothingSet); err == nil {
				t.Error("no problem is told")
			}
		})
	}
}
