package spooltest

import (
	"fmt"
	"slices"

	"drawbridge/spool"
)

func order() []testCase {
	return []testCase{
		{name: "the higher priority goes first, the older first within one", run: func(s *store) {
			for i, priority := range []uint8{4, 0, 9, 4, 9} {
				s.put(spool.Put{Queue: "orders", ID: fmt.Sprint(i), Priority: priority})
			}
			s.requireLeased(3, "2", "4", "0")
			s.requireLeased(9, "3", "1")
		}},
		{name: "messages are handed out in the order in which they were stored", run: func(s *store) {
			var want, got []string
			for i := range 20 {
				ids := idsFrom(10*i, 10*i+i%10)
				s.fill(ids...)
				want = append(want, ids...)
			}
			for d := s.lease(7); len(d) > 0; d = s.lease(7) {
				for _, one := range d {
					got = append(got, one.ID)
				}
				s.requireAcked(d...)
			}
			requireEqual(s.t, "order", got, want)
		}},
		{name: "a call stores in the order of its puts within a priority", run: func(s *store) {
			var puts []spool.Put
			for i, priority := range []uint8{4, 9, 4, 0, 9, 4} {
				puts = append(puts, spool.Put{Queue: "orders", ID: fmt.Sprint(i), Priority: priority})
			}
			last := make(map[uint8]uint64)
			var all []uint64
			for i, r := range s.put(puts...) {
				if p := puts[i].Priority; r.Sequence <= last[p] {
					s.t.Errorf("priority %d: sequence %d after %d", p, r.Sequence, last[p])
				} else {
					last[p] = r.Sequence
				}
				all = append(all, r.Sequence)
			}
			slices.Sort(all)
			requireEqual(s.t, "sequences", all, []uint64{1, 2, 3, 4, 5, 6})
			s.requireLeased(9, "1", "4", "0", "2", "5", "3")
		}},
		{name: "a redelivered message keeps its place", run: func(s *store) {
			s.fill(idsFrom(1, 3)...)
			s.fill(idsFrom(4, 6)...)
			first := s.lease(4)
			s.requireAcked(first[1])
			s.pass(spool.DefaultVisibilityTimeout)
			again := s.requireLeased(9, "id-1", "id-3", "id-4", "id-5", "id-6")
			var counts []uint32
			for _, d := range again {
				counts = append(counts, d.Deliveries)
			}
			requireEqual(s.t, "deliveries", counts, []uint32{2, 2, 2, 1, 1})
			s.requireAnswers(spool.ErrStaleReceipt, receiptsOf(slices.Delete(first, 1, 2))...)
			s.requireAcked(again...)
		}},
		{name: "sequences go on over a queue that was emptied", run: func(s *store) {
			s.fill("a", "b")
			s.requireAcked(s.lease(2)...)
			requireEqual(s.t, "sequences", s.fill("c"), []uint64{3})
		}},
		{name: "sequences go on over a restart", restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.requireAcked(s.lease(2)...)
			s.restart()
			requireEqual(s.t, "sequences", s.fill("c"), []uint64{3})
		}},
	}
}
