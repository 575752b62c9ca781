package bolt_test

import (
	"context"
	"testing"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func TestIDsAreKeptAsLongAsAPeerMayRetry(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name      string
		announced []time.Duration
		later     time.Duration
		want      spool.PutStatus
	}{
		{"nothing announced, within the default", nil, day - time.Minute, spool.Duplicate},
		{"nothing announced, past the default", nil, day + time.Hour, spool.Stored},
		{"within what was announced", []time.Duration{3 * day}, 2 * day, spool.Duplicate},
		{"past what was announced", []time.Duration{3 * day}, 4 * day, spool.Stored},
		{"the latest word counts", []time.Duration{9 * day, 2 * day}, 3 * day, spool.Stored},
		{"less than the default is not less", []time.Duration{time.Hour}, day - time.Minute, spool.Duplicate},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			o := orders()
			o.Now = func() time.Time { return now }
			s := openTemp(t, o)
			for _, window := range c.announced {
				if err := s.Remember(context.Background(), "nyc", "orders", window); err != nil {
					t.Fatal(err)
				}
			}
			s.store("orders", "first")
			s.requireAcked(s.lease(1))
			s.close()

			now = now.Add(c.later)
			s = open(t, s.dir, o)
			if err := s.AcceptTime(context.Background()); err != nil {
				t.Fatal(err)
			}
			s.store("orders", "a-commit-prunes")
			s.requireAcked(s.lease(1))
			again := spool.Put{Queue: "orders", ID: "first", Priority: message.DefaultPriority, Body: []byte("first")}
			if r := s.put(again)[0]; r.Status != c.want {
				t.Errorf("put again after %s: status %d, want %d", c.later, r.Status, c.want)
			}
		})
	}
}

func TestRememberingTheSameCostsNoCommit(t *testing.T) {
	s := openTemp(t, orders())
	for range 3 {
		if err := s.Remember(context.Background(), "nyc", "orders", time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Commits(); n != 1 {
		t.Errorf("%d commits", n)
	}
}
