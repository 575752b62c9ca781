package memory

import (
	"context"
	"fmt"
	"maps"

	"drawbridge/message"
)

// closed is the numbers that were closed, each with the reason of its Close.
type closed map[frontierKey]map[uint64]message.Reason

func (c closed) note(key frontierKey, number uint64, reason message.Reason) {
	if c[key] == nil {
		c[key] = make(map[uint64]message.Reason)
	}
	c[key][number] = reason
}

// Floor implements spool.Incoming.
func (s *Store) Floor(ctx context.Context, stream message.StreamID, queue string, floor uint64) error {
	err := s.change(ctx, func(int64) {
		key := frontierKey{stream, queue}
		maps.DeleteFunc(s.numbers[key], func(number uint64, _ message.Reason) bool { return number < floor })
		if len(s.numbers[key]) == 0 {
			delete(s.numbers, key)
		}
	})
	if err != nil {
		return fmt.Errorf("forget what was closed below %d of stream %s in queue %q: %w", floor, stream, queue, err)
	}
	return nil
}
