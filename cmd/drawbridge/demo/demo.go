// Package demo shows that nothing is lost: two agents, each a process of its own, carry messages over a road that loses
// packets and goes down, are killed on the way, and a judge who knows only what the producers heard and the consumer saw
// says what came of it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"
)

// Options are the settings of a demo. Begin with Defaults.
type Options struct {
	// Executable is the program that is run as `Executable run --config FILE`. Default: this program.
	Executable string
	// Input is the file whose lines are sent. Default: a sample that is part of the program.
	Input string
	// Messages is how many are sent, at least LeastMessages.
	Messages int
	// Loss is the share of packets that the road loses each way, from 0 to below 1.
	Loss float64
	// Seed decides which packets.
	Seed uint64
	// Keep leaves both agents running in the end, and says what to try with them.
	Keep bool
	// Dir holds what the agents store, and is left in place. Default: a temporary directory, removed in the end unless Keep.
	Dir string
}

// LeastMessages is the shortest demo whose events find traffic to disturb.
const LeastMessages = 1000

// ErrOptions is wrapped by errors of options out of bounds.
var ErrOptions = errors.New("out of bounds")

// Defaults returns the settings of a demo that was given none.
func Defaults() Options { return Options{Messages: 20_000, Loss: 0.05, Seed: 1} }

func (o *Options) complete() (err error) {
	switch {
	case o.Messages < LeastMessages:
		return fmt.Errorf("%d messages: %w, want at least %d", o.Messages, ErrOptions, LeastMessages)
	case !(o.Loss >= 0 && o.Loss < 1):
		return fmt.Errorf("loss %v: %w, want a share from 0 to below 1", o.Loss, ErrOptions)
	case o.Executable != "":
		return nil
	}
	if o.Executable, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return nil
}

// roadDelay is how long a packet takes each way: as between two towns.
const roadDelay = 3 * time.Millisecond

// Run runs the demo, says on progress how it gets on, and returns the verdict. An error means that there is none,
// or that what should be kept or removed in the end is not. The agents have ended when Run returns, unless Keep leaves them
// running.
func Run(ctx context.Context, o Options, progress io.Writer) (_ Verdict, err error) {
	if err := o.complete(); err != nil {
		return Verdict{}, err
	}
	in, err := openInput(o.Input)
	if err != nil {
		return Verdict{}, err
	}
	crossing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p, err := newPair(o, fail)
	if err != nil {
		return Verdict{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	relay, closeRoad, err := p.openRoad(ctx, o, fail)
	if err != nil {
		return Verdict{}, err
	}
	defer closeRoad()
	d := newDisplay(progress)
	d.say("agents A and B and the road between them, which loses %.3g %% of the packets, are in %s", 100*o.Loss, p.dir)
	if err := p.start(crossing, relay.Addr()); err != nil {
		return Verdict{}, err
	}
	c := &Crossing{
		A: p.a, B: p.b, Relay: relay,
		Messages: o.Messages, Producers: 32, Ahead: o.Messages / 10,
		Outage: 1500 * time.Millisecond, LongOutage: 4 * time.Second, Patience: 20 * time.Second,
	}
	v, err := c.Run(crossing, in.body, progress)
	if err != nil {
		return Verdict{}, err
	}
	if o.Keep {
		return v, p.keep(ctx, progress)
	}
	if err := p.stop(); err != nil {
		v.Missed = append(v.Missed, "orderly end: "+err.Error())
	}
	return v, nil
}

// openRoad opens the relay that leads to B, and carries packets until the road is closed, also while the agents stop after the
// end of ctx. fail is told if it breaks.
func (p *pair) openRoad(ctx context.Context, o Options, fail func(error)) (_ *Relay, closeRoad func(), err error) {
	target, err := netip.ParseAddrPort(p.b.side.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("address of agent B: %w", err)
	}
	relay, err := NewRelay(RelayOptions{Target: target, Loss: o.Loss, Delay: roadDelay, Seed: o.Seed})
	if err != nil {
		return nil, nil, err
	}
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if err := relay.Run(open); err != nil {
			fail(err)
		}
	}()
	return relay, func() { shut(); <-gone }, nil
}
