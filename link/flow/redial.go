package flow

import (
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// jitter is the share by which each wait is longer or shorter at random, so that many links that broke together do not dial
// together. The library would draw it from the global source; ours is seeded, so that a run can be repeated.
const jitter = 0.2

// Redial gives the waits between dials while a link is down: none before the first, then 250 ms, 1 s after a minute, 5 s
// after ten, each ±20 %. It never gives up. It has no clock: the time a link has been down is the sum of the waits it gave,
// which is right when dials overlap and the waits run from the start of one to the start of the next.
type Redial struct {
	rng   *rand.Rand
	tiers []tier
	dials int
	down  time.Duration
}

// tier is the pace of dialling until a link has been down for so long.
type tier struct {
	until time.Duration
	pace  backoff.BackOff
}

var _ backoff.BackOff = (*Redial)(nil)

// NewRedial returns the waits for a link that has just gone down. It draws from rng alone and shares it with nobody else.
func NewRedial(rng *rand.Rand) *Redial {
	return &Redial{rng: rng, tiers: []tier{
		{time.Minute, backoff.NewConstantBackOff(250 * time.Millisecond)},
		{10 * time.Minute, backoff.NewConstantBackOff(time.Second)},
		{1<<63 - 1, backoff.NewConstantBackOff(5 * time.Second)},
	}}
}

// NextBackOff returns how long to wait before the next dial; 0 for the first after NewRedial or Reset.
func (r *Redial) NextBackOff() time.Duration {
	r.dials++
	if r.dials == 1 {
		return 0
	}
	for _, t := range r.tiers {
		if r.down < t.until {
			wait := jittered(r.rng, t.pace.NextBackOff())
			r.down += wait
			return wait
		}
	}
	panic("flow: a link has been down for 292 years")
}

// Reset begins anew: the link was up.
func (r *Redial) Reset() { r.dials, r.down = 0, 0 }

// Slow gives the waits between dials to a peer that refuses us, or that we refuse: 1 s, doubling to 60 s, each ±20 %. It
// never gives up.
type Slow struct {
	rng  *rand.Rand
	pace *backoff.ExponentialBackOff
}

var _ backoff.BackOff = (*Slow)(nil)

// NewSlow returns the waits from the shortest on. It draws from rng alone and shares it with nobody else.
func NewSlow(rng *rand.Rand) *Slow {
	return &Slow{rng: rng, pace: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(time.Minute),
		backoff.WithRandomizationFactor(0), // jittered adds ours
		backoff.WithMaxElapsedTime(0),      // the library would give up after 15 minutes
		backoff.WithClockProvider(noClock{}),
	)}
}

// NextBackOff returns how long to wait before the next dial.
func (s *Slow) NextBackOff() time.Duration { return jittered(s.rng, s.pace.NextBackOff()) }

// Reset begins anew with the shortest wait.
func (s *Slow) Reset() { s.pace.Reset() }

func jittered(rng *rand.Rand, wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (1 - jitter + 2*jitter*rng.Float64()))
}

// noClock keeps the library from reading the real one; it needs it only for the giving up that is off.
type noClock struct{}

func (noClock) Now() time.Time { return time.Time{} }
