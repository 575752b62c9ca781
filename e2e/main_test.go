// Package e2e_test runs the built binary: as an operator's shell does, and as the demo's judge sees it. What a test asks of
// an agent it asks through the command line or the local API.
package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the path of the built binary. It is set once, before the first test.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "db")
	if err == nil {
		defer os.RemoveAll(dir)
		// its own name in a directory of its own: so a script finds it on PATH
		program = filepath.Join(dir, "drawbridge")
		err = build(program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds the binary with the given flags.
func build(output string, flags ...string) error {
	args := append([]string{"build", "-o", output}, flags...)
	said, err := exec.Command("go", append(args, "drawbridge/cmd/drawbridge")...).CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("build the binary: %w", err), errors.New(string(said)))
	}
	return nil
}
