package agent

import (
	"sync"
	"time"
)

// probe tries something that may hang, such as writing to a disk that dies, for many who ask: never are two attempts under
// way, and nobody waits longer than he wants.
type probe struct {
	try func() error
	// fresh is for how long the outcome of an attempt is good enough.
	fresh time.Duration

	attempts sync.WaitGroup

	mu   sync.Mutex // guards last
	last *attempt   // nil before the first
}

// attempt is one try.
type attempt struct {
	began time.Time
	ended chan struct{} // closed when err is set
	err   error
}

// ask returns the attempt that is under way or fresh, else it begins one.
func (p *probe) ask() *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && (!p.last.over() || time.Since(p.last.began) < p.fresh) {
		return p.last
	}
	a := &attempt{began: time.Now(), ended: make(chan struct{})}
	p.last = a
	p.attempts.Go(func() {
		a.err = p.try()
		close(a.ended)
	})
	return a
}

// close returns when no attempt is under way. Nobody may ask any more.
func (p *probe) close() { p.attempts.Wait() }

// over tells whether the attempt has an outcome.
func (a *attempt) over() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// outcome waits for the attempt until the given channel is closed. Silent is for how long the attempt has had no outcome, 0
// if it has one.
func (a *attempt) outcome(until <-chan struct{}) (silent time.Duration, err error) {
	select {
	case <-a.ended:
		return 0, a.err
	case <-until:
		return time.Since(a.began), nil
	}
}
