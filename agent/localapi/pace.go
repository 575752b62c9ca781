package localapi

import "time"

// pace spreads work over time: so many a second, in batches that are small beside a second's work. It reads no clock.
type pace struct {
	// batch is how many are done at once.
	batch int
	each  time.Duration // 0 for as fast as it goes
	due   time.Time
}

// newPace returns the pace of rate a second, 0 for as fast as it goes.
func newPace(rate uint64) pace {
	if rate == 0 {
		return pace{batch: deadStep}
	}
	return pace{batch: int(min(max(rate/10, 1), deadStep)), each: time.Second / time.Duration(rate)}
}

// next tells when the next n may be done. Time that was lost is not caught up with: whoever takes what is requeued asked not to
// be flooded.
func (p *pace) next(now time.Time, n int) time.Time {
	if p.due.Before(now) {
		p.due = now
	}
	at := p.due
	p.due = at.Add(time.Duration(n) * p.each)
	return at
}
