package e2e_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"drawbridge/message/history"
)

// killsEach is how often each side is killed.
const killsEach = 5

func TestNothingIsLostOrDoubledWhenEitherSideIsKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := newPair(t)
	p.start()
	roads := []*road{
		{from: p.fra.client, to: p.nyc.client, queue: "orders", seed: rng.Uint64()},
		{from: p.nyc.client, to: p.fra.client, queue: "refunds", seed: rng.Uint64()},
	}
	if err := cross(t.Context(), roads, func(ctx context.Context) error { return p.killBoth(ctx, rng, roads) }); err != nil {
		p.fra.dump()
		p.nyc.dump()
		t.Fatal(err)
	}
	for _, r := range roads {
		found := history.Judge(history.History{Puts: r.puts, Seen: r.seen})
		t.Logf("%s: %d stored, %d calls without an answer, %d redelivered", r.queue, found.Stored, r.unanswered.Load(), found.Redelivered)
		if !found.Clean() || found.Stored == 0 || found.Delivered != found.Stored {
			t.Errorf("%s: %+v", r.queue, found)
		}
	}
}

// killBoth kills one agent or the other, each five times, whenever some more messages have moved on both roads.
func (p *pair) killBoth(ctx context.Context, rng *rand.Rand, roads []*road) error {
	var victims []*host
	for range killsEach {
		victims = append(victims, p.fra, p.nyc)
	}
	rng.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for _, victim := range victims {
		for _, r := range roads {
			more := r.delivered.Load() + 1 + rng.Int64N(200)
			if err := wait(ctx, r.queue+" moves", func() bool { return r.delivered.Load() >= more }); err != nil {
				return err
			}
		}
		// messages move in batches: a moment after one is in the middle of the next
		if err := pause(ctx, time.Duration(rng.Int64N(int64(30*time.Millisecond)))); err != nil {
			return err
		}
		if err := victim.tryKill(); err != nil {
			return err
		}
		if err := pause(ctx, time.Duration(rng.Int64N(int64(200*time.Millisecond)))); err != nil {
			return err
		}
		if err := victim.tryStart(); err != nil {
			return err
		}
	}
	return nil
}

// cross puts and takes on all roads while events happen, then takes what is left.
func cross(ctx context.Context, roads []*road, events func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	taking, enough := context.WithCancel(ctx)
	defer enough()
	over := make(chan struct{})
	for _, r := range roads {
		g.Go(func() error { return r.consume(taking) })
	}
	g.Go(func() error {
		defer enough()
		producing, ctx := errgroup.WithContext(ctx)
		for _, r := range roads {
			for producer := range producers {
				producing.Go(func() error { return r.produce(ctx, producer, over) })
			}
		}
		producing.Go(func() error {
			defer close(over)
			return events(ctx)
		})
		if err := producing.Wait(); err != nil {
			return err
		}
		for _, r := range roads {
			if err := wait(taking, r.queue+" is empty", func() bool { return r.empty(taking) }); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}
