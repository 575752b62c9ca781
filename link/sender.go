package link

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
)

// markAhead is how far the shipped mark runs ahead of what is offered: one commit pays for that many messages.
const markAhead = 8192

// loadAtLeast keeps the loader from reading the spool for a handful of messages while there is much to ship.
const loadAtLeast = 256

// sender is the sending half of one route in one session. It starts from what the spool holds: what was answered but not
// settled before the last session ended is shipped again and answered as a duplicate.
type sender struct {
	Send
	s     *session
	route spool.Route
	tally *tally
	// room and settled hold a value when there may be more to load or to settle.
	room, settled chan struct{}

	mu    sync.Mutex // guards what follows; never held over I/O
	lanes []*lane    // highest priority first
}

// lane is the messages of one priority.
type lane struct {
	priority uint8
	flow     *flow.Lane
	// ended was answered and waits for its commit; committing counts what is on its way.
	ended      ended
	committing uint64
	// words are what the peer said of messages that it has refused and that are being closed.
	words map[uint64]string
	// closed is, of each stream, between which numbers lie those that the peer has closed and not been told to forget.
	closed map[message.StreamID]message.Range
	// begun are the streams of which something was offered in this session.
	begun map[message.StreamID]struct{}
}

// begin notes what is offered first of a stream in this session. Below it or between, numbers may have been closed in a session
// that ended before the peer was told to forget them; it is told once those are done with that were held then.
func (ln *lane) begin(held []spool.Held) {
	for i := len(held) - 1; i >= 0; i-- {
		stream := held[i].Stream
		if _, known := ln.begun[stream]; known {
			continue
		}
		ln.begun[stream] = struct{}{}
		if _, known := ln.closed[stream]; !known {
			ln.closed[stream] = message.Range{First: 1, Last: held[i].Number}
		}
	}
}

func newSender(s *session, send Send) *sender {
	return &sender{
		Send:    send,
		s:       s,
		route:   spool.Route{Queue: send.From, Name: send.Name},
		tally:   s.link.tallies["send "+send.Name],
		room:    make(chan struct{}, 1),
		settled: make(chan struct{}, 1),
	}
}

// load offers the flow what the spool holds, in order, and keeps the shipped mark ahead of it.
func (snd *sender) load(ctx context.Context) error {
	ready, stop := snd.s.link.store.Watch(snd.From)
	defer stop()
	for {
		more, err := snd.loadOnce(ctx)
		if err != nil {
			return fmt.Errorf("load queue %q for route %q: %w", snd.From, snd.Name, err)
		}
		if more {
			continue
		}
		select {
		case <-ready:
		case <-snd.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (snd *sender) loadOnce(ctx context.Context) (more bool, err error) {
	store := snd.s.link.store
	for _, priority := range store.Lanes(snd.route) {
		ln := snd.lane(priority)
		snd.mu.Lock()
		after, room := ln.flow.Last(), ln.flow.Room()
		snd.mu.Unlock()
		if room < loadAtLeast {
			continue
		}
		now := time.Now()
		held, err := store.Held(ctx, snd.route, priority, after, room)
		if err != nil {
			return false, err
		}
		if len(held) == 0 {
			continue
		}
		// Not durable, not shipped: after a crash nobody could tell a shipped message from one that may still expire.
		last := held[len(held)-1].Number
		if store.MarkOf(snd.route, priority) < last {
			if err := snd.s.pass(HookMarkBegin); err != nil {
				return false, err
			}
			if err := store.Mark(ctx, snd.route, priority, last+markAhead); err != nil {
				return false, err
			}
			if err := snd.s.pass(HookMarkDone); err != nil {
				return false, err
			}
			// A consumer that has a message from before the queue got its route may have ended it meanwhile, and the lane would
			// wait for it for ever. From the mark on only an answer ends one, so what is listed now stays.
			var above bool
			if held, above, err = snd.listBelowMark(ctx, priority, after, room); err != nil {
				return false, err
			}
			more = more || above
		}
		items := make([]flow.Item, len(held))
		jump := store.LedgerStats().Jump // nobody has said yet that this time has passed
		for i, h := range held {
			items[i] = flow.Item{Place: h.Place, Bytes: h.Bytes}
			if snd.RetryFor > 0 {
				items[i].Until, items[i].Cause = now.Add(snd.RetryFor-max(0, h.Age-jump)), message.ReasonHorizonPassed
			}
		}
		snd.mu.Lock()
		ln.begin(held)
		ln.flow.Offer(items)
		snd.mu.Unlock()
		snd.s.shippers.wake()
		more = more || len(held) == room
	}
	return more, nil
}

// listBelowMark lists what the route holds at or below its mark, and tells whether there is more above it.
func (snd *sender) listBelowMark(ctx context.Context, priority uint8, after uint64, room int) (held []spool.Held, above bool, err error) {
	store := snd.s.link.store
	if held, err = store.Held(ctx, snd.route, priority, after, room); err != nil {
		return nil, false, err
	}
	mark := store.MarkOf(snd.route, priority)
	for n := len(held); n > 0 && held[n-1].Number > mark; n-- {
		held, above = held[:n-1], true
	}
	return held, above, nil
}

// lane returns the lane of that priority, made if there was none yet.
func (snd *sender) lane(priority uint8) *lane {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	at := 0
	for _, ln := range snd.lanes {
		if ln.priority == priority {
			return ln
		}
		if ln.priority > priority {
			at++
		}
	}
	ln := &lane{
		priority: priority,
		flow:     flow.NewLane(flow.Options{}),
		words:    make(map[uint64]string),
		closed:   make(map[message.StreamID]message.Range),
		begun:    make(map[message.StreamID]struct{}),
	}
	ln.flow.Begin(time.Now(), flow.Grant{Bytes: snd.s.peer.limits.CreditBytes, Messages: snd.s.peer.limits.CreditMessages})
	snd.lanes = append(snd.lanes[:at:at], append([]*lane{ln}, snd.lanes[at:]...)...)
	return ln
}

// next takes the next batch to ship over connection via, or says when to ask again.
func (snd *sender) next(now time.Time, via int) (*job, time.Time) {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	var wake time.Time
	snd.shareCredit()
	for _, ln := range snd.lanes {
		if b, ok := ln.flow.Next(now, via); ok {
			snd.tally.resent.Add(uint64(b.Resent))
			notify(snd.room)
			return &job{snd, ln.priority, b}, time.Time{}
		}
		if at := ln.flow.Wake(); !at.IsZero() && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return nil, wake
}

// shareCredit leaves each lane what the others have not used of the route's limits: the peer keeps room for one route, not for
// each of its priorities.
func (snd *sender) shareCredit() {
	if len(snd.lanes) < 2 {
		return
	}
	var messages, bytes int
	for _, ln := range snd.lanes {
		m, b, _ := ln.flow.Unanswered()
		messages, bytes = messages+m, bytes+b
	}
	limits := snd.s.peer.limits
	for _, ln := range snd.lanes {
		m, b, _ := ln.flow.Unanswered()
		ln.flow.Share(flow.Grant{Messages: left(limits.CreditMessages, messages-m), Bytes: left(limits.CreditBytes, bytes-b)})
	}
}

func left(limit uint64, used int) uint64 { return limit - min(limit, uint64(used)) }

func (snd *sender) credit(f *protocol.Credit) {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	for _, ln := range snd.lanes {
		ln.flow.Credit(f.Stream, f.Through, f.Bytes)
	}
}

// lost makes what a connection carried unanswered ready to be shipped again.
func (snd *sender) lost(via int) {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	for _, ln := range snd.lanes {
		ln.flow.Lost(via)
	}
}

func (snd *sender) unanswered() (n int) {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	for _, ln := range snd.lanes {
		m, _, _ := ln.flow.Unanswered()
		n += m
	}
	return n
}

func (snd *sender) describe(row *SendStatus, now time.Time) {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	for _, ln := range snd.lanes {
		messages, bytes, oldest := ln.flow.Unanswered()
		row.Unanswered += messages
		row.UnansweredBytes += bytes
		if messages > 0 {
			row.OldestUnanswered = max(row.OldestUnanswered, now.Sub(oldest))
		}
		if reason, ok := ln.flow.Held(); ok {
			row.Held = reason
		}
	}
}

// holdCode is the stable code that a hold reason begins with.
func holdCode(reason string) protocol.Code {
	code, _, _ := strings.Cut(reason, ": ")
	return protocol.Code(code)
}
