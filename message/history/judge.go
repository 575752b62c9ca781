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
	put  *Put
	seen bool
	// at is the place in which it was seen, else that in which it was left alive.
	at      place
	attempt uint32
	acked   bool
	// waiting and dead are set for copies that are left.
	waiting bool
	dead    message.Reason
	deadIn  string

	// unplaced says that a try that ended without an answer may be the one that gave the message its place.
	unplaced bool

	doubled, corrupt, invented, both bool
}

// Judge finds the faults of a history. It is a pure function and takes linear time; only puts that are not in the order of
// their turns are sorted.
func Judge(h History) Findings {
	var f Findings
	stories := f.tell(h.Puts)
	of := func(id string) *story {
		s := stories[id]
		if s == nil {
			s = &story{}
			stories[id] = s
		}
		return s
	}
	for i := range h.Seen {
		f.judgeSight(of(h.Seen[i].ID), &h.Seen[i])
	}
	for i := range h.Left {
		f.judgeCopy(of(h.Left[i].ID), &h.Left[i])
	}
	f.judgeProducers(h.Puts, stories)
	for _, fig := range h.Figures {
		if fig.Says < fig.Least || fig.Says > fig.Most {
			f.fault(&f.Lying, "lying: %s is told as %d and is %d to %d", fig.Of, fig.Says, fig.Least, fig.Most)
		}
	}
	return f
}

// tell begins the story of each id that was put.
func (f *Findings) tell(puts []Put) map[string]*story {
	stories := make(map[string]*story, len(puts))
	for i := range puts {
		p := &puts[i]
		s := stories[p.ID]
		if s == nil {
			s = &story{}
			stories[p.ID] = s
		}
		s.unplaced = s.unplaced || p.Heard == Unknown
		switch {
		case p.Heard == Refused || p.Heard == Conflict:
		case s.put == nil || p.promised() && !s.put.promised():
			s.put = p
		case p.Heard == Stored && s.put.Heard == Stored:
			f.once(&s.doubled, &f.Doubled, "doubled: %s was answered as stored twice", p.ID)
		case p.promised() && s.put.promised() && p.Sum != s.put.Sum:
			f.once(&s.corrupt, &f.Corrupt, "corrupt: %s was answered as a duplicate of other bytes", p.ID)
		case p.Heard == Stored && s.put.Heard == Duplicate:
			s.put = p // the try that placed it
		}
	}
	return stories
}

// judgeContent weighs what somebody found under an id against what was put.
func (f *Findings) judgeContent(s *story, id string, sum Sum, where string) {
	switch {
	case s.put == nil:
		f.once(&s.invented, &f.Invented, "invented: %s %s and was stored by nobody", id, where)
	case sum != s.put.Sum && s.put.promised():
		f.once(&s.corrupt, &f.Corrupt, "corrupt: %s %s with other bytes than were put", id, where)
	}
}

// judgeSight weighs one sight against what was known of its id before.
func (f *Findings) judgeSight(s *story, now *Sight) {
	at := place{now.Queue, now.Sequence}
	if now.Acked {
		s.acked = s.acked || at == s.at
		return
	}
	f.judgeContent(s, now.ID, now.Sum, "was handed out")
	if !s.seen {
		s.seen, s.at, s.attempt = true, at, now.Attempt
		return
	}
	switch {
	case at != s.at:
		f.once(&s.doubled, &f.Doubled, "doubled: %s was handed out with %s, and with %s", now.ID, s.at, at)
	case s.acked:
		f.once(&s.doubled, &f.Doubled, "doubled: %s (%s) was handed out again after its ack was answered", now.ID, at)
	case now.Attempt <= s.attempt:
		f.once(&s.doubled, &f.Doubled, "doubled: %s (%s) was handed out as delivery %d after delivery %d", now.ID, at, now.Attempt, s.attempt)
	default:
		f.Redelivered++
		s.attempt = now.Attempt
	}
}

// judgeCopy weighs one copy that is left against what was seen and what was found before.
func (f *Findings) judgeCopy(s *story, c *Copy) {
	f.judgeContent(s, c.ID, c.Sum, "is left in "+c.Queue)
	if c.Reason != "" {
		f.judgeDead(s, c)
		return
	}
	at := place{c.Queue, c.Sequence}
	switch {
	case s.waiting:
		f.once(&s.doubled, &f.Doubled, "doubled: %s is left with %s, and with %s", c.ID, s.at, at)
	case s.acked:
		f.once(&s.doubled, &f.Doubled, "doubled: %s is left with %s after its ack was answered", c.ID, at)
	case s.seen && at != s.at:
		f.once(&s.doubled, &f.Doubled, "doubled: %s was handed out with %s and is left with %s", c.ID, s.at, at)
	}
	if s.dead != "" && s.dead != message.ReasonInDoubt {
		f.once(&s.both, &f.Both, "both: %s is a dead letter of %s (%s) and is left with %s", c.ID, s.deadIn, s.dead, at)
	}
	if !s.seen {
		s.at = at
	}
	s.waiting = true
}

// judgeDead: a message may die in the queue that handed it out, until its ack is answered. Dead in one queue and handed out
// by another it is delivered and dead; only the reason in-doubt says that this may be.
func (f *Findings) judgeDead(s *story, c *Copy) {
	if s.dead != "" {
		f.once(&s.doubled, &f.Doubled, "doubled: %s is a dead letter of %s, and of %s", c.ID, s.deadIn, c.Queue)
	}
	if c.Reason != message.ReasonInDoubt && (s.acked || s.waiting || s.seen && s.at.queue != c.Queue) {
		f.once(&s.both, &f.Both, "both: %s is a dead letter of %s (%s) and has %s", c.ID, c.Queue, c.Reason, s.at)
	}
	s.dead, s.deadIn = c.Reason, c.Queue
}

// lane is what keeps the order of one producer: a queue it puts into, a priority, and the queue in which they arrive.
type lane struct {
	producer    int
	queue, seen string
	priority    uint8
}

// judgeProducers looks for lost messages, and for sequences that do not rise with their producer's turns. Order is a matter
// of sequence and not of time: a message whose first delivery never arrived is handed out late, in its old place.
func (f *Findings) judgeProducers(puts []Put, stories map[string]*story) {
	order := make([]*Put, 0, len(puts))
	for i := range puts {
		if p := &puts[i]; p.promised() && stories[p.ID].put == p {
			order = append(order, p)
		}
	}
	byTurn := func(a, b *Put) int { return a.Turn - b.Turn }
	if !slices.IsSortedFunc(order, byTurn) {
		slices.SortFunc(order, byTurn)
	}
	f.Stored = len(order)
	highest := make(map[lane]*Put)
	for _, p := range order {
		s := stories[p.ID]
		switch {
		case s.seen:
			f.Delivered++
		case s.waiting:
			f.Waiting++
		case s.dead != "":
			f.Dead++
			continue
		default:
			f.fault(&f.Lost, "lost: %s (producer %d, turn %d) was stored and never handed out", p.ID, p.Producer, p.Turn)
			continue
		}
		if p.Heard == Duplicate && s.unplaced {
			continue
		}
		l := lane{p.Producer, p.Queue, s.at.queue, p.Priority}
		if by := highest[l]; by != nil && s.at.sequence <= stories[by.ID].at.sequence {
			f.fault(&f.OutOfOrder, "out of order: %s (producer %d, turn %d) has sequence %d, turn %d has %d",
				p.ID, p.Producer, p.Turn, s.at.sequence, by.Turn, stories[by.ID].at.sequence)
			continue
		}
		highest[l] = p
	}
}
