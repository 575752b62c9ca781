package flow_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"drawbridge/link/flow"

	"github.com/cenkalti/backoff/v4"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// dialsIn returns how many dials fall into the first length of an outage.
func dialsIn(b backoff.BackOff, length time.Duration) (dials int) {
	for down := b.NextBackOff(); down < length; down += b.NextBackOff() {
		dials++
	}
	return dials
}

func TestRedialPaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		length time.Duration
		want   int
		within int
	}{
		{"a second", time.Second, 4, 1},
		{"a minute", time.Minute, 240, 10},
		{"ten minutes", 10 * time.Minute, 240 + 540, 20},
		{"an hour", time.Hour, 240 + 540 + 600, 30},
		{"a month", 30 * 24 * time.Hour, 240 + 540 + (30*24*3600-600)/5, 2000},
	} {
		for seed := range uint64(5) {
			if got := dialsIn(flow.NewRedial(seeded(seed)), c.length); got < c.want-c.within || got > c.want+c.within {
				t.Errorf("%s: %d dials with seed %d, want %d ± %d", c.name, got, seed, c.want, c.within)
			}
		}
	}
}

func TestRedialJitterStaysWithinAFifth(t *testing.T) {
	r := flow.NewRedial(seeded(1))
	if wait := r.NextBackOff(); wait != 0 {
		t.Fatalf("the first dial waits %v", wait)
	}
	var down time.Duration
	least, most := time.Hour, time.Duration(0)
	for down < 2*time.Hour {
		pace := 250 * time.Millisecond
		switch {
		case down >= 10*time.Minute:
			pace = 5 * time.Second
		case down >= time.Minute:
			pace = time.Second
		}
		wait := r.NextBackOff()
		if wait < pace*8/10 || wait > pace*12/10 {
			t.Fatalf("waits %v after %v, want %v ± 20 %%", wait, down, pace)
		}
		if pace == 5*time.Second {
			least, most = min(least, wait), max(most, wait)
		}
		down += wait
	}
	if least > 4100*time.Millisecond || most < 5900*time.Millisecond {
		t.Fatalf("jitter uses only %v to %v", least, most)
	}
}

func TestRedialBeginsAnewAfterReset(t *testing.T) {
	r := flow.NewRedial(seeded(1))
	dialsIn(r, time.Hour)
	r.Reset()
	if wait := r.NextBackOff(); wait != 0 {
		t.Fatalf("the first dial after Reset waits %v", wait)
	}
	if wait := r.NextBackOff(); wait > 300*time.Millisecond {
		t.Fatalf("the second dial after Reset waits %v", wait)
	}
}

func TestSlowGrowsToAMinuteAndNeverStops(t *testing.T) {
	s := flow.NewSlow(seeded(1))
	for try, pace := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		pace *= time.Second
		if wait := s.NextBackOff(); wait < pace*8/10 || wait > pace*12/10 {
			t.Fatalf("try %d waits %v, want %v ± 20 %%", try, wait, pace)
		}
	}
	for range 100_000 { // ten weeks
		if wait := s.NextBackOff(); wait < 48*time.Second || wait > 72*time.Second {
			t.Fatalf("waits %v", wait)
		}
	}
	s.Reset()
	if wait := s.NextBackOff(); wait > 1200*time.Millisecond {
		t.Fatalf("waits %v after Reset", wait)
	}
}

func TestWaitsRepeatWithTheirSeed(t *testing.T) {
	waits := func(b backoff.BackOff) (list []time.Duration) {
		for range 1000 {
			list = append(list, b.NextBackOff())
		}
		return list
	}
	for name, of := range map[string]func(seed uint64) backoff.BackOff{
		"redial": func(seed uint64) backoff.BackOff { return flow.NewRedial(seeded(seed)) },
		"slow":   func(seed uint64) backoff.BackOff { return flow.NewSlow(seeded(seed)) },
	} {
		if !slices.Equal(waits(of(7)), waits(of(7))) {
			t.Errorf("%s: one seed, two sequences", name)
		}
		if slices.Equal(waits(of(7)), waits(of(8))) {
			t.Errorf("%s: two seeds, one sequence", name)
		}
	}
}
