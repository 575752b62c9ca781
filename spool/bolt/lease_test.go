package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

func TestLeaseGoesByPriorityThenAge(t *testing.T) {
	s := openTemp(t, orders())
	for i, priority := range []uint8{4, 0, 9, 4, 9} {
		s.put(spool.Put{Queue: "orders", ID: fmt.Sprint(i), Priority: priority})
	}
	requireEqual(t, "leased", idsOf(s.lease(3)), []string{"2", "4", "0"})
	requireEqual(t, "leased", idsOf(s.lease(9)), []string{"3", "1"})
}

func TestLeaseStopsAtMaxBytes(t *testing.T) {
	s := openTemp(t, orders())
	for range 4 {
		s.put(spool.Put{Queue: "orders", Priority: 4, Body: make([]byte, 1000)}, spool.Put{Queue: "orders", Priority: 4, Body: make([]byte, 1000)})
	}
	for _, want := range []struct{ maxBytes, count int }{{1, 1}, {1500, 2}, {3000, 3}} {
		d, err := s.Lease(context.Background(), spool.LeaseRequest{Queue: "orders", Max: 100, MaxBytes: want.maxBytes})
		if err != nil || len(d) != want.count {
			t.Errorf("up to %d bytes: %d messages, %v; want %d", want.maxBytes, len(d), err, want.count)
		}
	}
}

func TestOrderIsThatOfStoring(t *testing.T) {
	s := openTemp(t, orders())
	var want []string
	for i := range 20 {
		ids := idsFrom(10*i, 10*i+i%10)
		s.store("orders", ids...)
		want = append(want, ids...)
	}
	var got []string
	for {
		d := s.lease(7)
		if len(d) == 0 {
			break
		}
		got = append(got, idsOf(d)...)
		s.requireAcked(d)
	}
	requireEqual(t, "order", got, want)
}

func TestRedeliveryKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t, orders())
		s.store("orders", idsFrom(1, 3)...)
		s.store("orders", idsFrom(4, 6)...)
		first := s.lease(4)
		s.requireAcked(first[1:2])
		ready, stop := s.Watch("orders")
		defer stop()
		time.Sleep(spool.DefaultVisibilityTimeout)
		<-ready
		if q := s.stats("orders"); q.Leased != 0 || q.Messages != 5 {
			t.Errorf("stats: %+v", q)
		}
		again := s.lease(10)
		requireEqual(t, "redelivered", idsOf(again), []string{"id-00001", "id-00003", "id-00004", "id-00005", "id-00006"})
		var counts []uint32
		for _, d := range again {
			counts = append(counts, d.Deliveries)
		}
		requireEqual(t, "deliveries", counts, []uint32{2, 2, 2, 1, 1})
		for i, err := range s.ack(receiptsOf(first)...) {
			if !errors.Is(err, spool.ErrStaleReceipt) {
				t.Errorf("old receipt %d: %v", i, err)
			}
		}
		s.requireAcked(again)
		s.close()
	})
}

func TestReceiptsThatAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := openTemp(t, orders()), openTemp(t, orders())
		s.store("orders", "a")
		other.store("orders", "a")
		d, foreign := s.lease(1), other.lease(1)
		r := d[0].Receipt
		for i, err := range s.ack("a", "", "rcpt-", r[:len(r)-1], r+"A", foreign[0].Receipt) {
			if !errors.Is(err, spool.ErrBadReceipt) {
				t.Errorf("token %d: %v", i, err)
			}
		}
		time.Sleep(spool.DefaultVisibilityTimeout - time.Millisecond)
		if err := s.ack(r)[0]; err != nil {
			t.Errorf("in time: %v", err)
		}
		if err := s.ack(r)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
			t.Errorf("twice: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := other.ack(foreign[0].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
			t.Errorf("run out: %v", err)
		}
		s.close()
		other.close()
	})
}

func TestLeaseRunsOnOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t, orders())
		s.store("orders", "a", "b")
		d := s.lease(1)
		time.Sleep(10 * time.Second)
		s = s.reopen()
		if q := s.stats("orders"); q.Leased != 1 {
			t.Errorf("stats after the restart: %+v", q)
		}
		requireEqual(t, "not leased", idsOf(s.lease(5)), []string{"b"})
		ready, stop := s.Watch("orders")
		defer stop()
		time.Sleep(20*time.Second - 50*time.Millisecond)
		select {
		case <-ready:
			t.Error("ready too early")
		default:
		}
		time.Sleep(100 * time.Millisecond)
		<-ready
		again := s.lease(5)
		requireEqual(t, "redelivered", idsOf(again), []string{"a"})
		if again[0].Deliveries != 2 {
			t.Errorf("deliveries %d", again[0].Deliveries)
		}
		if err := s.ack(d[0].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
			t.Errorf("old receipt: %v", err)
		}
		s = s.reopen()
		s.requireAcked(again)
		s.close()
	})
}

func TestSpoolTimeNeverGoesBack(t *testing.T) {
	wall := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := orders()
	o.Now = func() time.Time { return wall }
	s := openTemp(t, o)
	s.store("orders", "a")
	d := s.lease(1)
	wall = wall.Add(-1000 * time.Hour)
	s = s.reopen()
	if q := s.stats("orders"); q.Leased != 1 || q.OldestAge > time.Minute {
		t.Errorf("after a step back: %+v", q)
	}
	wall = wall.Add(29 * time.Second)
	s = s.reopen()
	if q := s.stats("orders"); q.Leased != 1 || q.OldestAge < 29*time.Second {
		t.Errorf("29 s later: %+v", q)
	}
	wall = wall.Add(time.Second)
	s = s.reopen()
	if q := s.stats("orders"); q.Leased != 0 {
		t.Errorf("30 s later: %+v", q)
	}
	if err := s.ack(d[0].Receipt)[0]; !errors.Is(err, spool.ErrStaleReceipt) {
		t.Errorf("receipt: %v", err)
	}
}

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

func TestWatchTellsOfWhatIsStored(t *testing.T) {
	s := openTemp(t, orders())
	ready, stop := s.Watch("orders")
	s.store("orders", "a")
	s.store("orders", "b")
	<-ready
	select {
	case <-ready:
		t.Error("wake-ups pile up")
	default:
	}
	stop()
	s.store("orders", "c")
	select {
	case <-ready:
		t.Error("woken after stop")
	default:
	}
}
