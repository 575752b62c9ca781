package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"drawbridge/message/history"
)

// Agent is one of the two agents: what is asked of its API and done to its process. A call that gets no answer returns an
// error; the crossing repeats it.
type Agent interface {
	// Put returns nil once the agent has answered `stored` or `duplicate`. An error that wraps ErrFinal is not to be retried.
	Put(ctx context.Context, id string, body []byte) error
	// Lease returns what is ready, waiting a moment if nothing is. Ack says per receipt whether the delivery is ended.
	Lease(ctx context.Context) ([]Delivery, error)
	Ack(ctx context.Context, receipts []string) ([]bool, error)
	// Held is how many messages are in the agent's queue; Unanswered how many of them it has shipped and got no answer for.
	Held(ctx context.Context) (int, error)
	Unanswered(ctx context.Context) (int, error)
	// Condition is the state of the agent's link in its own words, or why it does not say.
	Condition(ctx context.Context) string
	// Freeze stops the process where it is: it reads and answers nothing until Kill ends it.
	Freeze() error
	// Kill ends the process by SIGKILL and waits for its end; an error says that it did not end by that. Start starts it again
	// and returns when it answers.
	Kill() error
	Start(ctx context.Context) error
}

// ErrFinal is wrapped by answers to a put that a retry cannot change.
var ErrFinal = errors.New("retrying cannot help")

// Delivery is a message that an agent has handed out.
type Delivery struct {
	ID       string
	Sequence uint64
	Attempt  uint32
	Receipt  string
	Body     []byte
}

// Crossing is messages on their way from agent A through a relay to agent B, with what happens to them there.
type Crossing struct {
	A, B  Agent
	Relay *Relay
	// Messages is how many are put, by Producers at the same time; Ahead is how many may be stored and not yet delivered, so
	// that traffic lasts as long as the events do.
	Messages, Producers, Ahead int
	// Outage and LongOutage are how long the two outages last.
	Outage, LongOutage time.Duration
	// Patience is how long nothing may be delivered before the crossing is ended as stuck. It must exceed the long outage.
	Patience time.Duration
}

// errStuck ends a crossing in which nothing moves any more.
var errStuck = errors.New("nothing was delivered")

// Run puts the messages made by body at A, takes them at B, lets the events happen, judges, and says on progress how it gets
// on. An error means that there is no verdict: ctx ended, or an agent could not be used at all.
func (c *Crossing) Run(ctx context.Context, body func(n int) []byte, progress io.Writer) (Verdict, error) {
	d := newDisplay(progress)
	t := &tally{}
	feeder := newFeeder(c, body, t)
	consumer := newConsumer(c.B, t)
	events := &events{crossing: c, tally: t, feeder: feeder, say: d.say}
	shown := d.follow(t, c.Messages, c.Relay)

	g, moving := errgroup.WithContext(ctx)
	taking, enough := context.WithCancel(moving)
	defer enough()
	g.Go(func() error { return consumer.Run(taking) })
	g.Go(func() error { return c.watch(taking, t) })
	g.Go(func() error {
		defer enough()
		puts, putting := errgroup.WithContext(moving)
		puts.Go(func() error { return feeder.Run(putting) })
		puts.Go(func() error { return events.Run(putting) })
		if err := puts.Wait(); err != nil {
			return err
		}
		return c.drain(moving, t)
	})
	err := g.Wait()
	shown()
	if err != nil && !errors.Is(err, errStuck) {
		return Verdict{}, err
	}
	seen := history.History{Puts: feeder.Puts(), Seen: consumer.Seen()}
	v := Verdict{Findings: history.Judge(seen), PacketsDropped: c.Relay.Dropped()}
	events.report(&v)
	v.measure(seen)
	if err != nil {
		v.Stopped = err.Error()
	}
	return v, nil
}

// drain returns when everything is delivered and neither agent holds anything. The agents' own counts only say when to stop
// looking: a copy that is still on its way would be handed out later.
func (c *Crossing) drain(ctx context.Context, t *tally) error {
	if err := t.wait(ctx, func(_, delivered int) bool { return delivered >= c.Messages }); err != nil {
		return err
	}
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		atA, errA := c.A.Held(ctx)
		atB, errB := c.B.Held(ctx)
		return errA == nil && errB == nil && atA == 0 && atB == 0, nil
	})
}

// watch ends the crossing when nothing has moved for too long. What is missing then is the judge's business.
func (c *Crossing) watch(ctx context.Context, t *tally) error {
	_, before := t.now()
	for {
		patience, end := context.WithTimeout(ctx, c.Patience)
		err := t.wait(patience, func(_, delivered int) bool { return delivered > before })
		end()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			_, before = t.now()
		case before >= c.Messages:
			return fmt.Errorf("%w any more, and after %s the queues are not empty", errStuck, c.Patience)
		default:
			return fmt.Errorf("%w for %s; A's link: %s; B's link: %s", errStuck, c.Patience, c.A.Condition(ctx), c.B.Condition(ctx))
		}
	}
}

// poll asks done every so often until it says yes.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if yes, err := done(); yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
