package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message/pack"
	"drawbridge/spool"
)

// clock is spool time in milliseconds. While the store is open it advances with the monotonic clock, so that a step of the
// wall clock expires nothing; across a restart it advances by the wall clock's difference, if that is positive. It never
// goes back. It is immutable and safe for concurrent use.
type clock struct {
	wall  func() time.Time
	base  int64
	since time.Time
	// jump is by how much it has advanced at the start, if that is more than is believed without asking; else 0.
	jump int64
}

// moment is spool time and wall clock at one instant, as each commit stores them.
type moment struct {
	spool, wall int64
}

func startClock(last moment, wall func() time.Time) *clock {
	passed := int64(0)
	if last.wall != 0 {
		passed = max(0, wall().UnixMilli()-last.wall)
	}
	// Spool time begins at 1, so that 0 can mean never.
	c := &clock{wall: wall, base: max(1, last.spool+passed), since: time.Now()}
	if passed > spool.MaxTimeJump.Milliseconds() {
		c.jump = passed
	}
	return c
}

func (c *clock) now() int64 { return c.base + time.Since(c.since).Milliseconds() }

func (c *clock) moment() moment { return moment{spool: c.now(), wall: c.wall().UnixMilli()} }

func (m moment) append(b []byte) []byte {
	b = pack.AppendUint64(b, uint64(m.spool))
	return pack.AppendUint64(b, uint64(m.wall))
}

func parseMoment(b []byte) (moment, error) {
	r := pack.NewReader(b)
	m := moment{spool: int64(r.Uint64()), wall: int64(r.Uint64())}
	return m, r.Finish()
}

// startTime starts spool time from what the file says, or stores how far it has come if it runs already. It returns the jumps
// that nobody has accepted: they are kept in the file, so that another start is no acceptance.
func (s *Store) startTime(meta *bbolt.Bucket) (jump int64, err error) {
	if jump, err = readMillis(meta, keyJump); err != nil {
		return 0, err
	}
	if s.clock == nil {
		var last moment
		if b := meta.Get(keyTime); b != nil {
			if last, err = parseMoment(b); err != nil {
				return 0, fmt.Errorf("spool time: %w", err)
			}
		}
		s.clock = startClock(last, s.options.Now)
		if jump += s.clock.jump; s.clock.jump > 0 {
			if err := meta.Put(keyJump, binary.BigEndian.AppendUint64(nil, uint64(jump))); err != nil {
				return 0, err
			}
		}
		if jump > 0 {
			s.log.Warn("time has jumped while the spool was closed, the ledger forgets nothing for its age until this is accepted",
				"jump", duration(jump).Round(time.Second))
		}
	}
	return jump, meta.Put(keyTime, s.clock.moment().append(nil))
}

// AcceptTime implements spool.Ledger.
func (s *Store) AcceptTime(ctx context.Context) error {
	jump := s.LedgerStats().Jump
	err := s.commit(ctx, 0, func(t *txn) error {
		if t.mem.jump == 0 {
			return nil
		}
		t.mem.jump = 0
		t.changed = true
		return t.tx.Bucket(bucketMeta).Delete(keyJump)
	})
	if err != nil {
		return fmt.Errorf("accept the jump of time: %w", err)
	}
	if jump > 0 {
		s.log.Info("the jump of time is accepted", "jump", jump.Round(time.Second))
	}
	return nil
}

// readMillis reads a number of milliseconds, 0 if there is none.
func readMillis(meta *bbolt.Bucket, key []byte) (int64, error) {
	v := meta.Get(key)
	if v == nil {
		return 0, nil
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("%s: %w", key, pack.ErrMalformed)
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}

func milliseconds(d time.Duration) int64 { return max(1, d.Milliseconds()) }

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
