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
	byAge []*known // oldest first
	// gone is when the newest id that was forgotten was remembered, in spool time; 0 if none was.
	gone int64

	window  int64               // milliseconds: the longest of what follows
	least   int64               // what the options ask for
	windows map[announced]int64 // what peers have announced
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

func (l *ledger) remember(e dedupe.Entry, m *entry, now int64) *known {
	k := &known{e, m, now}
	l.byKey[e.Key] = k
	l.byAge = append(l.byAge, k)
	return k
}

// prune forgets what is past the window, but for messages that are still here: they are remembered for another window.
func (l *ledger) prune(now int64) {
	n := 0
	for n < len(l.byAge) && now-l.byAge[n].at > l.window {
		k := l.byAge[n]
		l.byAge[n] = nil
		n++
		l.gone = max(l.gone, k.at)
		if k.message.settled {
			delete(l.byKey, k.Key)
			continue
		}
		k.at = now
		l.byAge = append(l.byAge, k)
	}
	l.byAge = l.byAge[n:]
}

func (l *ledger) widen() {
	l.window = l.least
	for _, ms := range l.windows {
		l.window = max(l.window, ms)
	}
}

// Remember implements spool.Incoming.
func (s *Store) Remember(ctx context.Context, peer, queue string, window time.Duration) error {
	err := s.change(ctx, func(int64) {
		s.ledger.windows[announced{peer, queue}] = window.Milliseconds()
		s.ledger.widen()
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
	effective := l.window
	if l.gone != 0 {
		effective = min(effective, s.now()-l.gone)
	}
	ids := uint64(len(l.byKey))
	return spool.LedgerStats{
		IDs:             ids,
		MemoryBytes:     ids * idBytes,
		Window:          duration(l.window),
		EffectiveWindow: duration(effective),
	}
}

// AcceptTime implements spool.Ledger. Spool time begins anew with each opening, so it never jumps.
func (s *Store) AcceptTime(ctx context.Context) error {
	return s.change(ctx, func(int64) {})
}
