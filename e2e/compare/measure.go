package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// What is measured, in the order of the report.
const (
	putRow   = "put, 64 callers"
	cycleRow = "put-lease-ack, batches of 512"
	batchRow = "  its put"
	leaseRow = "  its lease"
	ackRow   = "  its ack"
)

func rows() []string { return []string{putRow, cycleRow, batchRow, leaseRow, ackRow} }

// sample is one measurement.
type sample struct {
	perSecond float64
	// perCommit is how many messages shared a transaction; 0 where that is not asked.
	perCommit float64
}

// place is one line of the report.
type place struct{ row, contender string }

// measure takes the contenders in turn, in another order in each round: what the disk or a neighbour does for a while falls
// on all of them. What they wrote is removed at the end, because freeing the blocks of a large file is work of the
// disk that may fall on whoever comes next.
func measure(ctx context.Context, contenders []contender, dir string, rounds, messages int) (measured map[place][]sample, err error) {
	dir, err = os.MkdirTemp(dir, "compare-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	measured = make(map[place][]sample)
	for range rounds {
		for _, i := range rand.Perm(len(contenders)) {
			c := contenders[i]
			record := func(row string, n int, took time.Duration, commits uint64) {
				s := sample{perSecond: float64(n) / took.Seconds()}
				if commits > 0 {
					s.perCommit = float64(n) / float64(commits)
				}
				at := place{row, c.name}
				measured[at] = append(measured[at], s)
			}
			if err := measurePut(ctx, c, dir, max(1, messages/c.share), record); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.name, putRow, err)
			}
			if err := measureCycle(ctx, c, dir, messages, record); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.name, cycleRow, err)
			}
		}
	}
	return measured, nil
}

type recorder func(row string, n int, took time.Duration, commits uint64)

func measurePut(ctx context.Context, c contender, dir string, n int, record recorder) error {
	items := newItems(n)
	return inFresh(c, dir, func(e engine) error {
		before := e.Commits()
		took, err := putAtOnce(ctx, e, items)
		if err != nil {
			return err
		}
		record(putRow, n, took, e.Commits()-before)
		return nil
	}, func(dir string) error { return checkStored(ctx, c, dir, tallyOf(items), items) })
}

func measureCycle(ctx context.Context, c contender, dir string, n int, record recorder) error {
	items := newItems(n)
	return inFresh(c, dir, func(e engine) error {
		took, err := cycle(ctx, e, items)
		if err != nil {
			return err
		}
		record(cycleRow, n, took.put+took.lease+took.ack, 0)
		record(batchRow, n, took.put, 0)
		record(leaseRow, n, took.lease, 0)
		record(ackRow, n, took.ack, 0)
		return nil
	}, func(dir string) error { return checkStored(ctx, c, dir, tally{}, items) })
}

// inFresh runs work on a new store in a directory below dir, closes it and checks what it left there.
func inFresh(c contender, dir string, work func(engine) error, check func(dir string) error) error {
	dir, err := os.MkdirTemp(dir, "store-")
	if err != nil {
		return err
	}
	e, err := c.open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(work(e), e.Close()); err != nil {
		return err
	}
	return check(dir)
}
