package agenttest

import "time"

// This file is what a seed may draw. A behaviour that is new is given its draw here.

// draws are how often what happens in one trial.
type draws struct {
	// people
	burstEvery     time.Duration
	burst          int
	consumerPause  time.Duration
	consumerDies   float64
	repeats        float64
	idleHeartbeat  time.Duration
	defaultFaults  Faults
	outageEvery    time.Duration
	longestOutage  time.Duration
	oneWay         float64
	troubleEvery   time.Duration // at each host
	longestDown    time.Duration
	longestDisease time.Duration // of a disk
}

func drawDraws(d dice) draws {
	return draws{
		burstEvery:     d.between(20*time.Minute, 6*time.Hour),
		burst:          1 + d.IntN(40),
		consumerPause:  d.between(time.Second, 10*time.Minute),
		consumerDies:   oneOf(d, 0, 0.05, 0.3),
		repeats:        oneOf(d, 0, 0.02, 0.1),
		idleHeartbeat:  oneOf(d, 20*time.Second, 40*time.Second, time.Minute),
		defaultFaults:  drawFaults(d),
		outageEvery:    d.between(2*time.Hour, 24*time.Hour),
		longestOutage:  oneOf(d, time.Minute, time.Minute, 10*time.Minute, time.Hour, time.Hour, 24*time.Hour),
		oneWay:         oneOf(d, 0, 0.3, 0.7),
		troubleEvery:   d.between(3*time.Hour, 24*time.Hour),
		longestDown:    oneOf(d, 10*time.Second, 10*time.Minute, time.Hour),
		longestDisease: oneOf(d, 10*time.Second, 5*time.Minute),
	}
}

// drawFaults draws those of one direction of a network.
func drawFaults(d dice) Faults {
	return Faults{
		Loss:        oneOf(d, 0, 0.001, 0.02, 0.1),
		Duplication: oneOf(d, 0, 0.02, 0.1),
		Reordering:  oneOf(d, 0, 0.05, 0.3),
		Delay:       d.between(time.Millisecond, 300*time.Millisecond),
		Jitter:      d.between(time.Microsecond, 20*time.Millisecond),
		Lag:         d.between(time.Millisecond, 200*time.Millisecond),
	}
}

// trouble is what may happen to a host.
type trouble int

const (
	crashAtRandom trouble = iota
	crashAtPoint
	orderlyRestart
	failingCommits
	slowDisk
)

func drawTrouble(d dice) trouble {
	return oneOf(d, crashAtRandom, crashAtRandom, crashAtPoint, crashAtPoint, orderlyRestart, failingCommits, slowDisk)
}

// drawClockStep draws by how much the wall clock of a host is found to be off after a restart. Steps of less than the ledger's
// window add up to less than it within a producer's patience; larger ones wait for the operator.
func drawClockStep(d dice) time.Duration {
	const year = 365 * 24 * time.Hour
	return oneOf(d, 0, 0, 0, time.Minute, -time.Minute, 30*time.Minute, -5*time.Hour, 40*24*time.Hour, -40*24*time.Hour, year, -year)
}
