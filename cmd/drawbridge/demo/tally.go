package demo

import (
	"context"
	"sync"
)

// tally is how far the crossing is. Producers, consumer, events and display share it.
type tally struct {
	mu                sync.Mutex
	stored, delivered int
	// changed is closed at the next change; nil while nobody waits for one.
	changed chan struct{}
}

// add counts messages that were stored, and messages handed out for the first time.
func (t *tally) add(stored, delivered int) {
	t.mu.Lock()
	t.stored += stored
	t.delivered += delivered
	t.mu.Unlock()
	t.wake()
}

// wake lets all who wait look again.
func (t *tally) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

func (t *tally) now() (stored, delivered int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stored, t.delivered
}

// wait blocks until enough says so or ctx ends.
func (t *tally) wait(ctx context.Context, enough func(stored, delivered int) bool) error {
	for {
		t.mu.Lock()
		if enough(t.stored, t.delivered) {
			t.mu.Unlock()
			return nil
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
