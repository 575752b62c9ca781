package split_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"drawbridge/spool"
	"drawbridge/spool/bolt"
	"drawbridge/spool/memory"
	"drawbridge/spool/split"
	"drawbridge/spool/spooltest"
)

// The durable queues of a split store are as good as those of their engine alone.
func TestConformanceOfDurableQueues(t *testing.T) {
	spooltest.Run(t, spooltest.Engine{
		Open: func(dir string, o spooltest.Options) (spool.Store, error) {
			durable, err := bolt.Open(dir, bolt.Options{Agent: o.Agent, Queues: o.Queues, Now: o.Now})
			if err != nil {
				return nil, err
			}
			volatile, err := memory.Open(memory.Options{Agent: o.Agent, Now: o.Now})
			if err != nil {
				return nil, errors.Join(err, durable.Close())
			}
			return split.New(durable, volatile, nil), nil
		},
	})
}

// parted is a store with a durable queue, orders, and a volatile one, cache.
type parted struct {
	*split.Store
	t        *testing.T
	volatile *failing
}

// failing is an engine whose changes fail when they are told to.
type failing struct {
	spool.Store
	err    error
	failed chan struct{}
}

func (f *failing) Put(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Store.Put(ctx, puts)
}

func (f *failing) Settle(ctx context.Context, settlements []spool.Settlement) ([]spool.Settled, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Store.Settle(ctx, settlements)
}

func (f *failing) Failed() <-chan struct{} { return f.failed }

func (f *failing) Err() error { return f.err }

func open(t *testing.T, dir string) *parted {
	t.Helper()
	durable, err := bolt.Open(dir, bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"orders": {}}})
	if err != nil {
		t.Fatal(err)
	}
	volatile, err := memory.Open(memory.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"cache": {}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &parted{t: t, volatile: &failing{Store: volatile, failed: make(chan struct{})}}
	p.Store = split.New(durable, p.volatile, []string{"cache"})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// put stores messages named queue:id in one call and returns their statuses.
func (p *parted) put(names ...[2]string) (statuses []spool.PutStatus) {
	p.t.Helper()
	puts := make([]spool.Put, len(names))
	for i, n := range names {
		puts[i] = spool.Put{Queue: n[0], ID: n[1], Body: []byte(n[1])}
	}
	results, err := p.Put(context.Background(), puts)
	if err != nil {
		p.t.Fatal(err)
	}
	for i, r := range results {
		if r.ID != names[i][1] {
			p.t.Errorf("result %d is that of %s, want %s", i, r.ID, names[i][1])
		}
		statuses = append(statuses, r.Status)
	}
	return statuses
}

func (p *parted) lease(queue string) spool.Delivery {
	p.t.Helper()
	d, err := p.Lease(context.Background(), spool.LeaseRequest{Queue: queue})
	if err != nil || len(d) != 1 {
		p.t.Fatalf("lease from %s: %v, %v", queue, d, err)
	}
	return d[0]
}

// held writes each queue with what it holds.
func (p *parted) held() (held []string) {
	for _, q := range p.Stats() {
		held = append(held, fmt.Sprint(q.Name, " ", q.Messages))
	}
	return held
}

func (p *parted) requireHeld(want ...string) {
	p.t.Helper()
	if got := p.held(); !slices.Equal(got, want) {
		p.t.Fatalf("queues hold %v, want %v", got, want)
	}
}

func TestABatchOverBothEnginesIsAnsweredInOrder(t *testing.T) {
	p := open(t, t.TempDir())
	p.put([2]string{"cache", "c-2"})
	got := p.put([2]string{"orders", "o-1"}, [2]string{"cache", "c-1"}, [2]string{"nowhere", "n-1"}, [2]string{"cache", "c-2"}, [2]string{"orders", "o-2"})
	if want := []spool.PutStatus{spool.Stored, spool.Stored, spool.Rejected, spool.Duplicate, spool.Stored}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.requireHeld("cache 2", "orders 2")
}

func TestOnlyDurableQueuesOutliveTheStore(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	p.put([2]string{"orders", "o-1"}, [2]string{"cache", "c-1"})
	id := p.Identity().Spool
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = open(t, dir)
	p.requireHeld("cache 0", "orders 1")
	if p.Identity().Spool != id {
		t.Error("the spool has another id after it was opened again")
	}
}

func TestReceiptsOfBothEnginesAreSettledInOneCall(t *testing.T) {
	p := open(t, t.TempDir())
	p.put([2]string{"orders", "o-1"}, [2]string{"cache", "c-1"})
	orders, cache := p.lease("orders"), p.lease("cache")
	receipts := []spool.Receipt{cache.Receipt, "o-1", orders.Receipt}
	for _, settled := range []error{nil, spool.ErrAlreadySettled} {
		answers, err := p.Ack(context.Background(), receipts)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{settled, spool.ErrBadReceipt, settled} {
			if !errors.Is(answers[i], want) {
				t.Errorf("receipt %d: %v, want %v", i, answers[i], want)
			}
		}
	}
	p.requireHeld("cache 0", "orders 0")
}

func TestDeadLettersStayInTheEngineOfTheirQueue(t *testing.T) {
	p := open(t, t.TempDir())
	p.put([2]string{"cache", "c-1"})
	settled, err := p.Settle(context.Background(), []spool.Settlement{{Receipt: p.lease("cache").Receipt, Act: spool.Bury}})
	if err != nil || !settled[0].Died {
		t.Fatalf("bury: %+v, %v", settled, err)
	}
	p.requireHeld("cache 0", "cache.dead 1", "orders 0")
	dead, err := p.Peek(context.Background(), "cache.dead", 0, 10)
	if err != nil || len(dead) != 1 {
		t.Fatalf("dead letters: %v, %v", dead, err)
	}
	errs, err := p.Requeue(context.Background(), "cache", []uint64{dead[0].Sequence})
	if err != nil || errs[0] != nil {
		t.Fatalf("requeue: %v, %v", errs, err)
	}
	p.requireHeld("cache 1", "orders 0")
}

func TestAVolatileQueueIsWatched(t *testing.T) {
	p := open(t, t.TempDir())
	ready, stop := p.Watch("cache")
	defer stop()
	p.put([2]string{"cache", "c-1"})
	select {
	case <-ready:
	default:
		t.Error("nobody was woken")
	}
}

// An error of the second engine, after the first has committed, must not be taken for "nothing was changed".
func TestAnErrorOfOneEngineLeavesAllUnknown(t *testing.T) {
	p := open(t, t.TempDir())
	p.put([2]string{"orders", "o-1"}, [2]string{"cache", "c-1"})
	orders, cache := p.lease("orders").Receipt, p.lease("cache").Receipt
	p.volatile.err = spool.ErrClosed

	_, err := p.Put(context.Background(), []spool.Put{{Queue: "cache", ID: "c-2"}, {Queue: "orders", ID: "o-2", Body: []byte("o-2")}})
	if !errors.Is(err, spool.ErrUnknown) || errors.Is(err, spool.ErrClosed) {
		t.Errorf("put: %v", err)
	}
	_, err = p.Ack(context.Background(), []spool.Receipt{cache, orders})
	if !errors.Is(err, spool.ErrUnknown) || errors.Is(err, spool.ErrClosed) {
		t.Errorf("ack: %v", err)
	}
	if _, err = p.Put(context.Background(), []spool.Put{{Queue: "cache", ID: "c-2"}}); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("put that only the failing engine saw: %v", err)
	}

	p.volatile.err = nil
	got := p.put([2]string{"cache", "c-2"}, [2]string{"orders", "o-2"})
	if want := []spool.PutStatus{spool.Stored, spool.Duplicate}; !slices.Equal(got, want) {
		t.Errorf("repeated: %v, want %v", got, want)
	}
}

func TestOneEngineThatGivesUpIsEnough(t *testing.T) {
	p := open(t, t.TempDir())
	select {
	case <-p.Failed():
		t.Fatal("it gave up before")
	default:
	}
	broken := errors.New("broken")
	p.volatile.err = broken
	close(p.volatile.failed)
	<-p.Failed()
	if !errors.Is(p.Err(), broken) {
		t.Errorf("err: %v", p.Err())
	}
}
