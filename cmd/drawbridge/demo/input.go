package demo

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
)

// Sample is the input of a demo that was given none.
//
//go:embed sample.txt
var sample []byte

// maxLineBytes cuts longer lines, so that a file without line ends is still many messages of a size that every queue takes.
const maxLineBytes = 64 << 10

// input is the lines of a file, repeated without end.
type input struct {
	lines [][]byte
}

// openInput reads the lines of path, or of the sample if path is empty.
func openInput(path string) (*input, error) {
	text := sample
	if path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
	}
	in := &input{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		for len(line) > maxLineBytes {
			in.lines = append(in.lines, line[:maxLineBytes])
			line = line[maxLineBytes:]
		}
		in.lines = append(in.lines, line)
	}
	if len(in.lines) == 0 {
		return nil, fmt.Errorf("read the input %s: %w", path, errEmptyInput)
	}
	return in, nil
}

// errEmptyInput is returned for a file without a single line: there would be nothing to tell a lost message by.
var errEmptyInput = errors.New("the file is empty, want at least one line")

// body returns message n: its number and a line. The number makes each body unlike all others, so that a message handed out
// with another one's bytes is found.
func (in *input) body(n int) []byte {
	return fmt.Appendf(nil, "%08d %s", n, in.lines[n%len(in.lines)])
}
