package main

import (
	"context"
	"fmt"

	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// boltQueue is drawbridge's default engine behind the contract that the agent uses.
type boltQueue struct {
	spool.Store
	commits func() uint64
}

func openBolt(dir string) (engine, error) {
	s, err := bolt.Open(dir, bolt.Options{Agent: "fra-1", Queues: map[string]spool.QueueOptions{queueName: {}}})
	if err != nil {
		return nil, err
	}
	return &boltQueue{s, s.Commits}, nil
}

func (q *boltQueue) Put(ctx context.Context, items []item) (stored int, err error) {
	puts := make([]spool.Put, len(items))
	for i, it := range items {
		puts[i] = spool.Put{Queue: queueName, ID: it.id, Body: it.body}
	}
	results, err := q.Store.Put(ctx, puts)
	if err != nil {
		return 0, err
	}
	for _, r := range results {
		switch r.Status {
		case spool.Stored:
			stored++
		case spool.Duplicate:
		default:
			return stored, fmt.Errorf("put %s: status %d: %w", r.ID, r.Status, r.Err)
		}
	}
	return stored, nil
}

func (q *boltQueue) Lease(ctx context.Context, most int) ([]delivery, error) {
	given, err := q.Store.Lease(ctx, spool.LeaseRequest{Queue: queueName, Max: most, Visibility: visibility})
	if err != nil {
		return nil, err
	}
	deliveries := make([]delivery, len(given))
	for i, d := range given {
		deliveries[i] = delivery{item{d.ID, d.Body}, string(d.Receipt), d.Deliveries}
	}
	return deliveries, nil
}

func (q *boltQueue) Ack(ctx context.Context, deliveries []delivery) error {
	receipts := make([]spool.Receipt, len(deliveries))
	for i, d := range deliveries {
		receipts[i] = spool.Receipt(d.receipt)
	}
	results, err := q.Store.Ack(ctx, receipts)
	if err != nil {
		return err
	}
	for i, err := range results {
		if err != nil {
			return fmt.Errorf("ack %s: %w", deliveries[i].id, err)
		}
	}
	return nil
}

func (q *boltQueue) Each(ctx context.Context, f func(item)) error {
	from := uint64(0)
	for {
		found, err := q.Peek(ctx, queueName, from, batch)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, p := range found {
			f(item{p.ID, p.Body})
		}
		from = found[len(found)-1].Sequence + 1
	}
}

func (q *boltQueue) Commits() uint64 { return q.commits() }
