package localapi

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// deadStep is how many dead letters a scan holds in memory at once, if they are not more than spool.PeekBytes.
const deadStep = 256

// maxDeathAge bounds what a filter asks for. Nothing is kept that long.
const maxDeathAge = 100 * 365 * 24 * time.Hour

// scanDead yields the messages of a queue of dead letters from a sequence on. What it yields is good until the next; an error
// is the last.
func (s *Server) scanDead(ctx context.Context, dead string, from uint64) iter.Seq2[*spool.Peeked, error] {
	return func(yield func(*spool.Peeked, error) bool) {
		for {
			step, err := s.store.Peek(ctx, dead, from, deadStep)
			if s.isStopping() {
				err = fmt.Errorf("the agent is stopping: %w", spool.ErrClosed)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(step) == 0 {
				return
			}
			for i := range step {
				if !yield(&step[i], nil) {
					return
				}
			}
			from = step[len(step)-1].Sequence + 1
		}
	}
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// deadFilter says which dead letters are meant. Empty fields let everything through.
type deadFilter struct {
	from                    uint64
	reason, route, text, id string
	header                  *message.Header
	// diedBefore and diedAfter are by the wall clock, like the deaths.
	diedBefore, diedAfter time.Time
}

// filterOptions are the query options of a deadFilter.
var filterOptions = []string{"reason", "route", "text", "id", "header", "older", "newer", "from"}

// readDeadFilter reads a filter; ages count from now, so that a call that takes long means the same letters at its end.
func readDeadFilter(o *options) deadFilter {
	for _, name := range filterOptions {
		if o.values.Has(name) && o.text(name) == "" {
			o.fail("%s: it is empty, which would let everything through; leave it out", name)
		}
	}
	f := deadFilter{
		from:   o.number("from", 0, 0, math.MaxUint64),
		reason: o.text("reason"),
		route:  o.text("route"),
		text:   o.text("text"),
		id:     o.text("id"),
	}
	if pair := o.text("header"); pair != "" {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			o.fail("header=%s: use NAME=VALUE", clip(pair))
		}
		f.header = &message.Header{Name: strings.ToLower(name), Value: value}
	}
	now := time.Now()
	if age := o.duration("older", time.Millisecond, maxDeathAge); age > 0 {
		f.diedBefore = now.Add(-age)
	}
	if age := o.duration("newer", time.Millisecond, maxDeathAge); age > 0 {
		f.diedAfter = now.Add(-age)
	}
	return f
}

// matches tells whether the filter lets a dead letter through, but for its place.
func (f *deadFilter) matches(p *spool.Peeked) bool {
	death := deathOf(p)
	switch {
	case f.reason != "" && string(death.Reason) != f.reason,
		f.route != "" && death.Route != f.route,
		f.id != "" && p.ID != f.id,
		!strings.Contains(death.Text, f.text),
		f.header != nil && !slices.Contains(p.Headers, *f.header),
		!f.diedBefore.IsZero() && !death.At.Before(f.diedBefore),
		!f.diedAfter.IsZero() && !death.At.After(f.diedAfter):
		return false
	}
	return true
}

// deathOf returns how a message died; zero for one that says nothing of it.
func deathOf(p *spool.Peeked) message.Death {
	if p.Death == nil {
		return message.Death{}
	}
	return *p.Death
}
