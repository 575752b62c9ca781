package agenttest

import (
	"time"

	"drawbridge/spool"
)

// This file is what a seed may draw. A behaviour that is new is given its draw here.

// draws are how often what happens in one trial.
type draws struct {
	// messages is about how many are put in the whole trial, in bursts of at most burst. From that follows burstEvery, the mean
	// wait of a producer. repeats is how often an id of before is put again on purpose.
	messages   int
	burst      int
	burstEvery time.Duration
	repeats    float64
	// consumerPause is between two calls of a consumer, which dies after some of them.
	consumerPause time.Duration
	consumerDies  float64
	// How often a consumer gives a message back, buries it or wants more time, and how often a message is handed out at most;
	// 0 stands for the default.
	nacks, buries, extends float64
	maxDeliveries          uint32
	// operatorEvery is between two looks of a host's operator into its dead letters.
	operatorEvery time.Duration
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
	draws := draws{
		messages:       500 + d.IntN(2500),
		burst:          1 + d.IntN(40),
		consumerPause:  d.between(10*time.Second, 10*time.Minute),
		consumerDies:   oneOf(d, 0, 0.05, 0.3),
		nacks:          oneOf(d, 0, 0.02, 0.2),
		buries:         oneOf(d, 0, 0.01, 0.05),
		extends:        oneOf(d, 0, 0.02, 0.2),
		maxDeliveries:  oneOf[uint32](d, 0, 1, 2, 3),
		operatorEvery:  d.between(10*time.Minute, 2*time.Hour),
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
	if draws.longestOutage > time.Hour {
		draws.bright /= 3 // a cut link costs real time only while agents run and dial, and outlasts nights as well
	}
	return draws
}

// drawRetryFor draws how long a route tries to bring a message over, 0 for ever.
func drawRetryFor(d dice) time.Duration {
	return oneOf(d, 0, 0, d.between(2*time.Minute, 24*time.Hour))
}

// drawBodyLimit draws what the far queue of a route takes: all that producers put, or less than some of it.
func drawBodyLimit(d dice) uint64 { return oneOf[uint64](d, 0, 0, 4<<10) }

// extension is by how much a consumer extends a lease.
const extension = 2 * time.Minute

// drawSettlement draws what a consumer does with a delivery.
func drawSettlement(d dice, draws *draws, receipt spool.Receipt) spool.Settlement {
	switch luck := d.Float64(); {
	case luck < draws.nacks:
		return spool.Settlement{Receipt: receipt, Act: spool.Nack, After: oneOf(d, 0, -1, 10*time.Minute), Text: "the work failed"}
	case luck < draws.nacks+draws.buries:
		return spool.Settlement{Receipt: receipt, Act: spool.Bury, Text: "nobody can do the work"}
	case luck < draws.nacks+draws.buries+draws.extends:
		return spool.Settlement{Receipt: receipt, Act: spool.Extend, After: extension}
	}
	return spool.Settlement{Receipt: receipt, Act: spool.Ack}
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
