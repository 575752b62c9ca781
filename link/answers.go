package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
)

// maxWords bounds the refused messages of a lane whose peer's words are kept until they are buried. Of further ones the reason
// is kept alone.
const maxWords = 1024

// floorStep is how far a floor has to rise before the peer is told while more may have been closed above it: each Floor costs it
// a look into its spool.
const floorStep = 1024

// ended is what was answered and waits for its commit.
type ended struct {
	settled []message.Range
	buried  []spool.Burial
	// messages is how many there are.
	messages uint64
}

// accepted ends what the far side has answered, and hands it to settle.
func (snd *sender) accepted(now time.Time, stream message.StreamID, ranges []protocol.AcceptedRange) {
	var settled []message.Range
	snd.mu.Lock()
	for _, r := range ranges {
		switch r.Verdict {
		case message.Closed:
			snd.buriedLocked(now, stream, r.Range, r.Reason)
		case message.Retired:
			snd.buriedLocked(now, stream, r.Range, message.ReasonInDoubt)
		default:
			settled = append(settled, r.Range)
		}
	}
	for _, ln := range snd.lanes {
		before := ln.flow.Stats().Answered
		ranges := ln.flow.Answered(now, stream, settled)
		ln.ended.settled = append(ln.ended.settled, ranges...)
		ln.forgetWords(ranges)
		ln.ended.messages += ln.flow.Stats().Answered - before
	}
	snd.mu.Unlock()
	notify(snd.settled)
	notify(snd.room)
}

// buriedLocked ends messages of which the far side says that it does not have and will not take them.
func (snd *sender) buriedLocked(now time.Time, stream message.StreamID, r message.Range, reason message.Reason) {
	for _, ln := range snd.lanes {
		for _, number := range ln.flow.HeldIn(stream, r) {
			ln.ended.buried = append(ln.ended.buried, spool.Burial{Number: number, Reason: reason, Text: snd.words(ln, number, reason)})
			delete(ln.words, number)
			span, ok := ln.closed[stream]
			if !ok {
				span.First = number
			}
			ln.closed[stream] = message.Range{First: min(span.First, number), Last: max(span.Last, number)}
		}
		before := ln.flow.Stats().Answered
		ln.flow.Answered(now, stream, []message.Range{r})
		ln.ended.messages += ln.flow.Stats().Answered - before
	}
}

// forgetWords forgets what was said of messages that have come after all.
func (ln *lane) forgetWords(ranges []message.Range) {
	for number := range ln.words {
		if slices.ContainsFunc(ranges, func(r message.Range) bool { return r.First <= number && number <= r.Last }) {
			delete(ln.words, number)
		}
	}
}

// words says in words why a message ends.
func (snd *sender) words(ln *lane, number uint64, reason message.Reason) string {
	if text, ok := ln.words[number]; ok {
		return text
	}
	if reason == message.ReasonHorizonPassed && snd.RetryFor > 0 {
		return fmt.Sprintf("its route tries for %s and no longer", snd.RetryFor)
	}
	return ""
}

// settle ends answered messages in the spool. It takes all that was answered while the commit before it ran.
func (snd *sender) settle(ctx context.Context) error {
	for {
		select {
		case <-snd.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		snd.mu.Lock()
		ends := make(map[uint8]ended, len(snd.lanes))
		for _, ln := range snd.lanes {
			if ln.ended.messages > 0 {
				ends[ln.priority] = ln.ended
				ln.ended = ended{}
				ln.committing = ends[ln.priority].messages
			}
		}
		snd.mu.Unlock()
		for priority, e := range ends {
			if err := snd.commit(ctx, priority, e); err != nil {
				return err
			}
		}
		snd.mu.Lock()
		for _, ln := range snd.lanes {
			ln.committing = 0
		}
		snd.mu.Unlock()
		snd.floors()
		snd.s.progressed()
	}
}

func (snd *sender) commit(ctx context.Context, priority uint8, e ended) error {
	store := snd.s.link.store
	if len(e.settled) > 0 {
		if err := store.SettleRoute(ctx, snd.route, priority, e.settled); err != nil {
			return fmt.Errorf("settle queue %q on route %q: %w", snd.From, snd.Name, err)
		}
		snd.tally.settled.Add(e.messages - uint64(len(e.buried)))
		if err := snd.s.pass(HookSettled); err != nil {
			return err
		}
	}
	if len(e.buried) == 0 {
		return nil
	}
	err := store.BuryRoute(ctx, snd.route, priority, e.buried)
	switch {
	case errors.Is(err, message.ErrCorrupt):
		snd.s.link.log.Error("dead letter cannot be read, it stays in its queue", "route", snd.Name, "queue", snd.From, "error", err)
	case err != nil:
		return fmt.Errorf("bury messages of queue %q on route %q: %w", snd.From, snd.Name, err)
	}
	snd.tally.buried.Add(uint64(len(e.buried)))
	first := e.buried[0]
	snd.s.link.log.Warn("messages became dead letters", "route", snd.Name, "queue", message.DeadQueue(snd.From),
		"count", len(e.buried), "reason", first.Reason, "text", first.Text)
	return snd.s.pass(HookBuried)
}

// floors tells the peer which closed numbers it may forget: those that have ended here, durably.
func (snd *sender) floors() {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	for _, ln := range snd.lanes {
		if len(ln.closed) == 0 {
			continue
		}
		floor := snd.s.link.store.LowestHeld(snd.From, ln.priority)
		for stream, span := range ln.closed {
			if floor <= span.First {
				continue
			}
			if span.Last >= floor && floor < span.First+floorStep {
				continue // the next one says more
			}
			snd.s.send(&protocol.Floor{Session: snd.s.id, Queue: snd.To, Stream: stream, Floor: floor})
			if span.First = floor; span.Last < floor {
				delete(ln.closed, stream)
			} else {
				ln.closed[stream] = span
			}
		}
	}
}

// unfinished says that an answer is awaited or waits for its commit. A lane that is held awaits none: what the peer has
// refused it will not answer before it is asked again.
func (snd *sender) unfinished() bool {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	return slices.ContainsFunc(snd.lanes, func(ln *lane) bool {
		messages, _, _ := ln.flow.Unanswered()
		_, held := ln.flow.Held()
		return ln.ended.messages > 0 || ln.committing > 0 || messages > 0 && !held
	})
}

// refused begins to end the messages that the peer refuses for their own fault, or holds the route until a probe is answered.
func (snd *sender) refused(now time.Time, f *protocol.Refused) {
	if f.Scope == protocol.ScopeMessage {
		reason, text := deathOf(f)
		snd.close(now, f.Stream, f.Range, reason, text)
		return
	}
	reason := fmt.Sprintf("%s: %s", f.Code, f.Text)
	snd.mu.Lock()
	defer snd.mu.Unlock()
	snd.holdLocked(reason, func(ln *lane) { ln.flow.Hold(now, reason) })
}

// deathOf is why a message ends that the peer has refused, in our words as far as we have them.
func deathOf(f *protocol.Refused) (message.Reason, string) {
	switch reason := message.Reason(f.Code); reason {
	case message.ReasonTooLarge, message.ReasonIDConflict, message.ReasonLoop, message.ReasonCorrupt, message.ReasonMalformed,
		message.ReasonHorizonPassed, message.ReasonInDoubt:
		return reason, f.Text
	}
	return message.ReasonRejected, fmt.Sprintf("%s: %s", f.Code, f.Text)
}

// close begins to end messages: from now on a Close is shipped in their place, until an answer ends them one way or the other.
func (snd *sender) close(now time.Time, stream message.StreamID, r message.Range, reason message.Reason, text string) {
	snd.mu.Lock()
	for _, ln := range snd.lanes {
		for _, number := range ln.flow.HeldIn(stream, r) {
			if _, known := ln.words[number]; !known && len(ln.words) < maxWords {
				ln.words[number] = text
			}
		}
		ln.flow.Close(now, stream, r, reason)
	}
	snd.mu.Unlock()
	if snd.s.pass(HookCloseBegun) == nil {
		snd.s.shippers.wake()
	}
}

// holdLocked has act hold lanes for a reason, logs the first hold for it, and reports whether a lane is held so now.
func (snd *sender) holdLocked(reason string, act func(*lane)) (held bool) {
	changed := false
	for _, ln := range snd.lanes {
		before, _ := ln.flow.Held()
		act(ln)
		after, _ := ln.flow.Held()
		changed = changed || after != before
		held = held || after == reason
	}
	if changed {
		snd.s.link.log.Warn("route held", "route", snd.Name, "queue", snd.From, "to", snd.To, "reason", reason)
	}
	return held
}
