package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message/pack"
)

// windowPrefix stands before the keys of what peers have announced: peer, a slash, queue. Neither name holds a slash.
const windowPrefix = "window/"

func windowKey(peer, queue string) []byte { return []byte(windowPrefix + peer + "/" + queue) }

// Remember implements spool.Incoming. The window is stored because rows are pruned before a peer has said hello again: by
// the default, what a peer may still retry after a restart of this side would be forgotten.
func (s *Store) Remember(ctx context.Context, peer, queue string, window time.Duration) error {
	err := s.commit(ctx, 0, func(t *txn) error {
		key, ms := windowKey(peer, queue), window.Milliseconds()
		l := t.mem.ledger
		if l.windows[string(key)] == ms {
			return nil
		}
		l.windows[string(key)] = ms
		l.widen()
		t.changed = true
		return t.tx.Bucket(bucketMeta).Put(key, binary.BigEndian.AppendUint64(nil, uint64(ms)))
	})
	if err != nil {
		return fmt.Errorf("remember queue %q for %s: %w", queue, window, err)
	}
	return nil
}

// readWindows reads what peers have announced in earlier epochs.
func readWindows(meta *bbolt.Bucket) (map[string]int64, error) {
	windows := make(map[string]int64)
	c := meta.Cursor()
	for k, v := c.Seek([]byte(windowPrefix)); bytes.HasPrefix(k, []byte(windowPrefix)); k, v = c.Next() {
		if len(v) != 8 {
			return nil, fmt.Errorf("%s: %w", k, pack.ErrMalformed)
		}
		windows[string(k)] = int64(binary.BigEndian.Uint64(v))
	}
	return windows, nil
}

// widen makes the ledger's window the longest that any queue or peer needs: rows hold the ids of a commit, of whatever queue.
func (l *ledger) widen() {
	l.window = l.least
	for _, ms := range l.windows {
		l.window = max(l.window, ms)
	}
}
