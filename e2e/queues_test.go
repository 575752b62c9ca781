package e2e_test

import (
	"strings"
	"testing"
)

func TestThePageOnQueuesDoesWhatItSays(t *testing.T) {
	t.Parallel()
	const page = "../docs/queues.md"
	steps := readSteps(t, page)
	outputs, err := runSteps(t, steps)
	if err != nil || len(steps) < 6 {
		t.Fatalf("%d steps, %v\n%s", len(steps), err, strings.Join(outputs, ""))
	}
	for i, s := range steps {
		if missing := s.missing(outputs[i]); missing != "" {
			t.Errorf("%s:%d: the output lacks, in its place, %q:\n%s", page, s.line, missing, outputs[i])
		}
	}
}
