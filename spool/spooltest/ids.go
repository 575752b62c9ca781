package spooltest

import (
	"sync"

	"drawbridge/message"
	"drawbridge/spool"
)

// putByMany has 64 callers put the same at the same time.
func putByMany(s *store, p spool.Put) []spool.PutResult {
	results := make([]spool.PutResult, 64)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = s.put(p)[0] })
	}
	wg.Wait()
	return results
}

func ids() []testCase {
	// requireStored wants so many results to say that they stored the first message of the queue, and the others that it was.
	requireStored := func(s *store, want int, results ...spool.PutResult) {
		s.t.Helper()
		stored := 0
		for _, r := range results {
			if r.Status == spool.Stored {
				stored++
			} else if r.Status != spool.Duplicate {
				s.t.Errorf("put: %+v", r)
			}
			if r.Sequence != 1 {
				s.t.Errorf("sequence %d", r.Sequence)
			}
		}
		if stored != want {
			s.t.Errorf("stored %d times, want %d", stored, want)
		}
	}
	return []testCase{
		{name: "a message put twice is stored once", run: func(s *store) {
			first := s.fill("zero", "a")[1]
			if r := s.requirePut(orderOf("a", "a"), spool.Duplicate); r.Sequence != first || r.Err != nil {
				s.t.Errorf("put again: %+v", r)
			}
			s.requireMessages(2)
		}},
		{name: "other headers make no other message", run: func(s *store) {
			s.fill("a")
			again := orderOf("a", "a")
			again.Headers = message.NewHeaders(map[string]string{"traceparent": "another"})
			s.requirePut(again, spool.Duplicate)
		}},
		{name: "another priority makes no other message", run: func(s *store) {
			s.fill("a")
			again := orderOf("a", "a")
			again.Priority = 9
			s.requirePut(again, spool.Duplicate)
		}},
		{name: "an id with another body is a conflict", run: func(s *store) {
			s.fill("a")
			requireIs(s.t, "put", s.requirePut(orderOf("a", "b"), spool.Conflict).Err, spool.ErrConflict)
			s.requireMessages(1)
		}},
		{name: "an id with another key is a conflict", run: func(s *store) {
			s.fill("a")
			other := orderOf("a", "a")
			other.Key = "k"
			requireIs(s.t, "put", s.requirePut(other, spool.Conflict).Err, spool.ErrConflict)
		}},
		{name: "a conflict leaves the first copy as it was", run: func(s *store) {
			s.fill("a")
			s.requirePut(orderOf("a", "b"), spool.Conflict)
			s.requirePut(orderOf("a", "a"), spool.Duplicate)
			if d := s.requireLeased(9, "a"); string(d[0].Body) != "a" {
				s.t.Errorf("leased: %+v", d)
			}
		}},
		{name: "copies in one call are seen", run: func(s *store) {
			r := s.put(orderOf("", "z"), orderOf("a", "x"), orderOf("a", "x"), orderOf("a", "y"))
			if r[1].Status != spool.Stored || r[2].Status != spool.Duplicate || r[2].Sequence != r[1].Sequence || r[3].Status != spool.Conflict {
				s.t.Errorf("put: %+v", r)
			}
			s.requireMessages(2)
		}},
		{name: "a settled message is still known", run: func(s *store) {
			s.fill("a")
			s.requireAcked(s.lease(1)...)
			if r := s.requirePut(orderOf("a", "a"), spool.Duplicate); r.Sequence != 1 {
				s.t.Errorf("put again: %+v", r)
			}
			s.requireMessages(0)
		}},
		{name: "each queue has its own ids", queues: map[string]spool.QueueOptions{"orders": {}, "refunds": {}}, run: func(s *store) {
			s.fill("a")
			s.requirePut(spool.Put{Queue: "refunds", ID: "a", Body: []byte("other")}, spool.Stored)
		}},
		{name: "many callers with one id store it once", run: func(s *store) {
			requireStored(s, 1, putByMany(s, orderOf("a", "x"))...)
			s.requireMessages(1)
		}},
		{name: "many callers with one id store it once, over a restart too", restarts: true, run: func(s *store) {
			requireStored(s, 1, putByMany(s, orderOf("a", "x"))...)
			s.restart()
			requireStored(s, 0, putByMany(s, orderOf("a", "x"))...)
			s.requireMessages(1)
		}},
		{name: "a retry an hour later is a duplicate", run: func(s *store) {
			s.fill("a")
			s.requireAcked(s.lease(1)...)
			s.pass(day / 24)
			s.fill("between")
			again := orderOf("a", "a")
			again.Headers = message.NewHeaders(map[string]string{"traceparent": "another"})
			s.requirePut(again, spool.Duplicate)
		}},
		{name: "an id stays known over a restart", restarts: true, run: func(s *store) {
			s.fill("a", "b")
			s.requireAcked(s.lease(1)...)
			s.restart()
			for i, id := range []string{"a", "b"} {
				if r := s.requirePut(orderOf(id, id), spool.Duplicate); r.Sequence != uint64(i+1) {
					s.t.Errorf("put again: %+v", r)
				}
			}
			s.requirePut(orderOf("a", "other"), spool.Conflict)
			if q := s.stats("orders"); q.Messages != 1 || q.Duplicates != 2 {
				s.t.Errorf("stats: %+v", q)
			}
		}},
	}
}
