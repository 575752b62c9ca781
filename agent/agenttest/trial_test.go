package agenttest_test

import (
	"fmt"
	"math"
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

// TestTrials tries the regressions and a taste of seeds. DRAWBRIDGE_SEED is the first seed, and the only one if nothing else is
// set; DRAWBRIDGE_SEEDS is how many are tried; with TRIAL_SECONDS it is as many as fit.
func TestTrials(t *testing.T) {
	first, count, seconds := number(t, "DRAWBRIDGE_SEED"), number(t, "DRAWBRIDGE_SEEDS"), number(t, "TRIAL_SECONDS")
	length := week
	var before []uint64
	switch {
	case seconds > 0:
		count = math.MaxUint64
	case count > 0:
	case first > 0:
		count = 1
	case testing.Short():
		count, length = 3, 24*time.Hour
	default:
		before, count = regressions, taste
	}
	first = max(first, 1)
	var sum sums
	began := time.Now()
	trial := func(seed uint64) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			o := try(t, seed, length)
			sum.add(&o)
			t.Logf("%d stored, %d redelivered, %d dead letters, %d requeued; %s", o.Stored, o.Redelivered, o.DeadLetters, o.Requeued, o.Fingerprint)
			if !o.OK() {
				t.Errorf("%s\n%+v\nstuck: %s\nrepeat it with: GODEBUG=asyncpreemptoff=1 DRAWBRIDGE_SEED=%d go test ./agent/agenttest -run 'TestTrials$' -v",
					o.Events, o.Findings, o.Stuck, seed)
			}
		})
	}
	for _, seed := range before {
		trial(seed)
	}
	inTime := func() bool { return seconds == 0 || time.Since(began) < time.Duration(seconds)*time.Second }
	for seed := first; seed-first < count && inTime(); seed++ {
		trial(seed)
	}
	t.Logf("%d seeds from %d on, %.0f virtual hours, %.0f of them with agents that run: %d messages, %d dead letters, %d requeued, in %s",
		sum.seeds, first, float64(sum.seeds)*length.Hours(), sum.bright.Hours(), sum.stored, sum.dead, sum.requeued, time.Since(began).Round(time.Second))
}

// sums are what several trials came to.
type sums struct {
	seeds, stored, dead, requeued int
	bright                        time.Duration
}

func (s *sums) add(o *agenttest.Outcome) {
	s.seeds++
	s.stored += o.Stored
	s.dead += o.DeadLetters
	s.requeued += o.Requeued
	s.bright += o.Bright
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
