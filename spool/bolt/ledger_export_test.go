package bolt

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
)

// LedgerInFile counts what the ledgers of a closed spool hold.
func LedgerInFile(dir string) (ids, bytes uint64, err error) {
	db, err := bbolt.Open(filepath.Join(dir, dbFile), fileMode, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	return ids, bytes, db.View(func(tx *bbolt.Tx) error {
		for _, bucket := range [][]byte{bucketLedger, bucketPromised} {
			err := tx.Bucket(bucket).ForEach(func(_, v []byte) error {
				row, err := dedupe.ParseRow(v)
				ids += uint64(row.Len())
				bytes += rowBytes(v)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// LedgerPages is how many bytes of the file the pages of the ledger take.
func LedgerPages(s *Store) (bytes int, err error) {
	return bytes, s.commit(context.Background(), 0, func(t *txn) error {
		stats := t.tx.Bucket(bucketLedger).Stats()
		bytes = stats.LeafAlloc + stats.BranchAlloc
		return nil
	})
}

// LookUp looks for n ids from first on as a commit does, step by step round the end, and returns how long it took. FillLedger
// makes ids from 1 on: all or none must be found. Hashing the ids is not part of it.
func LookUp(s *Store, first, n, step int) (took time.Duration, err error) {
	hasher := dedupe.NewHasher([32]byte{1})
	keys := make([]dedupe.Key, n)
	for i := range keys {
		keys[i] = hasher.Key("orders", message.EndToEnd{Origin: "fra-1", ID: fmt.Sprint(first + i*step%n)})
	}
	return took, s.commit(context.Background(), 0, func(t *txn) error {
		began := time.Now()
		found := 0
		for _, k := range keys {
			if _, ok := t.find(k); ok {
				found++
			}
		}
		took = time.Since(began)
		if want := map[bool]int{false: 0, true: n}[first > 0]; found != want {
			return fmt.Errorf("%d ids were found, want %d", found, want)
		}
		return nil
	})
}

// Forget forgets so many of the oldest rows in commits of pruneRows, as if they were past their window, and returns how long
// the committer was busy with it, syncs not counted, and how many ids went.
func Forget(s *Store, rows int) (took time.Duration, ids uint64, err error) {
	before := s.LedgerStats().IDs
	for left := rows; left > 0 && err == nil; left -= pruneRows {
		err = s.commit(context.Background(), 0, func(t *txn) error {
			began := time.Now()
			l := t.mem.open
			defer func() { took += time.Since(began) }()
			through := l.oldest + uint64(min(left, pruneRows)) - 1
			t.changed = true
			return l.forget(t.tx.Bucket(bucketLedger), func(number uint64, _ dedupe.Row) bool { return number <= through })
		})
	}
	return took, before - s.LedgerStats().IDs, err
}

// RememberCost remembers groups of so many ids and returns what one takes, without the commit.
func RememberCost(s *Store, group, groups int) (perID time.Duration, err error) {
	var took time.Duration
	for i := range groups {
		err := s.commit(context.Background(), 0, func(t *txn) error {
			entries := make([]dedupe.Entry, group)
			for j := range entries {
				entries[j] = dedupe.Entry{
					Key:      s.hasher.Key("cost", message.EndToEnd{Origin: "fra-1", ID: fmt.Sprint(i, "-", j)}),
					Sequence: uint64(i*group + j + 1),
				}
			}
			began := time.Now()
			err := t.remember(t.mem.open, entries)
			took += time.Since(began)
			t.changed = true
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return took / time.Duration(group*groups), nil
}
