package main

import "context"

// maxGroup bounds the calls of one transaction.
const maxGroup = 1024

// groups is group commit: whatever waits when a transaction ends goes into the next.
type groups struct {
	writer *writer
	calls  chan call
	ended  chan struct{}
}

type call struct {
	apply func(*writer) error
	done  chan error
}

func newGroups(w *writer) *groups {
	g := &groups{writer: w, calls: make(chan call, maxGroup), ended: make(chan struct{})}
	go g.run()
	return g
}

// transact returns when apply is durable. It must not be called after stop.
func (g *groups) transact(_ context.Context, apply func(*writer) error) error {
	c := call{apply, make(chan error, 1)}
	g.calls <- c
	return <-c.done
}

// stop returns when what was called is done.
func (g *groups) stop() {
	close(g.calls)
	<-g.ended
}

func (g *groups) run() {
	defer close(g.ended)
	for first := range g.calls {
		group := g.take(first)
		work := make([]func(*writer) error, len(group))
		for i, c := range group {
			work[i] = c.apply
		}
		err := g.writer.together(context.Background(), work)
		for _, c := range group {
			c.done <- err
		}
	}
}

// take adds to first whatever waits behind it.
func (g *groups) take(first call) []call {
	group := []call{first}
	for len(group) < maxGroup {
		select {
		case c, open := <-g.calls:
			if !open {
				return group
			}
			group = append(group, c)
		default:
			return group
		}
	}
	return group
}
