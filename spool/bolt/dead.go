package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// buryBytes bounds the records of one commit of BuryRoute.
const buryBytes = 4 << 20

// corpse is a message on its way to the dead letters.
type corpse struct {
	number uint64
	lane   uint8
	bytes  int // of the record that dies
	staged     // as the dead letter that it becomes
}

// BuryRoute implements spool.Outgoing. It commits after each few megabytes.
func (s *Store) BuryRoute(ctx context.Context, route spool.Route, lane uint8, burials []spool.Burial) error {
	if err := s.known(route.Queue); err != nil {
		return err
	}
	if spool.IsDead(route.Queue) {
		return nil // a dead letter does not die a second time
	}
	var unreadable error
	for len(burials) > 0 {
		corpses, left, err := s.exhume(ctx, route, lane, burials)
		if err != nil && !errors.Is(err, message.ErrCorrupt) {
			return fmt.Errorf("bury messages of queue %q: %w", route.Queue, err)
		}
		unreadable = errors.Join(unreadable, err)
		burials = left
		if err := s.bury(ctx, route, lane, corpses); err != nil {
			return fmt.Errorf("bury %d messages of queue %q: %w", len(corpses), route.Queue, err)
		}
	}
	return unreadable
}

// exhume makes dead letters of the first few burials and returns those that are left. Its error is that of records that cannot
// be read, which are left out, or that of the whole.
func (s *Store) exhume(ctx context.Context, route spool.Route, lane uint8, burials []spool.Burial) (corpses []*corpse, left []spool.Burial, err error) {
	var unreadable error
	at := s.options.Now()
	err = s.readers.read(ctx, func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, route.Queue)
		if err != nil {
			return err
		}
		bytes := 0
		var g *group
		var bl blob
		for len(burials) > 0 && bytes < buryBytes {
			burial := burials[0]
			burials = burials[1:]
			if _, in := bl.index(burial.Number); g == nil || !in {
				if g, bl, err = s.groupAt(b, route.Queue, lane, burial.Number); err != nil {
					return err
				}
			}
			i, in := bl.index(burial.Number)
			if g == nil || !in || g.settled.has(i) {
				continue
			}
			death := message.Death{
				Reason: burial.Reason, Text: burial.Text, Queue: route.Queue, Route: route.Name, At: time.UnixMilli(at.UnixMilli()).UTC(),
			}
			if l := g.leases[i]; l != nil {
				death.Deliveries = l.deliveries
			}
			c, err := s.newCorpse(bl.record(i), burial.Number, lane, death)
			if err != nil {
				s.damage.report(route.Queue, burial.Number, err)
				unreadable = errors.Join(unreadable, fmt.Errorf("message %d of queue %q: %w: %w", burial.Number, route.Queue, message.ErrCorrupt, err))
				continue
			}
			bytes += c.bytes
			corpses = append(corpses, c)
		}
		return nil
	})
	if err == nil {
		err = unreadable
	}
	return corpses, burials, err
}

func (s *Store) newCorpse(record []byte, number uint64, lane uint8, death message.Death) (*corpse, error) {
	dead, m, err := spool.DeadLetter(record, death)
	if err != nil {
		return nil, err
	}
	return &corpse{
		number: number,
		lane:   lane,
		bytes:  len(record),
		staged: staged{
			key:    s.hasher.Key(message.DeadQueue(death.Queue), m.EndToEnd()),
			alias:  s.alias(message.DeadQueue(death.Queue), m.EndToEnd()),
			sum:    m.ContentSum(),
			record: dead,
		},
	}, nil
}

// alias is the key under which puts know a message of a later generation; zero for one of the first.
func (s *Store) alias(queue string, name message.EndToEnd) dedupe.Key {
	if name.Generation == 0 {
		return dedupe.Key{}
	}
	name.Generation = 0
	return s.hasher.Key(queue, name)
}

// bury moves what the route still owns of the corpses.
func (s *Store) bury(ctx context.Context, route spool.Route, lane uint8, corpses []*corpse) error {
	if len(corpses) == 0 {
		return nil
	}
	bytes := 0
	for _, c := range corpses {
		bytes += c.bytes
	}
	return s.commit(ctx, bytes, func(t *txn) error {
		q := t.mem.queues[route.Queue]
		for _, c := range corpses {
			if route.Name == "" || q.marks.owner(lane, c.number) != route.Name {
				continue
			}
			err := t.walk(q, lane, c.number, c.number, func(g *group) error {
				t.die(q, g, c)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// die ends one message and stages what becomes of it. One that was settled meanwhile stays what it is.
func (t *txn) die(q *queue, g *group, c *corpse) {
	if q.settle(t, g, int(c.number-g.first), c.bytes) {
		q.counts.buried++
		t.deathBytes += c.bytes
		t.stage(t.mem.queues[message.DeadQueue(q.name)], c.lane, &c.staged)
	}
}

// findDead returns the ledger's entry of a message that lies among the dead letters of q, nil if it does not.
func (t *txn) findDead(q *queue, name message.EndToEnd) *dedupe.Entry {
	dead := t.mem.queues[message.DeadQueue(q.name)]
	if dead == nil {
		return nil
	}
	staged := t.stagingOf(dead) != nil
	if dead.messages() == 0 && !staged {
		return nil // the usual case spares a hash
	}
	key := t.store.hasher.Key(dead.name, name)
	if first := t.byKey[key]; first != nil {
		return &dedupe.Entry{Key: key, Sum: first.sum, Sequence: first.sequence}
	}
	e, ok := t.find(key)
	if !ok || !t.isLive(dead, e.Sequence) {
		return nil
	}
	e.Place = message.Place{} // it names none of this queue
	return &e
}

// isLive tells whether the message with a sequence is in its queue still.
func (t *txn) isLive(q *queue, sequence uint64) (live bool) {
	for lane := range q.lanes {
		if q.live[lane] == 0 || live {
			continue
		}
		err := t.walk(q, uint8(lane), sequence, sequence, func(g *group) error {
			i := sequence - g.first
			live = sequence >= g.first && i < uint64(g.count) && !g.settled.has(int(i))
			return nil
		})
		if err != nil {
			return false // whoever writes next finds the file's fault
		}
	}
	return live
}
