package split

import (
	"context"
	"errors"

	"drawbridge/spool"
)

// Settle implements spool.Local. A receipt does not say where its queue lies, but each engine knows its own: what the durable
// one never handed out is shown to the other.
func (s *Store) Settle(ctx context.Context, settlements []spool.Settlement) ([]spool.Settled, error) {
	results, err := s.Store.Settle(ctx, settlements)
	if err != nil {
		return nil, err
	}
	var others []spool.Settlement
	var places []int
	for i := range results {
		if errors.Is(results[i].Err, spool.ErrBadReceipt) {
			others, places = append(others, settlements[i]), append(places, i)
		}
	}
	if len(others) == 0 {
		return results, nil
	}
	settled, err := s.volatile.Settle(ctx, others)
	if err != nil {
		return nil, afterCommit(err, len(others) < len(settlements))
	}
	for i, place := range places {
		results[place] = settled[i]
	}
	return results, nil
}

// Ack implements spool.Local.
func (s *Store) Ack(ctx context.Context, receipts []spool.Receipt) ([]error, error) {
	return spool.AckWith(ctx, receipts, s.Settle)
}
