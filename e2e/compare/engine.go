package main

import (
	"context"
	"fmt"
)

// queueName is the one queue in which everything is measured.
const queueName = "orders"

// engine is a durable queue. What changes something returns after it is durable; all is safe for concurrent use.
type engine interface {
	// Put stores items at the tail. It returns how many are new: the others' ids were stored before, acked or not.
	Put(ctx context.Context, items []item) (stored int, err error)
	// Lease hands out up to most items, the oldest first, and counts the delivery.
	Lease(ctx context.Context, most int) ([]delivery, error)
	// Ack ends deliveries for good. It fails unless each of the leases still runs.
	Ack(ctx context.Context, deliveries []delivery) error
	// Each calls f with all that is live, in order.
	Each(ctx context.Context, f func(item)) error
	// Commits counts transactions since the engine was opened.
	Commits() uint64
	Close() error
}

type item struct {
	id   string
	body []byte
}

type delivery struct {
	item
	receipt string
	// attempt is 1 for the first.
	attempt uint32
}

// contender is an engine that is measured.
type contender struct {
	name string
	open func(dir string) (engine, error)
	// share divides the messages of a put: an engine that syncs for each would take minutes over all of them.
	share int
}

// contenders are all that are compared; the others' ratios are to the first.
func contenders() []contender {
	return []contender{
		{"drawbridge", openBolt, 1},
		{"sqlite, group commit", openGrouped, 1},
		{"sqlite, plain", openPlain, 10},
	}
}

// choose returns the contender of that name, or all if it is empty.
func choose(name string) ([]contender, error) {
	all := contenders()
	if name == "" {
		return all, nil
	}
	for _, c := range all {
		if c.name == name {
			return []contender{c}, nil
		}
	}
	return nil, fmt.Errorf("no engine %q", name)
}
