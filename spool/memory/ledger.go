package memory

import (
	"context"
	"fmt"
	"time"

	"drawbridge/dedupe"
	"drawbridge/spool"
)

// idBytes is about what an id costs: what is known of it, and its slots in map and list.
const idBytes = 200

// ledger remembers the ids of what was stored, for its window and as long as the message is here.
type ledger struct {
	byKey map[dedupe.Key]*known
	// promised are the ids that came into queues which go by ids (spool.QueueOptions.ByIDs), open is the others.
	open, promised shelf

	least   int64               // milliseconds that the options ask for
	windows map[announced]int64 // what peers have announced
}

// shelf is ids that are kept for the same window.
type shelf struct {
	byAge  []*known // oldest first
	window int64    // milliseconds
	// gone is when the newest id that was forgotten was remembered, in spool time; 0 if none was.
	gone int64
}

// announced names a window: a peer and the queue here that it sends to.
type announced struct{ peer, queue string }

// known is what is remembered of one message.
type known struct {
	dedupe.Entry
	message *entry
	at      int64
}

func newLedger() *ledger {
	return &ledger{byKey: make(map[dedupe.Key]*known), windows: make(map[announced]int64)}
}

// find returns nil for what is not remembered.
func (l *ledger) find(key dedupe.Key) *known { return l.byKey[key] }

func (l *ledger) remember(e dedupe.Entry, m *entry, promised bool, now int64) *known {
	k := &known{e, m, now}
	l.byKey[e.Key] = k
	s := &l.open
	if promised {
		s = &l.promised
	}
	s.byAge = append(s.byAge, k)
	return k
}

// prune forgets what is past the window, but for messages that are still here: they are remembered for another window.
func (l *ledger) prune(now int64) {
	for _, s := range []*shelf{&l.open, &l.promised} {
		n := 0
		for n < len(s.byAge) && now-s.byAge[n].at > s.window {
			k := s.byAge[n]
			s.byAge[n] = nil
			n++
			s.gone = max(s.gone, k.at)
			if !k.message.settled {
				k.at = now
				s.byAge = append(s.byAge, k)
			} else if l.byKey[k.Key] == k { // and not one that died again since
				delete(l.byKey, k.Key)
			}
		}
		s.byAge = s.byAge[n:]
	}
}

// reach is for how long back, in milliseconds, every id is known. The window is as far as anybody may count on it.
func (s *shelf) reach(gone, now int64) int64 {
	if gone == 0 {
		return s.window
	}
	return min(s.window, max(0, now-gone))
}

// reachOf is the reach of the ids of one queue. A queue goes by ids since the store was opened; what came before is as far
// back as the open ids reach.
func (l *ledger) reachOf(q *queue, now int64) int64 {
	if q.byIDs {
		return l.promised.reach(max(l.promised.gone, min(l.open.gone, opening)), now)
	}
	return l.open.reach(l.open.gone, now)
}

// widen makes each window the longest that anybody asks for. What is promised is known for as long as the rest at least.
func (s *Store) widen() {
	l := s.ledger
	l.open.window, l.promised.window = l.least, 0
	for a, ms := range l.windows {
		if s.options.Queues[a.queue].ByIDs {
			l.promised.window = max(l.promised.window, ms)
		} else {
			l.open.window = max(l.open.window, ms)
		}
	}
	l.promised.window = max(l.promised.window, l.open.window)
}

// Remember implements spool.Incoming.
func (s *Store) Remember(ctx context.Context, peer, queue string, window time.Duration) error {
	err := s.change(ctx, func(int64) {
		s.ledger.windows[announced{peer, queue}] = window.Milliseconds()
		s.widen()
	})
	if err != nil {
		return fmt.Errorf("remember queue %q for %s: %w", queue, window, err)
	}
	return nil
}

// LedgerStats implements spool.Ledger. MemoryBytes is an estimate.
func (s *Store) LedgerStats() spool.LedgerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledger
	ids := uint64(len(l.open.byAge) + len(l.promised.byAge))
	return spool.LedgerStats{
		IDs:             ids,
		PromisedIDs:     uint64(len(l.promised.byAge)),
		MemoryBytes:     ids * idBytes,
		Window:          duration(l.open.window),
		EffectiveWindow: duration(l.open.reach(l.open.gone, s.now())),

		PromisedWindow:    duration(l.promised.window),
		PromisedEffective: duration(l.promised.reach(max(l.promised.gone, min(l.open.gone, opening)), s.now())),
	}
}

// AcceptTime implements spool.Ledger. Spool time begins anew with each opening, so it never jumps.
func (s *Store) AcceptTime(ctx context.Context) error {
	return s.change(ctx, func(int64) {})
}
