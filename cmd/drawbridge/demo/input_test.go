package demo_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"drawbridge/cmd/drawbridge/demo"
)

func TestLinesRepeatNumbered(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 64<<10+3)
	for name, c := range map[string]struct{ text, want string }{
		"lines":           {"a\nb\n", "00000000 a|00000001 b|00000002 a"},
		"no last newline": {"a\nb", "00000000 a|00000001 b|00000002 a"},
		"empty line":      {"\n", "00000000 |00000001 |00000002 "},
		"other ends":      {"a\r\nb\r", "00000000 a\r|00000001 b\r|00000002 a\r"},
		"no text":         {"\xff\x00\n", "00000000 \xff\x00|00000001 \xff\x00|00000002 \xff\x00"},
		"long line":       {string(long), fmt.Sprintf("00000000 %s|00000001 xxx|00000002 %s", long[3:], long[3:])},
	} {
		path := filepath.Join(t.TempDir(), "input")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		bodies, err := demo.Bodies(path, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Join(bodies, []byte("|")); string(got) != c.want {
			t.Errorf("%s: %.80q, want %.80q", name, got, c.want)
		}
	}
}

func TestSampleIsVaried(t *testing.T) {
	bodies, err := demo.Bodies("", 30)
	if err != nil {
		t.Fatal(err)
	}
	var empty, long, wide bool
	for _, b := range bodies {
		line := b[len("00000000 "):]
		empty = empty || len(line) == 0
		long = long || len(line) > 800
		wide = wide || utf8.RuneCount(line) < len(line)
	}
	if !empty || !long || !wide {
		t.Errorf("an empty line: %v, a long one: %v, one beyond ASCII: %v; want all", empty, long, wide)
	}
}
