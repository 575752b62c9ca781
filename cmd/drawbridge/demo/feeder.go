package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"drawbridge/message"
	"drawbridge/message/history"

	"golang.org/x/sync/errgroup"
)

// feeder puts the messages at A, as a number of producers that each put one after the other. A producer that gets no answer
// repeats the call with the same id until it hears that the message is stored.
type feeder struct {
	agent     Agent
	tally     *tally
	producers int
	// puts is made before the first call; each entry belongs to its producer until Run has returned.
	puts []history.Put
	body func(n int) []byte

	// ahead is how many messages may be stored and not delivered.
	ahead atomic.Int64
	// calls is how many puts are in progress.
	calls atomic.Int64

	mu sync.Mutex
	// unanswered are the calls that got no answer.
	unanswered []span
}

// span is when a call began and ended.
type span struct{ began, ended time.Time }

const (
	// callTimeout turns silence into an unanswered call.
	callTimeout = 10 * time.Second
	// retryPause keeps a producer or consumer from spinning while an agent restarts.
	retryPause = 20 * time.Millisecond
)

func newFeeder(c *Crossing, body func(n int) []byte, t *tally) *feeder {
	f := &feeder{agent: c.A, tally: t, producers: c.Producers, puts: make([]history.Put, c.Messages), body: body}
	for n := range f.puts {
		// the id is minted before the first try: a retry with another id would be another message
		f.puts[n] = history.Put{ID: message.NewID(), Producer: n % c.Producers, Turn: n / c.Producers, Sum: history.SumOf(body(n))}
	}
	f.ahead.Store(int64(c.Ahead))
	return f
}

// Run returns when every message is stored, when ctx ends, or at an answer that no retry can change.
func (f *feeder) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for producer := range f.producers {
		g.Go(func() error {
			for n := producer; n < len(f.puts); n += f.producers {
				if err := f.store(ctx, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// Puts returns what the producers know. It may be called once Run has returned.
func (f *feeder) Puts() []history.Put { return f.puts }

// store puts message n until it is stored.
func (f *feeder) store(ctx context.Context, n int) error {
	enough := func(stored, delivered int) bool { return int64(stored-delivered) < f.ahead.Load() }
	if err := f.tally.wait(ctx, enough); err != nil {
		return err
	}
	p, body := &f.puts[n], f.body(n)
	p.BeganAt = time.Now()
	for {
		err := f.call(ctx, p.ID, body)
		if err == nil {
			p.Heard = history.Stored
			f.tally.add(1, 0)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, ErrFinal) {
			return fmt.Errorf("put message %d: %w", n, err)
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// call makes one call and remembers it if it gets no answer.
func (f *feeder) call(ctx context.Context, id string, body []byte) error {
	ctx, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	began := time.Now()
	f.calls.Add(1)
	err := f.agent.Put(ctx, id, body)
	f.calls.Add(-1)
	if err != nil {
		f.mu.Lock()
		f.unanswered = append(f.unanswered, span{began, time.Now()})
		f.mu.Unlock()
	}
	return err
}

// cutOff counts the calls that were in progress at the given moment and got no answer, as far as they have ended.
func (f *feeder) cutOff(at time.Time) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.unanswered {
		if call.began.Before(at) && call.ended.After(at) {
			n++
		}
	}
	return n
}

// setAhead lets the producers run further ahead of the consumer, or less far.
func (f *feeder) setAhead(n int) {
	f.ahead.Store(int64(n))
	f.tally.wake()
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
