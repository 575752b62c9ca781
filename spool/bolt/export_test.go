package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// WindowGroups is how many groups nobody has leased from are kept in memory per lane.
const WindowGroups = windowGroups

// LoadedGroups is how many groups of a queue are in memory. It runs in the committer.
func LoadedGroups(s *Store, queue string) (n int, err error) {
	return n, s.commit(context.Background(), 0, func(t *txn) error {
		for i := range t.mem.queues[queue].lanes {
			n += len(t.mem.queues[queue].lanes[i].groups)
		}
		return nil
	})
}

// Remembered is how many ids and bytes the open ledger's index has.
func Remembered(s *Store) (ids int, bytes int, err error) {
	return ids, bytes, s.commit(context.Background(), 0, func(t *txn) error {
		ids, bytes = t.mem.open.index.Len(), t.mem.open.index.Bytes()
		return nil
	})
}

// FillLedger adds rows of ids to the ledger of a closed spool, for tests of a large one.
func FillLedger(dir string, rows, perRow int) error {
	db, err := bbolt.Open(filepath.Join(dir, dbFile), fileMode, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	defer db.Close()
	hasher := dedupe.NewHasher([32]byte{1})
	n := 0
	for done := 0; done < rows; {
		err := db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketLedger)
			b.FillPercent = 1
			for range min(1000, rows-done) {
				entries := make([]dedupe.Entry, perRow)
				for i := range entries {
					n++
					entries[i].Key = hasher.Key("orders", message.EndToEnd{Origin: "fra-1", ID: fmt.Sprint(n)})
					entries[i].Sequence = uint64(n)
				}
				done++
				if err := b.Put(rowKey(uint64(done)), dedupe.AppendRow(nil, 1, entries)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Corrupt flips one bit of the body of a stored message in a closed spool.
func Corrupt(dir, queue string, lane uint8, sequence uint64) error {
	db, err := bbolt.Open(filepath.Join(dir, dbFile), fileMode, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		b, err := openBuckets(tx, queue)
		if err != nil {
			return err
		}
		for id := range groupsFrom(b.groups, lane, sequence) {
			nested := b.groups.Bucket(groupKey(id.lane, id.first))
			raw := append([]byte{}, nested.Get(keyBlob)...)
			bl, err := parseBlob(raw)
			if err != nil {
				return err
			}
			r := bl.record(int(sequence - id.first))
			r[len(r)-1] ^= 1
			return nested.Put(keyBlob, raw)
		}
		return errNoGroup
	})
}

// Audit scans the file of a closed spool and returns what it holds of each queue, or what contradicts itself in it.
func Audit(dir string) (map[string]spool.QueueStats, error) {
	if _, err := checkStamp(dir); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, dbFile), fileMode, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found := make(map[string]spool.QueueStats)
	return found, db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			return fmt.Errorf("structure of the file: %w", err)
		}
		ledger, err := auditLedger(tx)
		if err != nil {
			return err
		}
		now, err := parseMoment(tx.Bucket(bucketMeta).Get(keyTime))
		if err != nil {
			return err
		}
		secret := tx.Bucket(bucketMeta).Get(keySecret)
		hasher := dedupe.NewHasher([secretBytes]byte(secret))
		return tx.Bucket(bucketQueues).ForEachBucket(func(k []byte) error {
			stats, err := auditQueue(tx, string(k), now.spool, ledger, hasher)
			if err != nil {
				return fmt.Errorf("queue %q: %w", k, err)
			}
			found[string(k)] = stats
			return nil
		})
	})
}

// auditLedger returns all entries, and compares those that came from afar with the frontiers.
func auditLedger(tx *bbolt.Tx) (map[dedupe.Key]dedupe.Entry, error) {
	entries := make(map[dedupe.Key]dedupe.Entry)
	for _, bucket := range [][]byte{bucketLedger, bucketPromised} {
		if err := auditRows(tx.Bucket(bucket), entries); err != nil {
			return nil, fmt.Errorf("ledger %q: %w", bucket, err)
		}
	}
	frontiers, err := readFrontiers(tx.Bucket(bucketFrontiers))
	if err != nil {
		return nil, err
	}
	known := make(map[message.StreamID]uint64)
	for key, n := range frontiers.numbers {
		known[key.stream] = max(known[key.stream], n)
	}
	for _, e := range entries {
		if p := e.Place; p.Number != 0 && known[p.Stream] < p.Number {
			return nil, fmt.Errorf("frontier of stream %s is %d, the ledger has number %d", p.Stream, known[p.Stream], p.Number)
		}
	}
	return entries, auditClosed(tx, frontiers)
}

// auditRows adds the entries of one ledger. A message that died again stands there once for each of its dead letters, of which
// only the last one may still be here.
func auditRows(rows *bbolt.Bucket, entries map[dedupe.Key]dedupe.Entry) error {
	return rows.ForEach(func(k, v []byte) error {
		row, err := dedupe.ParseRow(v)
		if err != nil {
			return err
		}
		for key := range row.Keys() {
			e, ok := row.Find(key)
			if !ok {
				return fmt.Errorf("row %x does not find its own key", k)
			}
			if before, twice := entries[key]; twice && e.Sequence <= before.Sequence {
				return fmt.Errorf("key %x stands twice, for %d and then for %d", key, before.Sequence, e.Sequence)
			}
			entries[key] = e
		}
		return nil
	})
}

// auditClosed compares the numbers that were closed with the frontiers.
func auditClosed(tx *bbolt.Tx, frontiers *frontiers) error {
	known := make(map[string]uint64)
	for key, n := range frontiers.numbers {
		known[string(key.prefix())] = n
	}
	return tx.Bucket(bucketClosed).ForEach(func(k, reason []byte) error {
		prefix, number := k[:len(k)-8], binary.BigEndian.Uint64(k[len(k)-8:])
		if n := known[string(prefix)]; n < number || len(reason) == 0 {
			return fmt.Errorf("number %d of %x is closed for the reason %q, its frontier is %d", number, prefix, reason, n)
		}
		return nil
	})
}

func auditQueue(tx *bbolt.Tx, name string, now int64, ledger map[dedupe.Key]dedupe.Entry, hasher *dedupe.Hasher) (spool.QueueStats, error) {
	stats := spool.QueueStats{Name: name}
	b, err := openBuckets(tx, name)
	if err != nil {
		return stats, err
	}
	row := counters{next: 1}
	if v := b.queue.Get(keyCounters); v != nil {
		if row, err = parseCounters(v); err != nil {
			return stats, err
		}
	}
	ms, err := readMarks(b)
	if err != nil {
		return stats, err
	}
	scan := counters{next: row.next}
	states := 0
	taken := make(map[uint64]bool)
	for lane := range uint8(lanes) {
		for id, err := range groupsFrom(b.groups, lane, 0) {
			if err != nil {
				return stats, err
			}
			g, bl, err := loadGroup(b, id)
			if err != nil {
				return stats, err
			}
			if g.live == 0 {
				return stats, fmt.Errorf("group %d of lane %d is settled and still there", id.first, lane)
			}
			if b.state.Get(groupKey(lane, id.first)) != nil {
				states++
			}
			if b.streams.Get(streamKey(lane, bl.epoch)) == nil {
				return stats, fmt.Errorf("group %d of lane %d has no stream", id.first, lane)
			}
			for i := range g.count {
				n := g.first + uint64(i)
				if n >= row.next || taken[n] {
					return stats, fmt.Errorf("sequence %d stands twice, or above the next one %d", n, row.next)
				}
				taken[n] = true
				if g.settled.has(i) {
					continue
				}
				scan.live[lane]++
				scan.bytes += uint64(bl.size(i))
				if l := g.leases[i]; l != nil && l.deadline > now {
					stats.Leased++
				}
				if ms.owner(lane, n) != "" {
					stats.InDoubt++
				}
				m, err := message.ParseFront(bl.record(i))
				if err != nil {
					return stats, err
				}
				if (m.Death != nil) != spool.IsDead(name) || m.Death != nil && message.DeadQueue(m.Death.Queue) != name {
					return stats, fmt.Errorf("message %q at %d died of %+v", m.ID, n, m.Death)
				}
				if e, ok := ledger[hasher.Key(name, m.EndToEnd())]; !ok || e.Sequence != n || e.Sum != m.ContentSum() {
					return stats, fmt.Errorf("message %q at %d: the ledger has %+v (%t)", m.ID, n, e, ok)
				}
			}
		}
	}
	if scan != row {
		return stats, fmt.Errorf("counters say %+v, a scan finds %+v", row, scan)
	}
	if rows := b.state.Stats().KeyN; rows != states {
		return stats, fmt.Errorf("%d state rows for %d groups that should have one", rows, states)
	}
	stats.Messages, stats.Bytes = scan.messages(), scan.bytes
	return stats, nil
}

// WriteForeign makes a database that is not ours.
func WriteForeign(path string) error {
	db, err := bbolt.Open(path, fileMode, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("somebody's"))
		return err
	})
	return errors.Join(err, db.Close())
}

// Waiting is how many calls wait for the committer.
func Waiting(s *Store) int {
	s.intake.mu.Lock()
	defer s.intake.mu.Unlock()
	return len(s.intake.ops)
}

// LeavesFreelist tells whether commits leave out the list of free pages.
func LeavesFreelist(s *Store) (left bool) {
	_ = s.commit(context.Background(), 0, func(*txn) error {
		left = s.db.NoFreelistSync
		return nil
	})
	return left
}
