package history

import (
	"slices"

	"drawbridge/message"
)

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
	for i := range h.Requeued {
		f.judgeRequeue(of(h.Requeued[i].ID), &h.Requeued[i])
	}
	for i := range h.Left {
		f.judgeCopy(of(h.Left[i].ID), &h.Left[i])
	}
	for i := range h.Puts {
		f.judgeLives(stories[h.Puts[i].ID], h.Puts[i].ID)
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

// judgeSight weighs one sight against what was known of its generation before.
func (f *Findings) judgeSight(s *story, now *Sight) {
	at, l := place{now.Queue, now.Sequence}, s.in(now.Generation)
	if now.Acked {
		l.acked = l.acked || at == l.at
		return
	}
	f.judgeContent(s, now.ID, now.Sum, "was handed out")
	l.released = l.released || !now.Kept
	if !l.seen {
		l.seen, l.at, l.attempt = true, at, now.Attempt
		return
	}
	switch {
	case at != l.at:
		f.once(&s.doubled, &f.Doubled, "doubled: %s was handed out with %s, and with %s", now.ID, l.at, at)
	case l.acked:
		f.once(&s.doubled, &f.Doubled, "doubled: %s (%s) was handed out again after its ack was answered", now.ID, at)
	case now.Attempt <= l.attempt:
		f.once(&s.doubled, &f.Doubled, "doubled: %s (%s) was handed out as delivery %d after delivery %d", now.ID, at, now.Attempt, l.attempt)
	default:
		f.Redelivered++
		l.attempt = now.Attempt
	}
}

// judgeRequeue weighs a dead letter that an operator found against what was seen, and begins the life that it was given.
func (f *Findings) judgeRequeue(s *story, r *Requeue) {
	l := s.in(r.Generation)
	f.judgeDeath(s, l, r.ID, r.Queue, r.Reason)
	if !r.Done {
		return
	}
	f.Requeued++
	if l.requeued {
		f.once(&s.doubled, &f.Doubled, "doubled: generation %d of %s was requeued twice", r.Generation, r.ID)
	}
	l.requeued = true
	s.in(r.Generation + 1)
}

// judgeCopy weighs one copy that is left against what was seen and what was found before.
func (f *Findings) judgeCopy(s *story, c *Copy) {
	f.judgeContent(s, c.ID, c.Sum, "is left in "+c.Queue)
	l := s.in(c.Generation)
	if c.Reason != "" {
		if l.buried && c.Queue == l.deadIn || l.requeued {
			f.once(&s.doubled, &f.Doubled, "doubled: %s is left as a dead letter of %s, and was so before", c.ID, c.Queue)
		}
		l.buried = true
		f.judgeDeath(s, l, c.ID, c.Queue, c.Reason)
		return
	}
	at := place{c.Queue, c.Sequence}
	switch {
	case l.waiting:
		f.once(&s.doubled, &f.Doubled, "doubled: %s is left with %s, and with %s", c.ID, l.at, at)
	case l.acked:
		f.once(&s.doubled, &f.Doubled, "doubled: %s is left with %s after its ack was answered", c.ID, at)
	case l.seen && at != l.at:
		f.once(&s.doubled, &f.Doubled, "doubled: %s was handed out with %s and is left with %s", c.ID, l.at, at)
	}
	if l.dead != "" && l.dead != message.ReasonInDoubt {
		f.once(&s.both, &f.Both, "both: %s is a dead letter of %s (%s) and is left with %s", c.ID, l.deadIn, l.dead, at)
	}
	if !l.seen {
		l.at = at
	}
	l.waiting = true
}

// judgeDeath: a message may die in the queue that handed it out, until its ack is answered. Dead in one queue and handed out
// by another it is delivered and dead; only the reason in-doubt says that this may be.
func (f *Findings) judgeDeath(s *story, l *life, id, queue string, reason message.Reason) {
	if l.dead != "" && l.deadIn != queue {
		f.once(&s.doubled, &f.Doubled, "doubled: %s is a dead letter of %s, and of %s", id, l.deadIn, queue)
	}
	if reason != message.ReasonInDoubt && (l.acked || l.waiting || l.seen && l.at.queue != queue) {
		f.once(&s.both, &f.Both, "both: %s is a dead letter of %s (%s) and has %s", id, queue, reason, l.at)
	}
	l.dead, l.deadIn = reason, queue
}

// judgeLives looks for generations that nobody began: each but the first is given to a dead letter of the one before.
func (f *Findings) judgeLives(s *story, id string) {
	for i, l := range s.lives {
		if l.generation > 0 && (i == 0 || s.lives[i-1].generation != l.generation-1 || s.lives[i-1].dead == "") {
			f.once(&s.invented, &f.Invented, "invented: generation %d of %s, of which nobody requeued the one before", l.generation, id)
		}
	}
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
		last := s.last()
		switch {
		case last.lost() && s.seen():
			f.fault(&f.Lost, "lost: %s (producer %d, turn %d) was handed out and ended by nobody, in generation %d", p.ID, p.Producer, p.Turn, last.generation)
		case last.lost():
			f.fault(&f.Lost, "lost: %s (producer %d, turn %d) was stored and never handed out", p.ID, p.Producer, p.Turn)
		case s.seen():
			f.Delivered++
		case last.waiting:
			f.Waiting++
		default:
			f.Dead++
		}
		first := s.in(0)
		if !first.seen && !first.waiting || p.Heard == Duplicate && s.unplaced {
			continue
		}
		l := lane{p.Producer, p.Queue, first.at.queue, p.Priority}
		if by := highest[l]; by != nil && first.at.sequence <= stories[by.ID].in(0).at.sequence {
			f.fault(&f.OutOfOrder, "out of order: %s (producer %d, turn %d) has sequence %d, turn %d has %d",
				p.ID, p.Producer, p.Turn, first.at.sequence, by.Turn, stories[by.ID].in(0).at.sequence)
			continue
		}
		highest[l] = p
	}
}
