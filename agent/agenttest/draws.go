package agenttest

import "time"

// This file is what a seed may draw. A behaviour that is new is given its draw here.

// draws are how often what happens in one trial.
type draws struct {
	// A producer's bursts and the most messages in one; repeats is how often an id of before is put again on purpose.
	burstEvery time.Duration
	burst      int
	repeats    float64
	// consumerPause is between two calls of a consumer, which dies after some of them.
	consumerPause time.Duration
	consumerDies  float64
	// An idle link costs real time by its heartbeats and by the connections that are kept alive.
	idleHeartbeat time.Duration
	dataConns     int
	// oneWay is the share of outages that leave one direction open.
	faults                     Faults
	outageEvery, longestOutage time.Duration
	oneWay                     float64
	// Troubles of each host: how long it is down, and how long its disk is ill.
	troubleEvery, longestDown, longestDisease time.Duration
	// bright is how long the agents run between two nights. A night is when none runs; it is longer, as it costs no real time.
	bright, night time.Duration
}

func drawDraws(d dice) draws {
	return draws{
		burstEvery:     d.between(time.Minute, 20*time.Minute),
		burst:          1 + d.IntN(40),
		consumerPause:  d.between(10*time.Second, 10*time.Minute),
		consumerDies:   oneOf(d, 0, 0.05, 0.3),
		repeats:        oneOf(d, 0, 0.02, 0.1),
		idleHeartbeat:  oneOf(d, 20*time.Second, 40*time.Second, time.Minute),
		dataConns:      oneOf(d, 1, 1, 1, 2),
		faults:         drawFaults(d),
		outageEvery:    d.between(10*time.Minute, time.Hour),
		longestOutage:  drawLongestOutage(d),
		oneWay:         oneOf(d, 0, 0.3, 0.7),
		troubleEvery:   d.between(10*time.Minute, time.Hour),
		longestDown:    oneOf(d, 5*time.Second, 30*time.Second, 2*time.Minute),
		longestDisease: oneOf(d, 10*time.Second, 5*time.Minute),
		bright:         d.between(15*time.Minute, time.Hour),
		night:          d.between(8*time.Hour, 40*time.Hour),
	}
}

// drawLongestOutage draws short ones mostly: the eight hundred dials of the first eleven minutes, and seventeen thousand more
// each day, are what a trial spends most of its real time on. One seed in twenty has outages of up to a day.
func drawLongestOutage(d dice) time.Duration {
	if d.chance(0.05) {
		return 24 * time.Hour
	}
	return oneOf(d, 5*time.Second, 30*time.Second, 2*time.Minute, 15*time.Minute)
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
