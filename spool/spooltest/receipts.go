package spooltest

import (
	"time"

	"drawbridge/spool"
)

func receipts() []testCase {
	return []testCase{
		{name: "an ack ends a message", run: func(s *store) {
			s.fill("a", "b")
			s.requireAcked(s.lease(1)...)
			s.requirePeeked(0, 9, "2 b")
			s.pass(time.Hour)
			s.requireLeased(9, "b")
		}},
		{name: "a receipt works until the last moment of its lease", run: func(s *store) {
			s.fill("a")
			d := s.lease(1)
			s.pass(spool.DefaultVisibilityTimeout - time.Millisecond)
			s.requireAcked(d...)
		}},
		{name: "a receipt is stale once its lease has run out", run: func(s *store) {
			s.fill("a")
			d := s.lease(1)
			s.pass(spool.DefaultVisibilityTimeout)
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
			s.requireMessages(1)
		}},
		{name: "a receipt that was used is already settled, for as long as that is remembered", run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(1)
			s.requireAcked(d...)
			s.requireAnswers(spool.ErrAlreadySettled, d[0].Receipt)
			s.pass(spool.SettledKept)
			s.requireAnswers(spool.ErrAlreadySettled, d[0].Receipt)
			s.pass(time.Millisecond)
			s.requireAnswers(spool.ErrStaleReceipt, d[0].Receipt)
			s.requireMessages(1)
		}},
		{name: "a receipt given twice in one call works once", run: func(s *store) {
			s.fill("a")
			r := s.lease(1)[0].Receipt
			answers := s.ack(r, r)
			if answers[0] != nil {
				s.t.Errorf("first: %v", answers[0])
			}
			requireIs(s.t, "second", answers[1], spool.ErrAlreadySettled)
		}},
		{name: "an old receipt does not end another's delivery", run: func(s *store) {
			s.fill("a")
			old := s.lease(1)
			s.pass(spool.DefaultVisibilityTimeout)
			d := s.requireLeased(1, "a")
			s.requireAnswers(spool.ErrStaleReceipt, old[0].Receipt)
			s.requireMessages(1)
			s.requireAcked(d...)
			s.requireMessages(0)
		}},
		{name: "what was never handed out is no receipt", run: func(s *store) {
			s.fill("a")
			r := s.lease(1)[0].Receipt
			s.requireAnswers(spool.ErrBadReceipt, "a", "", "rcpt-", "rcpt-nonsense", r[:len(r)-1], r+"A", r+"=", r[1:])
			s.requireAcked(spool.Delivery{Receipt: r})
		}},
		{name: "another spool's receipt is none here", run: func(s *store) {
			other := &store{t: s.t, engine: s.engine, dir: s.t.TempDir(), queues: local()}
			other.open()
			defer other.close()
			s.fill("a")
			other.fill("a")
			mine, foreign := s.lease(1), other.lease(1)
			s.requireAnswers(spool.ErrBadReceipt, foreign[0].Receipt)
			s.requireAcked(mine...)
		}},
		{name: "good and bad receipts are answered side by side", run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(2)
			s.requireAcked(d[0])
			answers := s.ack(d[0].Receipt, d[1].Receipt, "b")
			requireIs(s.t, "used", answers[0], spool.ErrAlreadySettled)
			requireIs(s.t, "bare id", answers[2], spool.ErrBadReceipt)
			if answers[1] != nil {
				s.t.Errorf("good: %v", answers[1])
			}
			s.requireMessages(0)
		}},
		{name: "acking nothing is no error", run: func(s *store) {
			if a := s.ack(); len(a) != 0 {
				s.t.Errorf("answers: %v", a)
			}
		}},
		{name: "a receipt is good over a restart", restarts: true, run: func(s *store) {
			s.fill("a", "b")
			d := s.lease(2)
			s.restart()
			s.requireAcked(d[0])
			s.pass(spool.DefaultVisibilityTimeout)
			s.requireAnswers(spool.ErrStaleReceipt, d[1].Receipt)
			s.requireAnswers(spool.ErrAlreadySettled, d[0].Receipt)
		}},
	}
}
