package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// tally is count and checksum of messages, in whatever order they come: callers at once are stored in any.
type tally struct {
	count int
	sum   uint64
}

func (t *tally) add(it item) {
	h := sha256.New()
	h.Write([]byte(it.id))
	h.Write(it.body)
	t.count++
	t.sum += binary.LittleEndian.Uint64(h.Sum(nil))
}

func tallyOf(items []item) (t tally) {
	for _, it := range items {
		t.add(it)
	}
	return t
}

// checkStored opens what was closed and compares all that is live there with want. Known are ids that must be told as
// duplicates when they come again.
func checkStored(ctx context.Context, c contender, dir string, want tally, known []item) (err error) {
	e, err := c.open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var found tally
	if err := e.Each(ctx, found.add); err != nil {
		return err
	}
	if found != want {
		return fmt.Errorf("read back %d messages with sum %x, want %d with %x", found.count, found.sum, want.count, want.sum)
	}
	stored, err := e.Put(ctx, known)
	if err == nil && stored != 0 {
		err = fmt.Errorf("%d of %d ids were stored twice", stored, len(known))
	}
	return err
}
