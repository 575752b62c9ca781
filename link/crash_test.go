package link_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/message/history"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// TestEitherSideDiesAtEveryPoint lets one of two sides, which ship to each other, die at each point of a link, at the first
// passing and at the third. It starts again, both go on, and in the end each message is at the far side or dead with its reason.
func TestEitherSideDiesAtEveryPoint(t *testing.T) {
	for _, point := range link.HookPoints() {
		for _, nth := range []int{1, 3} {
			suffer(t, harm{point: point, nth: nth, dies: true})
		}
	}
}

// TestEitherSideDiesInEveryCommit does the same around the commits of one side's spool, whatever they are for.
func TestEitherSideDiesInEveryCommit(t *testing.T) {
	for _, point := range commitPoints() {
		for nth := 1; nth <= 31; nth += 3 {
			suffer(t, harm{point: point, nth: nth, dies: true})
		}
	}
}

// TestEveryStepOfEitherSideFails ends the session at each point of a link, as a step that fails does, or a link that is lost.
func TestEveryStepOfEitherSideFails(t *testing.T) {
	for _, point := range link.HookPoints() {
		for _, nth := range []int{1, 3} {
			suffer(t, harm{point: point, nth: nth, fails: true})
		}
	}
}

// TestEveryCommitOfEitherSideFails has a disk refuse a commit, or say so of one that is in the file. The spool opens itself
// again under a new epoch, and everything goes on.
func TestEveryCommitOfEitherSideFails(t *testing.T) {
	for _, point := range commitPoints() {
		for nth := 2; nth <= 32; nth += 3 {
			suffer(t, harm{point: point, nth: nth, fails: true})
		}
	}
}

// TestClockJumpsAtEveryPoint moves one side's wall clock by a year, while it runs and while it is dead. Nothing may run out
// of its horizon or be forgotten for that.
func TestClockJumpsAtEveryPoint(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, point := range link.HookPoints() {
		for _, jump := range []time.Duration{-year, year} {
			suffer(t, harm{point: point, nth: 1, jump: jump})
			suffer(t, harm{point: point, nth: 3, jump: jump, dies: true})
		}
	}
}

func commitPoints() []string {
	return []string{bolt.HookCommitBegin, bolt.HookCommitApplied, bolt.HookCommitDone}
}

// harm is what is done to one side when it passes a point for the nth time.
type harm struct {
	point string
	nth   int
	// dies: the side does nothing more until it is started again. fails: the step fails, and that is all.
	dies, fails bool
	// jump is how far its wall clock is moved.
	jump time.Duration
}

// suffer does harm to the near side and, in another run, to the far side.
func suffer(t *testing.T, h harm) {
	for _, victim := range []string{"near", "far"} {
		t.Run(fmt.Sprintf("%s/%d/%s/%s", h.point, h.nth, h.jump, victim), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrossing(t, victim, &fate{harm: h})
				defer c.end()
				for range 5 {
					c.round()
				}
				for rounds := 0; !c.fate.hasHappened() && rounds < 20; rounds++ {
					c.net.deaf(c.fate.side.addr) // now it must be the one that dials
					c.round()
				}
				if !c.fate.hasHappened() {
					t.Errorf("point %s was passed %d times", h.point, c.fate.passed)
				}
				c.judge()
			})
		})
	}
}

// fate is the hook of a side that is to be harmed. From its death until it is revived its connections are cut and every
// other point fails too, those of its spool included: nothing more is said and nothing more is committed.
type fate struct {
	harm
	side *side
	died chan struct{}

	mu       sync.Mutex // guards what follows
	passed   int
	dead     bool
	happened bool
}

var (
	errDead   = errors.New("the process is dead")
	errFailed = errors.New("the step has failed")
)

func (f *fate) hook(point string) error {
	f.mu.Lock()
	now := false
	if point == f.point && !f.happened {
		f.passed++
		now = f.passed == f.nth
		f.happened, f.dead = now, now && f.dies
	}
	dead := f.dead
	f.mu.Unlock()
	switch {
	case now && f.dies:
		f.side.isolate()
		close(f.died)
		return errDead
	case now && f.fails:
		return errFailed
	case dead:
		return errDead
	}
	return nil
}

// now is the side's wall clock.
func (f *fate) now() time.Time {
	if f.hasHappened() {
		return time.Now().Add(f.jump)
	}
	return time.Now()
}

func (f *fate) hasHappened() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.happened
}

func (f *fate) revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = false
}

// isolate cuts a side off: nobody hears of its end.
func (s *side) isolate() {
	s.net.deaf(s.addr)
	for _, p := range s.net.made() {
		p.cut()
	}
}

// crossing is two sides that ship to each other, one of which is harmed once.
type crossing struct {
	t     *testing.T
	net   *network
	fate  *fate
	sides []*side // near, far
	// died is that of fate until it was seen.
	died  <-chan struct{}
	turns [2]int
	h     history.History
}

// ways are the queues that leave the near and the far side; each is what the other side takes.
var ways = [2]string{orders, refunds}

func newCrossing(t *testing.T, victim string, f *fate) *crossing {
	n := newNetwork()
	n.delay = 20 * time.Millisecond
	f.died = make(chan struct{})
	c := &crossing{t: t, net: n, fate: f, died: f.died}
	for i, o := range []link.Options{
		{Name: "far", Agent: "near", Self: nearPin, Pins: []link.Pin{farPin}, Addresses: []string{farAddr}},
		{Name: "near", Agent: "far", Self: farPin, Pins: []link.Pin{nearPin}, Addresses: []string{nearAddr}},
	} {
		out, in := ways[i], ways[1-i]
		o.DataConns, o.CreditBytes, o.Seed = 1, 1<<20, uint64(i)
		o.Sends, o.Receives = []link.Send{{Name: out, From: out, To: out, RetryFor: time.Hour}}, []link.Receive{{To: in}}
		b := bolt.Options{Agent: o.Agent, LedgerMemoryBytes: 64 << 10, Queues: map[string]spool.QueueOptions{
			out: {Route: out}, in: {MaxMessageBytes: smallBody},
		}}
		s := &side{t: t, net: n, addr: []string{nearAddr, farAddr}[i], dir: quickDir(t), o: o, b: b}
		if o.Agent == victim {
			f.side = s
			s.o.Hook, s.b.Hook, s.b.Now = f.hook, f.hook, f.now
		}
		c.sides = append(c.sides, s)
		s.start()
	}
	return c
}

func (c *crossing) end() {
	for _, s := range c.sides {
		s.crash()
	}
}

// round stores some messages at each side, in a lane of their own, waits until they have left, and ends the session.
func (c *crossing) round() {
	for i := range c.sides {
		c.put(i)
	}
	c.drain()
	time.Sleep(200 * time.Millisecond) // floors are on their way
	for _, p := range c.net.made() {
		p.cut()
	}
	time.Sleep(time.Second)
}

// put stores a handful of messages at a side. The one in the middle is larger than the other side takes.
func (c *crossing) put(side int) {
	c.t.Helper()
	priority := uint8(c.turns[side] / 5 % (message.MaxPriority + 1))
	puts := make([]spool.Put, 5)
	for i := range puts {
		size := 10
		if i == 2 {
			size = 2 * smallBody
		}
		id := fmt.Sprintf("m-%05d", c.turns[side])
		puts[i] = spool.Put{Queue: ways[side], ID: id, Priority: priority, Body: []byte(strings.Repeat(id[:1], size))}
		c.h.Puts = append(c.h.Puts, history.Put{
			ID: ways[side] + "/" + id, Producer: side, Turn: c.turns[side], Queue: ways[side], Priority: priority,
			Sum: history.SumOf(puts[i].Body), Heard: history.Stored,
		})
		c.turns[side]++
	}
	for {
		results, err := c.sides[side].store.Put(context.Background(), puts)
		if errors.Is(err, errDead) || errors.Is(err, spool.ErrClosed) {
			c.restart()
			continue
		}
		if errors.Is(err, errFailed) {
			continue
		}
		if err != nil {
			c.t.Fatal(err)
		}
		for _, r := range results {
			if r.Status != spool.Stored && r.Status != spool.Duplicate {
				c.t.Errorf("put %+v", r)
			}
		}
		return
	}
}

// restart opens the side that has died again. What it was doing when it died does nothing more.
func (c *crossing) restart() {
	<-c.died
	c.died = nil
	s := c.fate.side
	s.isolate()
	s.stop()
	<-s.done
	_ = s.store.Close() // as dead as the rest
	c.fate.revive()
	time.Sleep(300 * time.Millisecond)
	s.start()
}

// drain waits until nothing is left to ship.
func (c *crossing) drain() {
	c.t.Helper()
	for deadline := time.Now().Add(soon); c.depth() > 0; {
		select {
		case <-c.died:
			c.restart()
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%d messages are stranded: %+v, %+v", c.depth(), c.sides[0].link.Status(), c.sides[1].link.Status())
		}
	}
}

func (c *crossing) depth() (n uint64) {
	for i, s := range c.sides {
		n += statsOf(s.store, ways[i]).Messages
	}
	return n
}

func statsOf(s *bolt.Store, queue string) spool.QueueStats {
	for _, q := range s.Stats() {
		if q.Name == queue {
			return q
		}
	}
	return spool.QueueStats{}
}

// judge compares what is left with what was put, and the counters with what is left.
func (c *crossing) judge() {
	c.t.Helper()
	select {
	case <-c.died: // at the very end
		c.restart()
	default:
	}
	c.drain()
	for i, s := range c.sides {
		c.left(s, ways[i], 0)
		c.left(s, ways[1-i], 4*c.turns[1-i]/5)
		c.left(s, message.DeadQueue(ways[i]), c.turns[i]/5)
		c.left(s, message.DeadQueue(ways[1-i]), 0)
	}
	if f := history.Judge(c.h); !f.Clean() {
		c.t.Errorf("%+v", f)
	}
}

func (c *crossing) left(s *side, queue string, want int) {
	c.t.Helper()
	peeked, err := s.store.Peek(context.Background(), queue, 0, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	var bytes uint64
	for _, p := range peeked {
		copied := history.Copy{ID: queue + "/" + p.ID, Queue: queue, Sequence: p.Sequence, Sum: history.SumOf(p.Body)}
		if p.Death != nil {
			copied.ID, copied.Queue, copied.Reason = p.Death.Queue+"/"+p.ID, p.Death.Queue, p.Death.Reason
			if p.Death.Reason != message.ReasonTooLarge {
				c.t.Errorf("%s died of %s: %s", copied.ID, p.Death.Reason, p.Death.Text)
			}
		}
		c.h.Left = append(c.h.Left, copied)
		records, err := s.store.Fetch(context.Background(), spool.Route{Queue: queue}, p.Priority, []uint64{p.Sequence})
		if err != nil || len(records) != 1 {
			c.t.Fatalf("%s has %d records, %v", copied.ID, len(records), err)
		}
		bytes += uint64(len(records[0].Bytes))
	}
	q := statsOf(s.store, queue)
	if len(peeked) != want || q.Messages != uint64(want) || q.Bytes != bytes || q.InDoubt != 0 || q.Leased != 0 {
		c.t.Errorf("queue %q of %s holds %d messages of %d bytes, want %d; it says %+v", queue, s.o.Agent, len(peeked), bytes, want, q)
	}
}
