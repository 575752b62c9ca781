package bolt_test

import (
	"fmt"
	"testing"

	"drawbridge/spool/bolt"
)

func TestQueueLargerThanTheWindow(t *testing.T) {
	s := openTemp(t, orders())
	var want []string
	for i := range bolt.WindowGroups + 300 {
		want = append(want, fmt.Sprintf("id-%05d", i))
		s.store("orders", want[i])
	}
	s = s.reopen()
	s.store("orders", "last")
	want = append(want, "last")
	var got []string
	for {
		d := s.lease(50)
		if len(d) == 0 {
			break
		}
		n, err := bolt.LoadedGroups(s.Store, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if n > bolt.WindowGroups {
			t.Fatalf("%d groups in memory", n)
		}
		got = append(got, idsOf(d)...)
		s.requireAcked(d)
	}
	requireEqual(t, "order", got, want)
}
