package spool

import (
	"context"
	"math"
	"time"
)

// Act is what a consumer does with a delivery.
type Act uint8

const (
	// Ack: the work is done, the message ends for good.
	Ack Act = iota + 1
	// Nack: the work failed. The message comes back in its place after a wait, or becomes a dead letter if it was handed out as
	// often as its queue allows.
	Nack
	// Bury: nobody can do the work. The message becomes a dead letter.
	Bury
	// Extend: the work takes longer. The lease runs anew.
	Extend
)

// Settlement is one delivery and what is to be done with it.
type Settlement struct {
	Receipt Receipt
	Act     Act
	// After is, with Extend, how long the lease shall run from now; 0 means the queue's visibility timeout. With Nack it is how
	// long the message waits; 0 means what the queue's Retry says, less than 0 not at all.
	After time.Duration
	// Text is kept with a message that dies of it.
	Text string
}

// Settled is what became of one Settlement.
type Settled struct {
	// Err is nil, ErrBadReceipt, ErrStaleReceipt or ErrAlreadySettled.
	Err error
	// Left is, after Extend, for how long the lease runs now; after Nack, in how long the message may be handed out again.
	Left time.Duration
	// Died says that the message is a dead letter now.
	Died bool
}

// AckWith is the Ack of an engine whose Settle is given.
func AckWith(ctx context.Context, receipts []Receipt, settle func(context.Context, []Settlement) ([]Settled, error)) ([]error, error) {
	acks := make([]Settlement, len(receipts))
	for i, r := range receipts {
		acks[i] = Settlement{Receipt: r, Act: Ack}
	}
	settled, err := settle(ctx, acks)
	if err != nil {
		return nil, err
	}
	answers := make([]error, len(settled))
	for i := range settled {
		answers[i] = settled[i].Err
	}
	return answers, nil
}

// For how long, and of how many deliveries of a queue at most, it is remembered that they were settled.
const (
	SettledKept = 10 * time.Minute
	SettledMost = 100_000
)

// DefaultMaxDeliveries is how often a message is handed to local consumers before it becomes a dead letter.
const DefaultMaxDeliveries = 5

// UnlimitedDeliveries as MaxDeliveries hands a message out for ever.
const UnlimitedDeliveries = math.MaxUint32

// RetryKind is how the waits after failed deliveries grow.
type RetryKind uint8

const (
	// RetryExponential doubles the wait with each failed delivery. It is the default.
	RetryExponential RetryKind = iota
	// RetryNone does not wait.
	RetryNone
	// RetryFixed waits as long each time.
	RetryFixed
	// RetryLinear waits once, twice, three times as long.
	RetryLinear
)

// Retry is how long a message waits after a Nack. Zero durations mean 1 s, and at most 5 min.
type Retry struct {
	Kind       RetryKind
	First, Max time.Duration
}

// Wait returns how long a message waits that was handed out deliveries times.
func (r Retry) Wait(deliveries uint32) time.Duration {
	first, most := r.First, r.Max
	if first == 0 {
		first = time.Second
	}
	if most == 0 {
		most = max(first, 5*time.Minute)
	}
	switch n := max(deliveries, 1); r.Kind {
	case RetryNone:
		return 0
	case RetryFixed:
		return min(first, most)
	case RetryLinear:
		if n >= uint32(min(most/first, math.MaxInt32)) {
			return most
		}
		return time.Duration(n) * first
	default:
		for ; n > 1 && first < most; n-- {
			first *= 2
		}
		return min(first, most)
	}
}
