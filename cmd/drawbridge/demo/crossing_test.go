package demo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"drawbridge/cmd/drawbridge/demo"
)

func body(n int) []byte { return fmt.Appendf(nil, "body %d", n) }

func cross(t *testing.T, c *demo.Crossing) (demo.Verdict, string) {
	t.Helper()
	var progress strings.Builder
	v, err := c.Run(t.Context(), body, &progress)
	if err != nil {
		t.Fatal(err)
	}
	return v, progress.String()
}

func TestCrossingOfHonestAgentsIsOK(t *testing.T) {
	t.Parallel()
	v, progress := cross(t, crossing(t, func(*simpleA, *simpleB) {}))
	if !v.OK() || v.Stored != 1000 || v.Delivered != 1000 {
		t.Errorf("verdict %+v", v)
	}
	if v.Outages != 2 || v.KillsOfA != 1 || v.KillsOfB != 1 || v.PacketsDropped == 0 {
		t.Errorf("events %+v", v)
	}
	if v.Seconds < 0.2 || v.MessagesPerSecond <= 0 || v.LatencyP50 <= 0 || v.LatencyP99 < 100 {
		t.Errorf("times %+v: the outages alone take 200ms, and more than one message in a hundred waits for their end", v)
	}
	for _, told := range []string{"20 %: outage of 50ms: ", "messages shipped and not answered", "puts got no answer", "delivered 1000 of 1000"} {
		if !strings.Contains(progress, told) {
			t.Errorf("progress does not tell %q:\n%s", told, progress)
		}
	}
}

func TestCrossingFindsAnAgentWithoutDedupe(t *testing.T) {
	t.Parallel()
	v, _ := cross(t, crossing(t, func(_ *simpleA, b *simpleB) { b.amnesiac = true }))
	if v.OK() || v.Doubled == 0 || v.Lost != 0 {
		t.Errorf("verdict %+v, want doubled above 0", v)
	}
}

func TestCrossingEndsWhenNothingMoves(t *testing.T) {
	t.Parallel()
	c := crossing(t, func(a *simpleA, _ *simpleB) { a.forgets = 300 })
	c.Patience = time.Second
	v, _ := cross(t, c)
	if v.OK() || v.Lost == 0 || v.Delivered != 299 || !strings.Contains(v.Stopped, "stalled: no answers") {
		t.Errorf("verdict %+v, want 299 delivered and the link's condition", v)
	}
	if v.Outages != 1 || len(v.Missed) != 3 {
		t.Errorf("outages %d, missed %q, want 1 and the three events behind it", v.Outages, v.Missed)
	}
}

func TestCrossingFailsIfAnEventDoesNotHit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(a *simpleA, b *simpleB)
		want  string
	}{
		{"no answer outstanding", func(a *simpleA, _ *simpleB) { a.blind = true }, "kill of B at 50 %: A waited for no answer"},
		{"no SIGKILL", func(_ *simpleA, b *simpleB) { b.killFails = errors.New("exit status 0") }, "kill of B at 50 %: exit status 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, _ := cross(t, crossing(t, c.spoil))
			if v.OK() || v.KillsOfB != 0 || len(v.Missed) != 1 || v.Missed[0] != c.want {
				t.Errorf("kills of B %d, missed %q, want %q", v.KillsOfB, v.Missed, c.want)
			}
			if v.Delivered != 1000 || !v.Clean() {
				t.Errorf("a missed event spoiled the rest: %+v", v)
			}
		})
	}
}

func TestCrossingEndsAtAnAnswerThatNoRetryChanges(t *testing.T) {
	conflict := fmt.Errorf("id-conflict: %w", demo.ErrFinal)
	c := crossing(t, func(a *simpleA, _ *simpleB) { a.final = conflict })
	if _, err := c.Run(t.Context(), body, io.Discard); !errors.Is(err, demo.ErrFinal) {
		t.Errorf("error %v, want %v", err, conflict)
	}
}

func TestCrossingEndsWithItsContext(t *testing.T) {
	c := crossing(t, func(*simpleA, *simpleB) {})
	ctx, cancel := context.WithCancelCause(t.Context())
	died := errors.New("agent A ended by itself")
	time.AfterFunc(50*time.Millisecond, func() { cancel(died) })
	if _, err := c.Run(ctx, body, io.Discard); !errors.Is(err, died) {
		t.Errorf("error %v, want %v", err, died)
	}
}
