package bolt

import (
	"context"
	"fmt"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
)

// LedgerPages is how many bytes of the file the pages of the ledger take.
func LedgerPages(s *Store) (bytes int, err error) {
	return bytes, s.commit(context.Background(), 0, func(t *txn) error {
		stats := t.tx.Bucket(bucketLedger).Stats()
		bytes = stats.LeafAlloc + stats.BranchAlloc
		return nil
	})
}

// LookUp looks for n ids of those that FillLedger has made, or of none of those, as a commit does, and returns how long it took.
// Hashing the ids is not part of it.
func LookUp(s *Store, n int, known bool) (took time.Duration, err error) {
	hasher := dedupe.NewHasher([32]byte{1})
	keys := make([]dedupe.Key, n)
	for i := range keys {
		id := i*7919%n + 1
		if !known {
			id = -id
		}
		keys[i] = hasher.Key("orders", message.EndToEnd{Origin: "fra-1", ID: fmt.Sprint(id)})
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
		if (found == n) != known || (found == 0) == known {
			return fmt.Errorf("%d of %d were found, known: %t", found, n, known)
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
			l := t.mem.ledger
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
			err := t.remember(entries)
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
