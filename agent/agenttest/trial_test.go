package agenttest_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
)

const (
	week = 7 * 24 * time.Hour
	// taste is how many seeds are tried when nothing asks for more.
	taste = 20
)

// regressions are seeds that found a fault; each is tried every time.
var regressions = []uint64{}

// try runs one seed as it can be repeated: on one processor, with all that is random drawn from it. Its draws are the same each
// time; in which order goroutines run that could run at one instant is still the runtime's choice, less so without preemption.
func try(t *testing.T, seed uint64, length time.Duration) (o agenttest.Outcome) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a trial lives on little memory and makes much garbage
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(t *testing.T) { o = agenttest.Try(t, seed, length) })
	return o
}

// TestTrials tries a taste of seeds; the seeds from DRAWBRIDGE_SEED on if that is set, just that one without TRIAL_SECONDS; as
// many as fit in TRIAL_SECONDS if that is set.
func TestTrials(t *testing.T) {
	first, seconds := number(t, "DRAWBRIDGE_SEED"), number(t, "TRIAL_SECONDS")
	var seeds []uint64
	length := week
	switch {
	case first > 0 && seconds == 0:
		seeds = []uint64{first}
	case seconds == 0:
		seeds = append(seeds, regressions...)
		for seed := range uint64(taste) {
			seeds = append(seeds, seed+1)
		}
		if testing.Short() {
			seeds, length = seeds[:3], 24*time.Hour
		}
	}
	began, tried, stored, bright := time.Now(), 0, 0, time.Duration(0)
	more := func() bool {
		if seconds > 0 {
			return time.Since(began) < time.Duration(seconds)*time.Second
		}
		return tried < len(seeds)
	}
	for more() {
		seed := max(first, 1) + uint64(tried)
		if seconds == 0 {
			seed = seeds[tried]
		}
		tried++
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			o := try(t, seed, length)
			stored += o.Stored
			bright += o.Bright
			t.Logf("%d stored, %d redelivered; %s", o.Stored, o.Redelivered, o.Fingerprint)
			if !o.OK() {
				t.Errorf("%s\n%+v\nstuck: %s\nrepeat it with: GODEBUG=asyncpreemptoff=1 DRAWBRIDGE_SEED=%d go test ./agent/agenttest -run 'TestTrials$' -v",
					o.Events, o.Findings, o.Stuck, seed)
			}
		})
	}
	t.Logf("%d seeds from %d on, %.0f virtual hours, %.0f of them with agents that run, %d messages in %s",
		tried, max(first, 1), float64(tried)*length.Hours(), bright.Hours(), stored, time.Since(began).Round(time.Second))
}

// number reads a variable of the environment, 0 if it is not set.
func number(t *testing.T, name string) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
