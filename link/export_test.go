package link

import "time"

// The bounds of new streams, for tests that would else begin some thousand of them, each with its commit.
const (
	NewcomersAtOnce = newcomersAtOnce
	NewcomerEvery   = newcomerEvery
)

// BeginStreams has the peer begun so many streams.
func (l *Link) BeginStreams(count int) {
	l.newcomers.full(time.Now())
	for range count {
		l.newcomers.begun()
	}
}
