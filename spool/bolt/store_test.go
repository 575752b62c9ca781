package bolt_test

import (
	"testing"

	"drawbridge/message"
	"drawbridge/spool/bolt"
)

func TestUnreadableMessageIsKeptAndLeftOut(t *testing.T) {
	s := openTemp(t, orders())
	s.store("orders", idsFrom(1, 3)...)
	s.close()
	if err := bolt.Corrupt(s.dir, "orders", message.DefaultPriority, 1); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.dir, s.options)
	// It stands first and must not make a queue with ready messages look empty.
	requireEqual(t, "leased", idsOf(s.lease(1)), []string{"id-00002"})
	requireEqual(t, "leased", idsOf(s.lease(5)), []string{"id-00003"})
	if n := len(s.peek("orders", 0, 10)); n != 2 {
		t.Errorf("peek shows %d", n)
	}
	if q := s.stats("orders"); q.Messages != 3 {
		t.Errorf("stats: %+v", q)
	}
}
