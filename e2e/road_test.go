package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"drawbridge/api"
	"drawbridge/client"
	"drawbridge/message"
	"drawbridge/message/history"
)

const (
	producers = 4
	// ahead is how many messages of a road may be stored and not yet delivered: a kill shall hit a road that is in use.
	ahead = 300
	// callTimeout turns silence into a call without an answer; a killed agent is silent for less.
	callTimeout = 5 * time.Second
)

// road is a queue on one host whose messages are taken from the queue of the same name on the other.
type road struct {
	from, to *client.Client
	queue    string
	seed     uint64

	stored, delivered, unanswered atomic.Int64

	mu   sync.Mutex // guards puts
	puts []history.Put
	// seen belongs to the consumer until it has returned.
	seen []history.Sight
}

// produce puts one message after the other until over is closed. A message that was begun is stored first.
func (r *road) produce(ctx context.Context, producer int, over <-chan struct{}) error {
	rng := rand.New(rand.NewPCG(r.seed, uint64(producer)))
	for turn := 0; ; turn++ {
		room := func() bool { return r.stored.Load()-r.delivered.Load() < ahead || closed(over) }
		if err := wait(ctx, r.queue+" has room", room); err != nil {
			return err
		}
		if closed(over) {
			return nil
		}
		body := fmt.Appendf(nil, "%s %d %d %0*d", r.queue, producer, turn, rng.IntN(3000), rng.Uint64())
		put := history.Put{ID: message.NewID(), Producer: producer, Turn: turn, Sum: history.SumOf(body), BeganAt: time.Now()}
		if err := r.store(ctx, put.ID, body); err != nil {
			return err
		}
		put.Heard = history.Stored
		r.mu.Lock()
		r.puts = append(r.puts, put)
		r.mu.Unlock()
		r.stored.Add(1)
	}
}

// store repeats a put with the same id until it is answered.
func (r *road) store(ctx context.Context, id string, body []byte) error {
	for {
		call, end := context.WithTimeout(ctx, callTimeout)
		_, err := r.from.Put(call, r.queue, client.Message{ID: id, Body: body})
		end()
		if err == nil {
			return nil
		}
		var answer *client.Error
		if errors.As(err, &answer) && answer.Status/100 == 4 && answer.Status != http.StatusTooManyRequests {
			return err // no repetition can change that
		}
		r.unanswered.Add(1)
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// consume takes and acks until ctx ends. One call after the other: what it saw is in the order in which it happened.
func (r *road) consume(ctx context.Context) error {
	known := make(map[string]bool)
	for ctx.Err() == nil {
		if err := r.take(ctx, known); err != nil {
			r.unanswered.Add(1)
			_ = pause(ctx, pollEvery)
		}
	}
	return nil
}

// take leases once and acks what it got. An ack without an answer is not repeated: whether it counted shows in what comes.
func (r *road) take(ctx context.Context, known map[string]bool) error {
	ctx, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	deliveries, err := r.to.Lease(ctx, r.queue, client.Lease{Max: 50, Wait: 200 * time.Millisecond})
	if err != nil || len(deliveries) == 0 {
		return err
	}
	receipts := make([]string, len(deliveries))
	for i, d := range deliveries {
		receipts[i] = d.Receipt
		r.seen = append(r.seen, history.Sight{ID: d.ID, Sequence: d.Sequence, Attempt: d.Deliveries, Sum: history.SumOf(d.Body), At: time.Now()})
		if !known[d.ID] {
			known[d.ID] = true
			r.delivered.Add(1)
		}
	}
	results, err := r.to.Ack(ctx, receipts...)
	if err != nil {
		return err
	}
	for i, d := range deliveries {
		if results[i].Verdict == api.Acked {
			r.seen = append(r.seen, history.Sight{ID: d.ID, Sequence: d.Sequence, Acked: true})
		}
	}
	return nil
}

// empty reports whether neither host holds a message of the road. The hosts' own counts only say when to stop looking.
func (r *road) empty(ctx context.Context) bool {
	for _, c := range []*client.Client{r.from, r.to} {
		if q, err := c.Queue(ctx, r.queue); err != nil || q.Messages > 0 {
			return false
		}
	}
	return true
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// moveGrace is how long nothing may move: a restart, a lease of a dead consumer and a dial are far shorter.
const moveGrace = 30 * time.Second

// wait polls until done says so; it takes an error for goroutines that cannot end the test.
func wait(ctx context.Context, what string, done func() bool) error {
	for deadline := time.Now().Add(moveGrace); !done(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s in vain until %s", moveGrace, what)
		}
		if err := pause(ctx, pollEvery/2); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
