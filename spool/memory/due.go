package memory

import (
	"container/heap"
	"time"
)

// due holds the leases that run, by delivery, and with the waits of what was given back the first to run out on top.
type due struct {
	running map[uint64]*entry
	entries []*entry
}

func (d *due) add(e *entry) {
	if d.running == nil {
		d.running = make(map[uint64]*entry)
	}
	if e.delivery != 0 {
		d.running[e.delivery] = e
	}
	e.held = true
	heap.Push((*dueHeap)(d), e)
	*e.count()++
}

// count is what counts holdings of the kind of e's.
func (e *entry) count() *uint64 {
	if e.delivery == 0 {
		return &e.queue.stats.Waiting
	}
	return &e.queue.stats.Leased
}

// move gives e, which is held, another deadline.
func (d *due) move(e *entry, deadline int64) {
	e.deadline = deadline
	heap.Fix((*dueHeap)(d), e.place)
}

// remove ends the lease or the wait of e, if there is one.
func (d *due) remove(e *entry) {
	if !e.held {
		return
	}
	heap.Remove((*dueHeap)(d), e.place)
	delete(d.running, e.delivery)
	*e.count()--
	e.held, e.delivery = false, 0
}

// expire ends the leases that have run out by now, makes their messages ready in their places and tells those who wait.
func (s *Store) expire(now int64) {
	for len(s.due.entries) > 0 && s.due.entries[0].deadline <= now {
		e := s.due.entries[0]
		s.due.remove(e)
		l := &e.queue.lanes[e.lane]
		l.readyFrom = min(l.readyFrom, e.sequence)
		s.wake(e.queue.stats.Name)
	}
}

// setTimer sets the timer to the moment at which the next lease runs out.
func (s *Store) setTimer(now int64) {
	if len(s.due.entries) == 0 {
		return
	}
	left := duration(s.due.entries[0].deadline - now)
	if s.timer == nil {
		s.timer = time.AfterFunc(left, s.leaseRanOut)
		return
	}
	s.timer.Reset(left)
}

func (s *Store) leaseRanOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	now := s.now()
	s.expire(now)
	s.setTimer(now)
}

// Watch implements spool.Local.
func (s *Store) Watch(queue string) (ready <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers[queue] == nil {
		s.watchers[queue] = make(map[chan struct{}]struct{})
	}
	s.watchers[queue][c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers[queue], c)
		if len(s.watchers[queue]) == 0 {
			delete(s.watchers, queue)
		}
	}
}

// wake tells those who watch the queue. It never waits: a value that is not yet taken says as much as two.
func (s *Store) wake(queue string) {
	for c := range s.watchers[queue] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// dueHeap is due as package heap wants it. An entry knows its place.
type dueHeap due

func (d *dueHeap) Len() int           { return len(d.entries) }
func (d *dueHeap) Less(i, j int) bool { return d.entries[i].deadline < d.entries[j].deadline }

func (d *dueHeap) Swap(i, j int) {
	d.entries[i], d.entries[j] = d.entries[j], d.entries[i]
	d.entries[i].place, d.entries[j].place = i, j
}

func (d *dueHeap) Push(x any) {
	e := x.(*entry)
	e.place = len(d.entries)
	d.entries = append(d.entries, e)
}

func (d *dueHeap) Pop() any {
	last := len(d.entries) - 1
	e := d.entries[last]
	d.entries[last] = nil
	d.entries = d.entries[:last]
	return e
}
