package bolt

import (
	"context"
	"errors"
	"sync"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// readers lets calls read the file beside the committer, each in a transaction of its own that waits for nothing. While the
// file is closed after a failed commit they wait for it to be open again.
type readers struct {
	mu      sync.Mutex
	db      *bbolt.DB     // nil while closed
	changed chan struct{} // closed when db or refusal changes; nil if nobody waits
	refusal error
}

func (r *readers) open(db *bbolt.DB) { r.set(db, nil) }

func (r *readers) close() { r.set(nil, nil) }

func (r *readers) shut(refusal error) { r.set(nil, refusal) }

func (r *readers) set(db *bbolt.DB, refusal error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.db = db
	if r.refusal == nil {
		r.refusal = refusal
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// read runs fn in a read transaction. fn must not wait for anything, and keeps nothing of what it read.
func (r *readers) read(ctx context.Context, fn func(*bbolt.Tx) error) error {
	for {
		db, changed, err := r.handle()
		if err != nil {
			return err
		}
		if db != nil {
			if err := db.View(fn); !errors.Is(err, berrors.ErrDatabaseNotOpen) {
				return err
			}
			// It was closed since; what took its place is told below.
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *readers) handle() (*bbolt.DB, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal != nil {
		return nil, nil, r.refusal
	}
	if r.db == nil && r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.db, r.changed, nil
}
