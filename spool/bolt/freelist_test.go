package bolt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// TestDrainedSpoolStaysSound fills a spool, drains it, and opens copies of its file that were taken while it was open, as a
// crash would leave it: full, drained, and in use again.
func TestDrainedSpoolStaysSound(t *testing.T) {
	o := routed("nyc")
	s := openTemp(t, o)
	const groups, size = 96, 512 << 10
	for i := range groups {
		s.put(spool.Put{Queue: "orders", ID: fmt.Sprint(i), Priority: lane, Body: make([]byte, size)})
	}
	requireCopy(t, s, groups)
	s.mark(nyc, groups)
	for i := uint64(1); i < groups; i++ {
		s.settle(nyc, message.Range{First: i, Last: i})
	}
	if !bolt.LeavesFreelist(s.Store) {
		t.Error("the list of free pages is written with each commit")
	}
	requireCopy(t, s, 1)
	s.store("orders", "more")
	requireCopy(t, s, 2)
	s = s.reopen()
	if n := s.stats("orders").Messages; n != 2 {
		t.Errorf("%d messages", n)
	}
}

// requireCopy opens a copy of the files and looks whether they are sound and hold so many messages.
func requireCopy(t *testing.T, s *opened, messages int) {
	t.Helper()
	// A call that changes nothing is behind the commit before it, so that nothing is being written.
	if _, err := s.Ack(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"spool.db", "spool.id"} {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	requireFile(t, dir, s.Stats())
	c := open(t, dir, s.options)
	if n := c.stats("orders").Messages; n != uint64(messages) {
		t.Errorf("the copy has %d messages, want %d", n, messages)
	}
	c.store("orders", "copied")
	c.close()
}
