package memory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"drawbridge/spool"
)

// Meta implements spool.Store.
func (s *Store) Meta(key string) (value []byte, err error) {
	err = s.look(func(int64) { value = slices.Clone(s.notes[key]) })
	return value, err
}

// SetMeta implements spool.Store.
func (s *Store) SetMeta(ctx context.Context, key string, value []byte) error {
	remove := value == nil
	value = append([]byte{}, value...)
	return s.change(ctx, func(int64) {
		if remove {
			delete(s.notes, key)
		} else {
			s.notes[key] = value
		}
	})
}

// ListMeta implements spool.Store.
func (s *Store) ListMeta(prefix string) (notes []spool.Note, err error) {
	err = s.look(func(int64) {
		for _, key := range slices.Sorted(maps.Keys(s.notes)) {
			if strings.HasPrefix(key, prefix) {
				notes = append(notes, spool.Note{Key: key, Value: slices.Clone(s.notes[key])})
			}
		}
	})
	return notes, err
}
