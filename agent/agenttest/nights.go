package agenttest

import "time"

// span is a time of a trial, from its beginning on.
type span struct{ from, to time.Duration }

// drawNights draws when no agent runs, in a trial of the given length.
func drawNights(d dice, draws *draws, length time.Duration) (nights []span) {
	for at := d.between(draws.bright/4, 2*draws.bright); at < length; {
		night := span{at, min(length, at+d.between(draws.night/4, 2*draws.night))}
		nights = append(nights, night)
		at = night.to + d.between(draws.bright/4, 2*draws.bright)
	}
	return nights
}

// tonight returns how long it is to the next night, 0 while there is one, and how long it is to its end.
func (t *trial) tonight() (begins, ends time.Duration) {
	now := time.Since(t.log.began)
	for _, n := range t.nights {
		if now < n.to {
			return max(0, n.from-now), n.to - now
		}
	}
	return 1<<63 - 1, 1<<63 - 1
}

// bright returns how long agents run in a trial of the given length.
func (t *trial) bright(length time.Duration) time.Duration {
	for _, n := range t.nights {
		length -= n.to - n.from
	}
	return length
}

// deepNight says that no agent runs for longer than a producer has patience.
func (t *trial) deepNight() bool {
	begins, ends := t.tonight()
	return begins == 0 && ends > patience
}

// pace sets how often producers put, so that a trial of the given length moves as many messages as were drawn.
func (t *trial) pace(length time.Duration) {
	awake := t.bright(length) + time.Duration(len(t.nights))*patience
	bursts := 2 * t.draws.messages / (t.draws.burst + 1)
	t.draws.burstEvery = awake * time.Duration(len(t.producers)) / time.Duration(bursts+1)
}
