package dedupe_test

import (
	"testing"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
)

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name          string
		horizon, want time.Duration
	}{
		{"unbounded", 0, dedupe.DefaultWindow},
		{"the shortest", time.Millisecond, 10*time.Minute + time.Millisecond},
		{"below the least allowance", time.Hour, 70 * time.Minute},
		{"where an eighth takes over", 80 * time.Minute, 90 * time.Minute},
		{"just above", 88 * time.Minute, 99 * time.Minute},
		{"a long outage", 72 * time.Hour, 81 * time.Hour},
		{"the longest a frame can say", message.MaxDuration, message.MaxDuration + message.MaxDuration/8},
	} {
		if got := dedupe.Window(c.horizon); got != c.want {
			t.Errorf("%s: window of %v is %v, want %v", c.name, c.horizon, got, c.want)
		}
	}
}
