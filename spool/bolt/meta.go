package bolt

import (
	"context"
	"slices"

	bbolt "go.etcd.io/bbolt"
)

// Meta implements spool.Store. It waits while the file is being opened again after a failed commit.
func (s *Store) Meta(key string) ([]byte, error) {
	var value []byte
	err := s.readers.read(context.Background(), func(tx *bbolt.Tx) error {
		value = slices.Clone(tx.Bucket(bucketMeta).Get([]byte(notePrefix + key)))
		return nil
	})
	return value, err
}

// SetMeta implements spool.Store.
func (s *Store) SetMeta(ctx context.Context, key string, value []byte) error {
	value = append([]byte{}, value...)
	return s.commit(ctx, len(value), func(t *txn) error {
		t.changed = true
		return t.tx.Bucket(bucketMeta).Put([]byte(notePrefix+key), value)
	})
}
