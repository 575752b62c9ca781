package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite"
)

// visibility is how long a lease runs, in every engine.
const visibility = 30 * time.Second

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sqliteQueue is a queue in one SQLite file. Transact decides how calls share transactions.
type sqliteQueue struct {
	db       *sql.DB
	writer   *writer
	transact func(ctx context.Context, apply func(*writer) error) error
	stop     func()
}

// openGrouped opens a queue whose calls share transactions: one goroutine writes whatever waits.
func openGrouped(dir string) (engine, error) {
	q, err := openSQLite(dir)
	if err != nil {
		return nil, err
	}
	g := newGroups(q.writer)
	q.transact, q.stop = g.transact, g.stop
	return q, nil
}

// openPlain opens a queue with a transaction for each call.
func openPlain(dir string) (engine, error) {
	q, err := openSQLite(dir)
	if err != nil {
		return nil, err
	}
	q.transact, q.stop = q.writer.alone, func() {}
	return q, nil
}

func openSQLite(dir string) (*sqliteQueue, error) {
	pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "cache_size(-65536)", "busy_timeout(10000)"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "queue.db")+"?"+pragmas.Encode())
	if err != nil {
		return nil, err
	}
	w, err := newWriter(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqliteQueue{db: db, writer: w}, nil
}

func (q *sqliteQueue) Put(ctx context.Context, items []item) (stored int, err error) {
	sums := make([]uint32, len(items))
	for i, it := range items {
		sums[i] = crc32.Checksum(it.body, castagnoli)
	}
	err = q.transact(ctx, func(w *writer) error {
		stored = 0
		now := time.Now().UnixMilli()
		for i, it := range items {
			isNew, err := w.put(ctx, it, sums[i], now)
			if err != nil {
				return fmt.Errorf("put %s: %w", it.id, err)
			}
			if isNew {
				stored++
			}
		}
		return nil
	})
	return stored, err
}

func (w *writer) put(ctx context.Context, it item, sum uint32, now int64) (isNew bool, err error) {
	const priority = 4
	changed, err := affected(w.insert.ExecContext(ctx, queueName, it.id, priority, int64(sum), now, it.body))
	if err != nil || changed == 1 {
		return changed == 1, err
	}
	var first int64
	if err := w.sum.QueryRowContext(ctx, queueName, it.id).Scan(&first); err != nil {
		return false, err
	}
	if first != int64(sum) {
		return false, errors.New("the id is in use with other content")
	}
	return false, nil
}

func (q *sqliteQueue) Lease(ctx context.Context, most int) ([]delivery, error) {
	var given []delivery
	token := rand.Text()
	err := q.transact(ctx, func(w *writer) (err error) {
		given, err = w.giveOut(ctx, most, token)
		return err
	})
	return given, err
}

// giveOut leases under one token, which with the sequence makes each delivery's receipt.
func (w *writer) giveOut(ctx context.Context, most int, token string) ([]delivery, error) {
	now := time.Now()
	if _, err := w.expire.ExecContext(ctx, now.UnixMilli()); err != nil {
		return nil, err
	}
	rows, err := w.lease.QueryContext(ctx, now.Add(visibility).UnixMilli(), token, queueName, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	type placed struct {
		delivery
		sequence int64
	}
	var given []placed
	for rows.Next() {
		var p placed
		if err := rows.Scan(&p.sequence, &p.id, &p.attempt, &p.body); err != nil {
			return nil, err
		}
		p.receipt = strconv.FormatInt(p.sequence, 10) + "-" + token
		given = append(given, p)
	}
	// RETURNING promises no order.
	slices.SortFunc(given, func(a, b placed) int { return cmp.Compare(a.sequence, b.sequence) })
	deliveries := make([]delivery, len(given))
	for i, p := range given {
		deliveries[i] = p.delivery
	}
	return deliveries, rows.Err()
}

func (q *sqliteQueue) Ack(ctx context.Context, deliveries []delivery) error {
	return q.transact(ctx, func(w *writer) error {
		now := time.Now().UnixMilli()
		for _, d := range deliveries {
			sequence, token, _ := strings.Cut(d.receipt, "-")
			place, err := strconv.ParseInt(sequence, 10, 64)
			if err != nil {
				return fmt.Errorf("ack %s: %w", d.id, err)
			}
			changed, err := affected(w.ack.ExecContext(ctx, place, token, now))
			if err != nil {
				return fmt.Errorf("ack %s: %w", d.id, err)
			}
			if changed != 1 {
				return fmt.Errorf("ack %s: stale receipt", d.id)
			}
		}
		return nil
	})
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (q *sqliteQueue) Each(ctx context.Context, f func(item)) error {
	rows, err := q.db.QueryContext(ctx, liveSQL, queueName)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var it item
		if err := rows.Scan(&it.id, &it.body); err != nil {
			return err
		}
		f(it)
	}
	return rows.Err()
}

func (q *sqliteQueue) Commits() uint64 { return q.writer.commits.Load() }

func (q *sqliteQueue) Close() error {
	q.stop()
	return errors.Join(q.writer.close(), q.db.Close())
}
