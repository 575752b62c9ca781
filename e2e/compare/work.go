package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"drawbridge/message"
)

const (
	bodyBytes = 1024
	callers   = 64
	batch     = 512
)

// newItems makes messages that differ, of bytes that do not compress.
func newItems(n int) []item {
	random := rand.NewChaCha8([32]byte{1})
	items := make([]item, n)
	for i := range items {
		items[i] = item{message.NewID(), make([]byte, bodyBytes)}
		_, _ = random.Read(items[i].body) // never fails
	}
	return items
}

// putAtOnce stores items from 64 callers, each with one message at a time.
func putAtOnce(ctx context.Context, e engine, items []item) (took time.Duration, err error) {
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for failure.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				if err := putNew(ctx, e, items[i:i+1]); err != nil {
					failure.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	took = time.Since(began)
	if failed := failure.Load(); failed != nil {
		return 0, *failed
	}
	return took, nil
}

func putNew(ctx context.Context, e engine, items []item) error {
	stored, err := e.Put(ctx, items)
	if err == nil && stored != len(items) {
		err = fmt.Errorf("put %d new messages: %d were stored", len(items), stored)
	}
	return err
}

// phases is how long each part of the cycles took.
type phases struct{ put, lease, ack time.Duration }

// cycle puts, leases and acks batch after batch. What is handed out must be what was put, in order and for the first time.
func cycle(ctx context.Context, e engine, items []item) (took phases, err error) {
	for part := range slices.Chunk(items, batch) {
		began := time.Now()
		if err := putNew(ctx, e, part); err != nil {
			return took, err
		}
		put := time.Now()
		given, err := e.Lease(ctx, len(part))
		if err != nil {
			return took, err
		}
		leased := time.Now()
		if err := e.Ack(ctx, given); err != nil {
			return took, err
		}
		took.put += put.Sub(began)
		took.lease += leased.Sub(put)
		took.ack += time.Since(leased)
		if err := checkGiven(given, part); err != nil {
			return took, err
		}
	}
	return took, nil
}

func checkGiven(given []delivery, want []item) error {
	same := slices.EqualFunc(given, want, func(d delivery, it item) bool {
		return d.attempt == 1 && d.id == it.id && slices.Equal(d.body, it.body)
	})
	if !same {
		return fmt.Errorf("%d deliveries are not the %d messages that were put, in order and once each", len(given), len(want))
	}
	return nil
}
