package flow_test

import (
	"testing"
	"time"

	"drawbridge/link/flow"
)

const ms = time.Millisecond

func TestStalled(t *testing.T) {
	for _, c := range []struct {
		name    string
		rtt     time.Duration
		heard   time.Duration // last sound
		waiting time.Duration // when the wait began; 0: idle
		stalls  time.Duration
	}{
		{"short RTT, waiting", 20 * ms, 10_000 * ms, 9_000 * ms, 11_000 * ms},
		{"the wait began after the last sound", 20 * ms, 10_000 * ms, 11_500 * ms, 12_500 * ms},
		{"satellite", 600 * ms, 10_000 * ms, 9_000 * ms, 12_400 * ms},
		{"no RTT known", 0, 10_000 * ms, 9_000 * ms, 11_000 * ms},
		{"idle", 20 * ms, 10_000 * ms, 0, 16_000 * ms},
		{"a wait that begins late does not save an idle peer", 20 * ms, 10_000 * ms, 15_500 * ms, 16_000 * ms},
		{"idle is never stricter than busy", 3000 * ms, 10_000 * ms, 0, 22_000 * ms},
	} {
		l := flow.NewLiveness(start, 2*time.Second)
		if c.waiting > 0 && c.waiting < c.heard {
			l.Waiting(after(c.waiting), true)
		}
		l.Heard(after(c.heard), c.rtt)
		if c.waiting > c.heard {
			l.Waiting(after(c.waiting), true)
		}
		if c.waiting > 0 {
			l.Waiting(after(c.stalls-ms), true) // nothing new
		}
		if l.Stalled(after(c.stalls - 1)) {
			t.Errorf("%s: stalled too early", c.name)
		}
		if !l.Stalled(after(c.stalls)) {
			t.Errorf("%s: not stalled", c.name)
		}
		l.Heard(after(c.stalls+time.Hour), 0)
		if l.Stalled(after(c.stalls + time.Hour)) {
			t.Errorf("%s: stalled though just heard", c.name)
		}
	}
}

// live drives l by its own Wake until the end, and returns when heartbeats were due and when it stalled first.
func live(t *testing.T, l *flow.Liveness, from, until time.Time, each func(now time.Time)) (beats []time.Time, stalled time.Time) {
	t.Helper()
	for now, asked := from, 0; now.Before(until); asked++ {
		if asked > int(until.Sub(from)/(200*ms))+10 {
			t.Fatalf("asked %d times in %v", asked, now.Sub(from))
		}
		if l.Due(now) {
			beats = append(beats, now)
			if l.Due(now) {
				t.Fatal("due twice at one instant")
			}
		}
		if stalled.IsZero() && l.Stalled(now) {
			stalled = now
		}
		each(now)
		wake := l.Wake(now)
		if !wake.After(now) {
			t.Fatalf("wakes %v ago", now.Sub(wake))
		}
		now = wake
	}
	return beats, stalled
}

func TestHeartbeatsOverHours(t *testing.T) {
	echo := func(l *flow.Liveness) func(time.Time) { return func(now time.Time) { l.Heard(now, 50*ms) } }
	silence := func(*flow.Liveness) func(time.Time) { return func(time.Time) {} }
	for _, c := range []struct {
		name    string
		waiting bool
		peer    func(*flow.Liveness) func(time.Time)
		beats   int
		stalls  time.Duration // 0: never
	}{
		{"idle and answered", false, echo, 3 * 3600 / 2, 0},
		{"waiting and heard", true, echo, 3 * 3600 * 4, 0},
		{"idle and silent", false, silence, 3 * 3600 / 2, 6 * time.Second},
		{"waiting and silent", true, silence, 3 * 3600 * 4, time.Second},
	} {
		l := flow.NewLiveness(start, 0)
		l.Waiting(start, c.waiting)
		beats, stalled := live(t, l, start, after(3*time.Hour), c.peer(l))
		if d := len(beats) - c.beats; d < -2 || d > 2 {
			t.Errorf("%s: %d heartbeats, want %d", c.name, len(beats), c.beats)
		}
		switch {
		case c.stalls == 0 && !stalled.IsZero():
			t.Errorf("%s: stalled after %v", c.name, stalled.Sub(start))
		case c.stalls > 0 && !stalled.Equal(after(c.stalls)):
			t.Errorf("%s: stalled at %v, want after %v", c.name, stalled, c.stalls)
		}
	}
}

func TestAWaitThatComesAndGoesKeepsTheIdleHeartbeat(t *testing.T) {
	l := flow.NewLiveness(start, 2*time.Second)
	beats := 0
	for d := time.Duration(0); d < time.Minute; d += 100 * ms { // each answer comes before the short period is over
		l.Waiting(after(d), true)
		if l.Due(after(d)) {
			beats++
		}
		l.Heard(after(d+50*ms), 50*ms)
		l.Waiting(after(d+50*ms), false)
		if l.Due(after(d + 50*ms)) {
			beats++
		}
	}
	if beats < 28 || beats > 30 {
		t.Fatalf("%d heartbeats in a minute, want one each two seconds", beats)
	}
}
