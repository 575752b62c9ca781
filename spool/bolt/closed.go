package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"drawbridge/message"
)

// closedKey names a number that was closed.
type closedKey struct {
	frontierKey
	number uint64
}

// prefix is what the keys of a stream and queue begin with. No queue's name holds a zero byte, so none is a prefix of another's.
func (k frontierKey) prefix() []byte { return append(k.bytes(), 0) }

func (k closedKey) bytes() []byte { return binary.BigEndian.AppendUint64(k.prefix(), k.number) }

// wasClosed returns why a number was closed, by this commit or an earlier one.
func (t *txn) wasClosed(k closedKey) (message.Reason, bool) {
	if reason, ok := t.closed[k]; ok {
		return reason, true
	}
	v := t.tx.Bucket(bucketClosed).Get(k.bytes())
	return message.Reason(v), v != nil
}

func (t *txn) writeClosed() error {
	b := t.tx.Bucket(bucketClosed)
	for k, reason := range t.closed {
		if err := b.Put(k.bytes(), []byte(reason)); err != nil {
			return err
		}
	}
	return nil
}

// Floor implements spool.Incoming.
func (s *Store) Floor(ctx context.Context, stream message.StreamID, queue string, floor uint64) error {
	prefix := frontierKey{stream, queue}.prefix()
	err := s.commit(ctx, 0, func(t *txn) error {
		b := t.tx.Bucket(bucketClosed)
		var below [][]byte
		c := b.Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix) && binary.BigEndian.Uint64(k[len(prefix):]) < floor; k, _ = c.Next() {
			below = append(below, slices.Clone(k))
		}
		for k := range t.closed {
			if k.stream == stream && k.queue == queue && k.number < floor {
				delete(t.closed, k)
			}
		}
		for _, k := range below {
			t.changed = true
			if err := b.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget what was closed below %d of stream %s in queue %q: %w", floor, stream, queue, err)
	}
	return nil
}
