package agenttest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"drawbridge/link"
	"drawbridge/spool/bolt"
)

var (
	// errDead is what a process that is gone gets from its disk: nothing it does afterwards counts.
	errDead = errors.New("the process is gone")
	errDisk = errors.New("input/output error")
)

// disk stands under the spool of a host, as its hook.
type disk struct {
	mu sync.Mutex
	// dead says that the process is gone: all that comes is too late.
	dead bool
	// fatal is the point at which the process dies, after so many more passes; empty for none.
	fatal  string
	passes int
	died   chan struct{} // holds a value when the process has died at fatal
	// failing is the probability that a step of a commit fails; slow how long it may take.
	failing float64
	slow    time.Duration
	dice    dice
}

func newDisk(d dice) *disk { return &disk{dice: d, died: make(chan struct{}, 1)} }

// pass is the hook. It waits only where the engine holds no lock.
func (d *disk) pass(point string) error {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return errDead
	}
	if point == d.fatal {
		if d.passes--; d.passes < 0 {
			d.dead = true
			d.died <- struct{}{}
			d.mu.Unlock()
			return errDead
		}
	}
	if slices.Contains(link.HookPoints(), point) {
		d.mu.Unlock()
		return nil // a process may die there, but no disk is under it
	}
	var err error
	if d.failing > 0 && d.dice.chance(d.failing) {
		err = errDisk
	}
	wait := time.Duration(0)
	if d.slow > 0 && point == bolt.HookCommitBegin {
		wait = time.Duration(d.dice.Float64() * float64(d.slow))
	}
	d.mu.Unlock()
	time.Sleep(wait)
	return err
}

// kill makes all that comes too late.
func (d *disk) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// dieAt makes the process die when it passes point once more than passes.
func (d *disk) dieAt(point string, passes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fatal, d.passes = point, passes
}

// sicken makes commits fail with a probability, and take up to slow.
func (d *disk) sicken(failing float64, slow time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing, d.slow = failing, slow
}

// recover ends all troubles, for a process that starts.
func (d *disk) recover() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead, d.fatal, d.failing, d.slow = false, "", 0, 0
	select {
	case <-d.died:
	default:
	}
}
