package agenttest

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// dice are one actor's luck. Each actor of a trial has its own, so that what one does not draw changes nothing for the others.
type dice struct{ *rand.Rand }

func newDice(seed uint64, actor string) dice {
	h := fnv.New64a()
	h.Write([]byte(actor))
	return dice{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// chance is true with probability p.
func (d dice) chance(p float64) bool { return d.Float64() < p }

// between returns a time from least to most, each order of magnitude as likely as the next.
func (d dice) between(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Exp(d.Float64()*math.Log(float64(most)/float64(least))))
}

// after returns the wait for something that happens once in mean, at any moment as likely as at any other.
func (d dice) after(mean time.Duration) time.Duration {
	return time.Duration(d.ExpFloat64() * float64(mean))
}

func oneOf[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }
