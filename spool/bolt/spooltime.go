package bolt

import (
	"time"

	"drawbridge/message/pack"
)

// clock is spool time in milliseconds. While the store is open it advances with the monotonic clock, so that a step of the
// wall clock expires nothing; across a restart it advances by the wall clock's difference, if that is positive. It never
// goes back. It is immutable and safe for concurrent use.
type clock struct {
	wall  func() time.Time
	base  int64
	since time.Time
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
	return &clock{wall: wall, base: max(1, last.spool+passed), since: time.Now()}
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

func milliseconds(d time.Duration) int64 { return max(1, d.Milliseconds()) }

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
