package bolt

import (
	"bytes"
	"context"
	"slices"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/spool"
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
	remove := value == nil
	value = append([]byte{}, value...)
	return s.commit(ctx, len(value), func(t *txn) error {
		t.changed = true
		if remove {
			return t.tx.Bucket(bucketMeta).Delete([]byte(notePrefix + key))
		}
		return t.tx.Bucket(bucketMeta).Put([]byte(notePrefix+key), value)
	})
}

// ListMeta implements spool.Store. It waits as Meta does.
func (s *Store) ListMeta(prefix string) (notes []spool.Note, err error) {
	from := []byte(notePrefix + prefix)
	err = s.readers.read(context.Background(), func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketMeta).Cursor()
		for k, v := c.Seek(from); bytes.HasPrefix(k, from); k, v = c.Next() {
			notes = append(notes, spool.Note{Key: string(k[len(notePrefix):]), Value: slices.Clone(v)})
		}
		return nil
	})
	return notes, err
}
