package bolt

import (
	"drawbridge/spool"
)

// snapshot is what readers see of the memory as of one commit. It never changes.
type snapshot struct {
	identity  spool.Identity
	frontiers *frontiers
	position  map[string]int
	queues    []queueView // sorted by name
	ledger    spool.LedgerStats
	gone      int64
	// promisedGone is to what is promised what gone is to the rest.
	promisedGone int64
}

// queueView is one queue in a snapshot.
type queueView struct {
	stats  spool.QueueStats
	counts counts
	live   [lanes]uint64
	lowest [lanes]uint64 // first sequence of the oldest group, or the next one to be given
	marks  marks
	// oldest is when the oldest live message came, in spool time; 0 if there is none.
	oldest int64
}

func (v *snapshot) queue(name string) *queueView {
	if i, ok := v.position[name]; ok {
		return &v.queues[i]
	}
	return nil
}

func (v *snapshot) counts(name string) counts {
	if q := v.queue(name); q != nil {
		return q.counts
	}
	return counts{}
}

// publish lets readers see the memory as it is now.
func (s *Store) publish() {
	m := s.memory
	v := &snapshot{
		identity:  m.identity,
		frontiers: m.frontiers,
		position:  m.position,
		queues:    make([]queueView, len(m.names)),
		ledger:    m.open.stats(),
		gone:      m.open.gone,
	}
	promised := m.promised.stats()
	v.ledger.IDs += promised.IDs
	v.ledger.MemoryBytes += promised.MemoryBytes
	v.ledger.DiskBytes += promised.DiskBytes
	v.ledger.ForgottenEarly += promised.ForgottenEarly
	v.ledger.PromisedIDs, v.ledger.PromisedWindow = promised.IDs, promised.Window
	v.promisedGone = m.promisedGone()
	v.ledger.Jump = duration(m.jump)
	for i, name := range m.names {
		m.queues[name].look(&v.queues[i])
	}
	s.view.Store(v)
}

func (q *queue) look(v *queueView) {
	v.counts, v.live, v.marks = q.counts, q.live, q.marks
	for i := range q.lanes {
		v.lowest[i] = q.next
		if h := q.lanes[i].head; h.ok {
			v.lowest[i] = h.first
			if v.oldest == 0 || h.at < v.oldest {
				v.oldest = h.at
			}
		}
	}
	v.stats = spool.QueueStats{
		Name:       q.name,
		Messages:   q.messages(),
		Bytes:      q.bytes,
		Leased:     q.leased,
		Waiting:    q.waiting,
		InDoubt:    q.inDoubt,
		Stored:     q.counts.stored,
		Duplicates: q.counts.duplicates,
		Acked:      q.counts.acked,
		Settled:    q.counts.settled,
		Accepted:   q.counts.accepted,
		Buried:     q.counts.buried,
		Requeued:   q.counts.requeued,
		Purged:     q.counts.purged,
		Route:      q.options.Route,
	}
}

// Stats implements spool.Store.
func (s *Store) Stats() []spool.QueueStats {
	v := s.view.Load()
	now := s.clock.now()
	stats := make([]spool.QueueStats, 0, len(v.queues))
	for i := range v.queues {
		st := v.queues[i].stats
		if spool.IsDead(st.Name) && st.Messages == 0 {
			continue
		}
		if at := v.queues[i].oldest; at != 0 {
			st.OldestAge = duration(max(0, now-at))
		}
		stats = append(stats, st)
	}
	return stats
}

func (l *ledger) stats() spool.LedgerStats {
	return spool.LedgerStats{
		IDs:            l.ids,
		MemoryBytes:    uint64(l.index.Bytes()),
		DiskBytes:      l.bytes,
		Window:         duration(l.window),
		ForgottenEarly: l.early,
	}
}

// LedgerStats implements spool.Ledger.
func (s *Store) LedgerStats() spool.LedgerStats {
	v := s.view.Load()
	stats := v.ledger
	certain := s.clock.now() - stats.Jump.Milliseconds()
	stats.EffectiveWindow = duration(reach(stats.Window.Milliseconds(), v.gone, certain))
	stats.PromisedEffective = duration(reach(stats.PromisedWindow.Milliseconds(), v.promisedGone, certain))
	return stats
}

// Identity implements spool.Store.
func (s *Store) Identity() spool.Identity { return s.view.Load().identity }

// Commits counts the transactions that were committed since the store was opened.
func (s *Store) Commits() uint64 { return s.commits.Load() }
