package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// events make the crossing hard: each happens when a share of all messages is delivered. An event that did not hit what it
// is for is missed; the crossing goes on, and fails.
type events struct {
	crossing *Crossing
	tally    *tally
	feeder   *feeder
	say      func(format string, args ...any)

	outages, killsOfA, killsOfB int
	missed                      []string
}

// event is one thing that happens. do returns what it hit; an error that wraps errMissed says what it did not.
type event struct {
	percent int
	name    string
	hits    *int
	do      func(ctx context.Context) (hit string, err error)
}

var errMissed = errors.New("missed")

func missed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMissed, fmt.Sprintf(format, args...))
}

const (
	// hitWithin is how long an event waits for the moment at which it hits.
	hitWithin = 3 * time.Second
	// silence is how long B's answers are kept back before it is killed: enough for messages to arrive that A will not hear of,
	// and too short for A to call the link stalled.
	silence = 150 * time.Millisecond
	// readTime is how long producers have to read what an agent had answered before it was frozen.
	readTime = 20 * time.Millisecond
)

func (e *events) schedule() []event {
	c := e.crossing
	return []event{
		{20, fmt.Sprintf("outage of %s", c.Outage), &e.outages, func(ctx context.Context) (string, error) { return e.outage(ctx, c.Outage) }},
		{50, "kill of B", &e.killsOfB, e.killB},
		{65, "kill of A", &e.killsOfA, e.killA},
		{80, fmt.Sprintf("outage of %s", c.LongOutage), &e.outages, func(ctx context.Context) (string, error) { return e.outage(ctx, c.LongOutage) }},
	}
}

// Run lets the events happen one after the other, and returns when the last is over.
func (e *events) Run(ctx context.Context) error {
	for _, event := range e.schedule() {
		due := e.crossing.Messages * event.percent / 100
		if err := e.tally.wait(ctx, func(_, delivered int) bool { return delivered >= due }); err != nil {
			e.miss(event, "the crossing did not come that far")
			return err
		}
		e.say("%d %%: %s", event.percent, event.name)
		hit, err := event.do(ctx)
		switch {
		case errors.Is(err, errMissed):
			e.miss(event, strings.TrimPrefix(err.Error(), errMissed.Error()+": "))
		case err != nil:
			e.miss(event, err.Error())
			return fmt.Errorf("%s: %w", event.name, err)
		default:
			*event.hits++
			e.say("%d %%: %s: %s", event.percent, event.name, hit)
		}
	}
	return nil
}

func (e *events) miss(event event, why string) {
	e.missed = append(e.missed, fmt.Sprintf("%s at %d %%: %s", event.name, event.percent, why))
}

// report writes into v what hit and what did not. Events behind the one that ended the crossing did not hit either.
func (e *events) report(v *Verdict) {
	v.Outages, v.KillsOfA, v.KillsOfB, v.Missed = e.outages, e.killsOfA, e.killsOfB, e.missed
	over := e.outages + e.killsOfA + e.killsOfB + len(e.missed)
	for _, event := range e.schedule()[over:] {
		v.Missed = append(v.Missed, fmt.Sprintf("%s at %d %%: the crossing did not come that far", event.name, event.percent))
	}
}

// outage lets no packet through for a while. It has hit if packets were dropped and messages were waiting for the road.
func (e *events) outage(ctx context.Context, length time.Duration) (string, error) {
	before := e.crossing.Relay.Dropped()
	e.crossing.Relay.Cut(Both)
	err := pause(ctx, length)
	stored, delivered := e.tally.now()
	dropped := e.crossing.Relay.Dropped() - before
	e.crossing.Relay.Heal()
	switch {
	case err != nil:
		return "", err
	case dropped == 0:
		return "", missed("no packet was under way")
	case stored <= delivered:
		return "", missed("no message was waiting")
	}
	return fmt.Sprintf("%d packets dropped, %d messages waiting", dropped, stored-delivered), nil
}

// killB kills B while A waits for its answers. For a moment before, B's answers are kept from A while A's messages pass: so B
// has stored messages that A must ship again to the next B.
func (e *events) killB(ctx context.Context) (string, error) {
	c := e.crossing
	c.Relay.Cut(Back)
	defer c.Relay.Heal()
	if err := pause(ctx, silence); err != nil {
		return "", err
	}
	waiting, end := context.WithTimeout(ctx, hitWithin)
	defer end()
	err := poll(waiting, time.Millisecond, func() (bool, error) {
		unanswered, err := c.A.Unanswered(waiting)
		return err == nil && unanswered > 0, nil
	})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", missed("A waited for no answer")
	}
	killed := c.B.Kill()
	// B is gone and nothing passed on the way back: what A misses now, it missed when B died
	unanswered, err := c.A.Unanswered(ctx)
	c.Relay.Heal()
	if err := c.B.Start(ctx); err != nil {
		return "", err
	}
	switch {
	case killed != nil:
		return "", missed("%v", killed)
	case err != nil:
		return "", missed("A did not say what it waits for: %v", err)
	case unanswered == 0:
		return "", missed("A waited for no answer")
	}
	return fmt.Sprintf("%d messages shipped and not answered", unanswered), nil
}

// killA kills A while producers wait for its answers. They run free for that moment, so that none is held back by the pace;
// and A is frozen before it dies, wherever it is just then, so that on a busy machine too it cannot answer them all in time.
func (e *events) killA(ctx context.Context) (string, error) {
	c := e.crossing
	e.feeder.setAhead(c.Messages)
	defer e.feeder.setAhead(c.Ahead)
	if err := e.waitForPuts(ctx); err != nil {
		return "", err
	}
	if err := c.A.Freeze(); err != nil {
		return "", missed("%v", err)
	}
	// what A had answered is read, and what comes now stays without an answer
	waited := pause(ctx, readTime)
	if waited == nil {
		waited = e.waitForPuts(ctx)
	}
	at := time.Now()
	killed := c.A.Kill()
	if err := c.A.Start(ctx); err != nil {
		return "", err
	}
	cutOff := 0
	ending, end := context.WithTimeout(ctx, hitWithin)
	defer end()
	_ = poll(ending, time.Millisecond, func() (bool, error) { // a call that A's death cut off ends a moment later
		cutOff = e.feeder.cutOff(at)
		return cutOff > 0, nil
	})
	switch {
	case waited != nil:
		return "", waited
	case killed != nil:
		return "", missed("%v", killed)
	case cutOff == 0:
		return "", missed("every put in progress was answered")
	}
	return fmt.Sprintf("%d puts got no answer and are repeated with their ids", cutOff), nil
}

// waitForPuts returns when more than half of the producers are inside a call.
func (e *events) waitForPuts(ctx context.Context) error {
	waiting, end := context.WithTimeout(ctx, hitWithin)
	defer end()
	half := int64(e.crossing.Producers) / 2
	err := poll(waiting, 100*time.Microsecond, func() (bool, error) { return e.feeder.calls.Load() > half, nil })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return missed("too few puts were in progress")
	}
	return nil
}
