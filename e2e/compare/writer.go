package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// writer is the one connection that writes, with its statements prepared.
type writer struct {
	conn                            *sql.Conn
	begin, commit, rollback         *sql.Stmt
	insert, sum, expire, lease, ack *sql.Stmt
	commits                         atomic.Uint64

	mu sync.Mutex // held over a transaction
}

func newWriter(db *sql.DB) (*writer, error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn}
	if err := errors.Join(w.checkDurable(ctx), w.prepare(ctx)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// checkDurable reads back what was asked for: SQLite answers a pragma that it does not follow without an error.
func (w *writer) checkDurable(ctx context.Context) error {
	var journal string
	var synchronous int
	if err := w.conn.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&journal); err != nil {
		return err
	}
	if err := w.conn.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&synchronous); err != nil {
		return err
	}
	const full = 2
	if journal != "wal" || synchronous != full {
		return fmt.Errorf("journal %s with synchronous %d, want wal with %d", journal, synchronous, full)
	}
	return nil
}

func (w *writer) prepare(ctx context.Context) error {
	if _, err := w.conn.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("create the schema: %w", err)
	}
	for _, p := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&w.begin, `BEGIN IMMEDIATE`}, {&w.commit, `COMMIT`}, {&w.rollback, `ROLLBACK`},
		{&w.insert, insertSQL}, {&w.sum, sumSQL}, {&w.expire, expireSQL}, {&w.lease, leaseSQL}, {&w.ack, ackSQL},
	} {
		var err error
		if *p.statement, err = w.conn.PrepareContext(ctx, p.text); err != nil {
			return fmt.Errorf("prepare %s: %w", p.text, err)
		}
	}
	return nil
}

// alone runs apply in a transaction of its own.
func (w *writer) alone(ctx context.Context, apply func(*writer) error) error {
	return w.together(ctx, []func(*writer) error{apply})
}

// together runs all in one transaction, which is durable when it returns nil. One failure fails all.
func (w *writer) together(ctx context.Context, all []func(*writer) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	for _, apply := range all {
		if err := apply(w); err != nil {
			_, undone := w.rollback.ExecContext(context.WithoutCancel(ctx))
			return errors.Join(err, undone)
		}
	}
	if _, err := w.commit.ExecContext(ctx); err != nil {
		return err
	}
	w.commits.Add(1)
	return nil
}

// close closes the connection, and its statements with it.
func (w *writer) close() error { return w.conn.Close() }
