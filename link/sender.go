package link

import (
	"context"
	"fmt"
	"slices"
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

	mu       sync.Mutex // guards what follows; never held over I/O
	lanes    []*lane    // highest priority first
	answered map[uint8][]message.Range
	settling uint64 // messages that were answered and are not settled yet
}

// lane is the messages of one priority.
type lane struct {
	priority uint8
	flow     *flow.Lane
}

func newSender(s *session, send Send) *sender {
	return &sender{
		Send:     send,
		s:        s,
		route:    spool.Route{Queue: send.From, Name: send.Name},
		tally:    s.link.tallies["send "+send.Name],
		room:     make(chan struct{}, 1),
		settled:  make(chan struct{}, 1),
		answered: make(map[uint8][]message.Range),
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
			if err := store.Mark(ctx, snd.route, priority, last+markAhead); err != nil {
				return false, err
			}
		}
		items := make([]flow.Item, len(held))
		for i, h := range held {
			items[i] = flow.Item{Place: h.Place, Bytes: h.Bytes}
		}
		snd.mu.Lock()
		ln.flow.Offer(items)
		snd.mu.Unlock()
		snd.s.shippers.wake()
		more = more || len(held) == room
	}
	return more, nil
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
	ln := &lane{priority: priority, flow: flow.NewLane(flow.Options{})}
	ln.flow.Begin(time.Now(), flow.Grant{Bytes: snd.s.peer.limits.CreditBytes, Messages: snd.s.peer.limits.CreditMessages})
	snd.lanes = append(snd.lanes[:at:at], append([]*lane{ln}, snd.lanes[at:]...)...)
	return ln
}

// job is a batch on its way to a connection.
type job struct {
	snd      *sender
	priority uint8
	batch    flow.Batch
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

// ship writes the batch as one Ship on a stream of its own. It returns an error only if nothing more can leave over conn.
func (j *job) ship(ctx context.Context, conn Conn) error {
	snd := j.snd
	numbers := make([]uint64, len(j.batch.Items))
	for i, item := range j.batch.Items {
		numbers[i] = item.Number
	}
	records, err := snd.s.link.store.Fetch(ctx, snd.route, j.priority, numbers)
	if err != nil {
		err = fmt.Errorf("fetch %d messages of queue %q: %w", len(numbers), snd.From, err)
		snd.s.end(err)
		return err
	}
	f := j.frame(records)
	if len(f.Items) == 0 {
		return nil
	}
	stream, err := conn.OpenUniStream(ctx)
	if err != nil {
		return err
	}
	// A stream that fails costs its batch, not the connection: the peer may stop reading one, and does so once it has the
	// whole frame. What was not answered is shipped again.
	if _, err := stream.Write(protocol.Append(nil, f)); err != nil {
		stream.Reset()
		return nil
	}
	_ = stream.Close()
	return nil
}

// frame builds the Ship of what may leave. A record that is not there was settled by an answer that came while the batch was
// built, or is damaged; the flow knows which. The lane holds at a message that cannot leave: to ship it would end the session
// of all routes, again and again.
func (j *job) frame(records []spool.Record) *protocol.Ship {
	snd := j.snd
	f := &protocol.Ship{Session: snd.s.id, Route: snd.Name, Queue: snd.To, Stream: j.batch.Stream, Items: make([]protocol.Shipment, 0, len(records))}
	var size int
	for _, r := range records {
		size += len(r.Bytes) + 80
	}
	buf := make([]byte, 0, size)
	for _, item := range j.batch.Items {
		if len(records) == 0 || records[0].Number != item.Number {
			if j.hold(item.Number, protocol.CodeCorrupt, "its record cannot be read here") {
				break
			}
			continue
		}
		r := records[0]
		records = records[1:]
		if text, ok := snd.tooLarge(r.Bytes); ok {
			j.hold(item.Number, protocol.CodeTooLarge, text)
			break
		}
		start := len(buf)
		var err error
		if buf, err = message.AppendOnward(buf, r.Bytes, snd.s.link.o.Agent); err != nil {
			j.hold(item.Number, protocol.CodeCorrupt, err.Error())
			break
		}
		f.Items = append(f.Items, protocol.Shipment{
			Number: item.Number,
			Prev:   item.Prev,
			Age:    r.Age.Truncate(time.Millisecond),
			Record: buf[start:len(buf):len(buf)],
		})
	}
	return f
}

// tooLarge says so of a record whose body is larger than the peer takes: it could not even read the frame.
func (snd *sender) tooLarge(record []byte) (text string, ok bool) {
	limit := snd.s.peer.limits.MaxMessageBytes
	if uint64(len(record)) <= limit {
		return "", false
	}
	m, err := message.ParseFront(record)
	if err != nil || m.BodyBytes <= limit {
		return "", false
	}
	return fmt.Sprintf("a body of %d bytes, the peer takes %d", m.BodyBytes, limit), true
}

// hold refuses a message in the peer's place and reports whether it is still to be shipped at all.
func (j *job) hold(number uint64, code protocol.Code, text string) bool {
	one := message.Range{First: number, Last: number}
	return j.snd.refused(time.Now(), &protocol.Refused{
		Answer: protocol.Answer{Stream: j.batch.Stream}, Scope: protocol.ScopeMessage, Range: one, Code: code, Text: text,
	})
}

// accepted ends what the far side has answered, and hands it to settle.
func (snd *sender) accepted(now time.Time, stream message.StreamID, ranges []protocol.AcceptedRange) {
	plain := make([]message.Range, len(ranges))
	for i, r := range ranges {
		plain[i] = r.Range
	}
	snd.mu.Lock()
	for _, ln := range snd.lanes {
		before := ln.flow.Stats().Answered
		settle := ln.flow.Answered(now, stream, plain)
		snd.settling += ln.flow.Stats().Answered - before
		snd.answered[ln.priority] = append(snd.answered[ln.priority], settle...)
	}
	snd.mu.Unlock()
	notify(snd.settled)
	notify(snd.room)
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
		answered, messages := snd.answered, snd.settling
		snd.answered = make(map[uint8][]message.Range)
		snd.mu.Unlock()
		for priority, ranges := range answered {
			if err := snd.s.link.store.SettleRoute(ctx, snd.route, priority, ranges); err != nil {
				return fmt.Errorf("settle queue %q on route %q: %w", snd.From, snd.Name, err)
			}
		}
		snd.mu.Lock()
		snd.settling -= messages
		snd.mu.Unlock()
		snd.tally.settled.Add(messages)
		snd.s.progressed()
	}
}

// unfinished says that an answer is awaited or waits for its commit. A lane that is held awaits none: what the peer has
// refused it will not answer before it is asked again.
func (snd *sender) unfinished() bool {
	snd.mu.Lock()
	defer snd.mu.Unlock()
	return snd.settling > 0 || slices.ContainsFunc(snd.lanes, func(ln *lane) bool {
		messages, _, _ := ln.flow.Unanswered()
		_, held := ln.flow.Held()
		return messages > 0 && !held
	})
}

// refused holds the route, or holds it at one message, until a probe is answered. It reports whether a lane is held so now.
func (snd *sender) refused(now time.Time, f *protocol.Refused) (held bool) {
	reason := holdReason(f)
	snd.mu.Lock()
	changed := false
	for _, ln := range snd.lanes {
		before, _ := ln.flow.Held()
		if f.Scope == protocol.ScopeMessage {
			ln.flow.Refused(now, f.Stream, f.Range, reason)
		} else {
			ln.flow.Hold(now, reason)
		}
		after, _ := ln.flow.Held()
		changed = changed || after != before
		held = held || after == reason
	}
	snd.mu.Unlock()
	if changed {
		snd.s.link.log.Warn("route held", "route", snd.Name, "queue", snd.From, "to", snd.To, "reason", reason)
	}
	return held
}

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

// holdReason puts a refusal into one line: the stable code, then the peer's words.
func holdReason(f *protocol.Refused) string {
	if f.Scope == protocol.ScopeMessage {
		return fmt.Sprintf("%s: message %d: %s", f.Code, f.Range.First, f.Text)
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Text)
}

// cutHold takes a hold reason apart again.
func cutHold(reason string) (code, text string, ok bool) { return strings.Cut(reason, ": ") }
