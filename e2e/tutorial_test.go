package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tutorialGrace is how long a tutorial may take.
const tutorialGrace = 2 * time.Minute

func TestTheReadmesTutorialDoesWhatItSays(t *testing.T) {
	t.Parallel()
	requirePage(t, filepath.Join("..", "README.md"), 3)
}

// requirePage runs a page from its first step to its last. It must have that many at least, and each must print what the page says.
func requirePage(t *testing.T, path string, least int) {
	t.Helper()
	steps := readSteps(t, path)
	if len(steps) < least {
		t.Fatalf("%s has %d steps, want %d", path, len(steps), least)
	}
	outputs, err := runSteps(t, steps)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(outputs, ""))
	}
	for i, s := range steps {
		if missing := s.missing(outputs[i]); missing != "" {
			t.Errorf("%s:%d: the output lacks, in its place, %q:\n%s", path, s.line, missing, outputs[i])
		}
	}
}

// The harness itself: what is as it says, what is not, and what breaks off.
func TestATutorialThatIsWrongIsFoundOut(t *testing.T) {
	t.Parallel()
	steps := readSteps(t, filepath.Join("testdata", "tutorial.md"))
	outputs, err := runSteps(t, steps)
	if err == nil || len(outputs) != 3 {
		t.Fatalf("%d steps began with error %v, want 3 and an error in the third:\n%q", len(outputs), err, outputs)
	}
	if missing := steps[0].missing(outputs[0]); missing != "" {
		t.Errorf("the first step lacks %q:\n%s", missing, outputs[0])
	}
	if missing := steps[1].missing(outputs[1]); missing != "one" {
		t.Errorf("the second step lacks %q, want %q, which is not in its place:\n%s", missing, "one", outputs[1])
	}
}

// step is a block of commands, and lines that its output must hold in order.
type step struct {
	line   int // where the block begins
	script string
	want   []string
}

const (
	fence      = "```"
	scriptInfo = "sh test"
	outputInfo = "text test"
)

// readSteps reads the fenced blocks of a Markdown file that are marked as steps, each with the output shown after it.
func readSteps(t *testing.T, path string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	info, inside := "", false
	for i, line := range strings.Split(string(text), "\n") {
		after, isFence := strings.CutPrefix(line, fence)
		switch {
		case isFence && inside:
			inside = false
		case isFence:
			info, inside = after, true
			if info == scriptInfo {
				steps = append(steps, step{line: i + 1})
			}
			if info == outputInfo && len(steps) == 0 {
				t.Fatalf("%s:%d: an output before the first step", path, i+1)
			}
		case inside && info == scriptInfo:
			steps[len(steps)-1].script += line + "\n"
		case inside && info == outputInfo:
			s := &steps[len(steps)-1]
			s.want = append(s.want, line)
		}
	}
	return steps
}

// missing returns the first wanted line that the output does not hold behind those before it; empty if it holds all.
// `…` stands for anything, and the widths of columns do not count.
func (s step) missing(output string) string {
	lines := strings.Split(output, "\n")
	for _, want := range s.want {
		pattern := pattern(want)
		for len(lines) > 0 && !pattern.MatchString(squeeze(lines[0])) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return want
		}
		lines = lines[1:]
	}
	return ""
}

func pattern(want string) *regexp.Regexp {
	parts := strings.Split(squeeze(want), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

// runSteps runs all steps in one shell, in a home directory of its own, and returns what each that was begun has printed.
// Whatever the shell has started ends with it.
func runSteps(t *testing.T, steps []step) (outputs []string, err error) {
	t.Helper()
	home := shortTemp(t)
	mark := rand.Text()
	script := new(strings.Builder)
	fmt.Fprintln(script, "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT")
	for _, s := range steps {
		fmt.Fprintf(script, "echo %s\n%s", mark, s.script)
	}
	path := filepath.Join(home, "tutorial.sh")
	must(t, os.WriteFile(path, []byte(script.String()), 0o600))
	// a file and no pipe: an agent that outlives the shell would keep a pipe open
	out, err := os.Create(filepath.Join(home, "output"))
	must(t, err)
	defer out.Close()

	ctx, end := context.WithTimeout(t.Context(), tutorialGrace)
	defer end()
	shell := exec.CommandContext(ctx, "bash", "-e", path)
	shell.Dir, shell.Stdout, shell.Stderr, shell.SysProcAttr = home, out, out, attached()
	shell.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")}
	err = shell.Run()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) // its group; there is nobody left if all went well

	printed, readErr := os.ReadFile(out.Name())
	must(t, readErr)
	for i, output := range bytes.Split(printed, []byte(mark+"\n")) {
		if i > 0 { // before the first mark there is nothing
			outputs = append(outputs, string(output))
		}
	}
	if err != nil && len(outputs) > 0 {
		err = fmt.Errorf("the step of line %d: %w", steps[len(outputs)-1].line, err)
	}
	return outputs, err
}
