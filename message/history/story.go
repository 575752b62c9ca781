package history

import (
	"fmt"
	"slices"

	"drawbridge/message"
)

// place is where in which queue a message is.
type place struct {
	queue    string
	sequence uint64
}

func (p place) String() string {
	if p.queue == "" {
		return fmt.Sprintf("sequence %d", p.sequence)
	}
	return fmt.Sprintf("sequence %d of %s", p.sequence, p.queue)
}

// story is what a judge knows about one id.
type story struct {
	// put is the one whose content counts: one that was promised if there is any, else one that may be stored.
	put *Put
	// lives are in the order of their generations: few have more than the first.
	lives []*life
	// unplaced says that a try that ended without an answer may be the one that gave the message its place.
	unplaced bool

	doubled, corrupt, invented, both bool
}

// life is one generation of a message: it enters its last queue at most once, and ends there or as a dead letter.
type life struct {
	generation uint32
	seen       bool
	// at is the place in which it was seen, else that in which it was left alive.
	at      place
	attempt uint32
	acked   bool
	// released says that a consumer tried to ack it: it may have ended unheard.
	released bool
	// waiting and buried are set for copies that are left, alive and dead.
	waiting, buried bool
	// dead is why it died, in which queue; perhaps it was requeued since, surely so if requeued is set.
	dead     message.Reason
	deadIn   string
	requeued bool
}

// in returns the life of a generation.
func (s *story) in(generation uint32) *life {
	i, found := slices.BinarySearchFunc(s.lives, generation, func(l *life, g uint32) int { return int(int64(l.generation) - int64(g)) })
	if !found {
		s.lives = slices.Insert(s.lives, i, &life{generation: generation})
	}
	return s.lives[i]
}

// seen says that the message was handed out in some generation.
func (s *story) seen() bool {
	return slices.ContainsFunc(s.lives, func(l *life) bool { return l.seen })
}

// last returns the life that the agents owe now.
func (s *story) last() *life {
	if len(s.lives) == 0 {
		return s.in(0)
	}
	return s.lives[len(s.lives)-1]
}

// lost says that a life neither ended in a way that is allowed nor goes on.
func (l *life) lost() bool { return !l.acked && !l.released && !l.waiting && !l.buried }
