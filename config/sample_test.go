package config_test

import (
	"strings"
	"testing"

	"drawbridge/config"
)

func TestTheSampleIsRightAsItStands(t *testing.T) {
	for _, paths := range []config.Paths{
		{DataDir: "/var/lib/drawbridge", API: "/run/drawbridge/api.sock"},
		{DataDir: `/home/a user/it's "$HOME" # {x}: é`, API: "/tmp/-/a:b/%s"},
	} {
		c := good(t, config.Sample("fra-1", paths))
		if c.Agent != "fra-1" || c.DataDir != paths.DataDir || c.Listen.API != paths.API || c.Listen.Link != "" {
			t.Errorf("got %+v, want the paths %+v", c, paths)
		}
		if len(c.Links) != 0 || len(c.Queues) != 2 {
			t.Errorf("got %d links and queues %v", len(c.Links), c.QueueNames())
		}
	}
	if name := good(t, config.Sample("2024", config.Paths{DataDir: "/d", API: "/s"})).Agent; name != "2024" {
		t.Errorf("agent %q", name)
	}
}

// Whoever removes the comment signs gets a file that is right too.
func TestTheSamplesCommentedKeysAreRight(t *testing.T) {
	lines := strings.Split(config.Sample("fra-1", config.Paths{DataDir: "/d", API: "/s"}), "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(text)]
		if body, ok := strings.CutPrefix(text, "# "); ok && looksLikeYAML(body) {
			lines[i] = indent + body
		}
	}
	c := good(t, strings.Join(lines, "\n"))
	l := c.Links["nyc"]
	if c.Listen.Link != "[::]:4747" || len(l.Addresses) != 2 || len(l.Send) != 1 || len(l.Receive) != 1 || c.Log.Level != "info" {
		t.Errorf("got %+v from\n%s", c, strings.Join(lines, "\n"))
	}
}

// looksLikeYAML tells a key in comments from a sentence.
func looksLikeYAML(text string) bool {
	trimmed := strings.TrimLeft(text, " ")
	key, _, found := strings.Cut(trimmed, ":")
	return text != trimmed && !strings.HasPrefix(trimmed, "#") || found && !strings.ContainsAny(key, ` ".`) && key == strings.ToLower(key)
}
