package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message/pack"
	"drawbridge/spool"
)

// windowPrefix stands before the keys of what peers have announced: peer, a slash, queue. Neither name holds a slash.
const windowPrefix = "window/"

func windowKey(peer, queue string) []byte { return []byte(windowPrefix + peer + "/" + queue) }

// windowQueue is the queue of a windowKey.
func windowQueue(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// Remember implements spool.Incoming. The window is stored because rows are pruned before a peer has said hello again: by
// the default, what a peer may still retry after a restart of this side would be forgotten.
func (s *Store) Remember(ctx context.Context, peer, queue string, window time.Duration) error {
	err := s.commit(ctx, 0, func(t *txn) error {
		key, ms := windowKey(peer, queue), window.Milliseconds()
		if t.mem.windows[string(key)] == ms {
			return nil
		}
		t.mem.windows[string(key)] = ms
		s.widen(t.mem)
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
	err := eachMillis(meta, windowPrefix, func(key string, ms int64) { windows[key] = ms })
	return windows, err
}

// widen makes the window of each ledger the longest that any of its queues or their peers needs: rows hold the ids of a commit,
// of whatever queue. What is promised is known for as long as the rest at least.
func (s *Store) widen(m *memory) {
	m.open.window, m.promised.window = 0, 0
	for _, q := range s.options.Queues {
		m.open.window = max(m.open.window, q.Remember.Milliseconds())
	}
	for key, ms := range m.windows {
		if s.options.Queues[windowQueue(key)].ByIDs {
			m.promised.window = max(m.promised.window, ms)
		} else {
			m.open.window = max(m.open.window, ms)
		}
	}
	m.promised.window = max(m.promised.window, m.open.window)
}

// promisePrefix stands before the names of the queues for which ids carry the guarantee; the value is since when.
const promisePrefix = "promise/"

// readPromises reads since when ids carry the guarantee for a queue. For one that does so from this opening on it is noted; for
// one that does no more it is forgotten.
func (s *Store) readPromises(meta *bbolt.Bucket) (map[string]int64, error) {
	since := make(map[string]int64)
	var ended []string
	err := eachMillis(meta, promisePrefix, func(key string, ms int64) {
		if queue := strings.TrimPrefix(key, promisePrefix); s.options.Queues[queue].ByIDs {
			since[queue] = ms
		} else {
			ended = append(ended, key)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, key := range ended {
		if err := meta.Delete([]byte(key)); err != nil {
			return nil, err
		}
	}
	for queue, o := range s.options.Queues {
		if _, known := since[queue]; known || !o.ByIDs {
			continue
		}
		since[queue] = s.clock.now()
		key := []byte(promisePrefix + queue)
		if err := meta.Put(key, binary.BigEndian.AppendUint64(nil, uint64(since[queue]))); err != nil {
			return nil, err
		}
	}
	return since, nil
}

func eachMillis(meta *bbolt.Bucket, prefix string, fn func(key string, ms int64)) error {
	c := meta.Cursor()
	for k, v := c.Seek([]byte(prefix)); bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
		if len(v) != 8 {
			return fmt.Errorf("%s: %w", k, pack.ErrMalformed)
		}
		fn(string(k), int64(binary.BigEndian.Uint64(v)))
	}
	return nil
}

// reachOf is for how long back, in milliseconds, every id of queue is known. Where ids carry the guarantee, those that came
// since are in the promised ledger and those before in the open one.
func (t *txn) reachOf(queue string) int64 {
	m, now := t.mem, t.certain()
	since, byIDs := m.since[queue]
	if !byIDs {
		return m.open.reach(now)
	}
	return reach(m.promised.window, max(m.promised.gone, min(m.open.gone, since)), now)
}

// promisedGone is when the youngest id came that may be unknown to a queue which goes by ids, whichever of them: 0 if none is.
func (m *memory) promisedGone() int64 {
	var latest int64
	for _, since := range m.since {
		latest = max(latest, since)
	}
	return max(m.promised.gone, min(m.open.gone, latest))
}

// certain is spool time without a jump that nobody has accepted: a wall clock that was wrong at a start must not make what was
// forgotten look longer ago than it is.
func (t *txn) certain() int64 { return t.now - t.mem.jump }

// Of a promised id, these bound what it takes in the file: by itself, and its share of a row when it shares none of its runs.
const (
	promiseBytes    = 64
	promiseRowBytes = 96
)

// promiseRoom tells whether another promised id finds room. If none does, what is past its window goes with this commit, so
// that there may be room for the next.
func (t *txn) promiseRoom() bool {
	l, n := t.mem.promised, t.promises+1
	rows := uint64(n/rowIDs + 1)
	if l.bytes+uint64(n)*promiseBytes+rows*promiseRowBytes <= l.maxBytes && l.index.Fits(n) {
		return true
	}
	if t.mem.jump == 0 && l.oldestAt != 0 && t.now-l.oldestAt > l.window {
		t.changed = true
	}
	return false
}

// errLedgerFull says how full.
func (t *txn) errLedgerFull() error {
	l := t.mem.promised
	return fmt.Errorf("%w: it holds %d ids that are promised for %s, in %d of %d bytes on disk and %d in memory", spool.ErrLedgerFull,
		l.ids, duration(l.window), l.bytes, l.maxBytes, l.index.Bytes())
}
