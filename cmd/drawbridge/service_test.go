package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// slow is a store whose committer takes its time, or answers with an error of the disk.
type slow struct {
	spool.Store
	takes time.Duration
	err   error
}

func (s slow) SettleRoute(ctx context.Context, _ spool.Route, _ uint8, _ []message.Range) error {
	select {
	case <-time.After(s.takes):
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", spool.ErrUnknown, context.Cause(ctx))
	}
}

func (s slow) Stats() []spool.QueueStats { return []spool.QueueStats{{Name: "orders"}} }

func TestTheWatchdogHearsOnlyACommitterThatAnswersInTime(t *testing.T) {
	diskFull := fmt.Errorf("commit: %w: no space left on device", spool.ErrUnknown)
	for _, c := range []struct {
		name  string
		store slow
		fed   bool
	}{
		{"at once", slow{}, true},
		{"just in time", slow{takes: 9 * time.Second}, true},
		{"stuck in a sync", slow{takes: time.Hour}, false},
		{"a full disk, which no restart would empty", slow{err: diskFull}, true},
		{"closed", slow{err: spool.ErrClosed}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			if err := probe(c.store, 10*time.Second); (err == nil) != c.fed {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

func TestTheWatchdogCostsNoSync(t *testing.T) {
	for _, queues := range []map[string]spool.QueueOptions{nil, {"orders": {Route: "nyc/orders"}}} {
		store, err := bolt.Open(filepath.Join(t.TempDir(), "spool"), bolt.Options{Agent: "fra", Queues: queues})
		if err != nil {
			t.Fatal(err)
		}
		before := store.Commits()
		for range 10 {
			if err := probe(store, 10*time.Second); err != nil {
				t.Error(err)
			}
		}
		if after := store.Commits(); after != before {
			t.Errorf("%d commits for 10 looks", after-before)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := probe(store, 10*time.Second); err == nil {
			t.Error("a closed spool is told to be alive")
		}
	}
}

func TestWordsForTheManagerAreOneLine(t *testing.T) {
	if got := oneLine("open spool:\nREADY=1\n\tX"); got != "open spool: READY=1 X" {
		t.Errorf("%q", got)
	}
}
