package bolt

import "sync"

// watchers are those who wait for something ready in a queue.
type watchers struct {
	mu       sync.Mutex
	channels map[string]map[chan struct{}]struct{}
}

func newWatchers() *watchers {
	return &watchers{channels: make(map[string]map[chan struct{}]struct{})}
}

// Watch implements spool.Local.
func (s *Store) Watch(queue string) (ready <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	w := s.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels[queue] == nil {
		w.channels[queue] = make(map[chan struct{}]struct{})
	}
	w.channels[queue][c] = struct{}{}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.channels[queue], c)
		if len(w.channels[queue]) == 0 {
			delete(w.channels, queue)
		}
	}
}

func (w *watchers) fire(queues map[string]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range queues {
		for c := range w.channels[name] {
			wake(c)
		}
	}
}

// fireAll is for a store that was opened anew: what it holds may be other than what was known.
func (w *watchers) fireAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, channels := range w.channels {
		for c := range channels {
			wake(c)
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
