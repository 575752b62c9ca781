package bolt

import "container/heap"

// due holds the leases that run and the waits of what was given back, the first to run out on top.
type due struct {
	holdings []holding
}

// holding is a lease and the message it is for.
type holding struct {
	*lease
	queue *queue
	group *group
	index int
}

func (d *due) add(h holding) {
	*h.count()++
	heap.Push((*dueHeap)(d), h)
}

// count is what counts holdings of the kind of h.
func (h holding) count() *uint64 {
	if h.nonce == (nonce{}) {
		return &h.queue.waiting
	}
	return &h.queue.leased
}

// move gives a lease that runs another deadline.
func (d *due) move(l *lease, deadline int64) {
	l.deadline = deadline
	heap.Fix((*dueHeap)(d), l.place-1)
}

// remove takes out a lease that was settled or given anew; one that has run out is not there.
func (d *due) remove(l *lease) {
	if l.place > 0 {
		*heap.Remove((*dueHeap)(d), l.place-1).(holding).count()--
	}
}

// next returns the deadline of the first lease to run out.
func (d *due) next() (deadline int64, ok bool) {
	if len(d.holdings) == 0 {
		return 0, false
	}
	return d.holdings[0].deadline, true
}

// expire takes out the leases that have run out by now and makes their messages ready in their places. It returns the
// queues that they are in.
func (d *due) expire(now int64) map[string]struct{} {
	var ready map[string]struct{}
	for len(d.holdings) > 0 && d.holdings[0].deadline <= now {
		h := heap.Pop((*dueHeap)(d)).(holding)
		*h.count()--
		l := &h.queue.lanes[h.group.lane]
		l.readyFrom = min(l.readyFrom, h.group.first+uint64(h.index))
		if ready == nil {
			ready = make(map[string]struct{})
		}
		ready[h.queue.name] = struct{}{}
	}
	return ready
}

// dueHeap is due as package heap wants it. A lease knows its place, counted from 1.
type dueHeap due

func (d *dueHeap) Len() int           { return len(d.holdings) }
func (d *dueHeap) Less(i, j int) bool { return d.holdings[i].deadline < d.holdings[j].deadline }

func (d *dueHeap) Swap(i, j int) {
	d.holdings[i], d.holdings[j] = d.holdings[j], d.holdings[i]
	d.holdings[i].place, d.holdings[j].place = i+1, j+1
}

func (d *dueHeap) Push(x any) {
	h := x.(holding)
	d.holdings = append(d.holdings, h)
	h.place = len(d.holdings)
}

func (d *dueHeap) Pop() any {
	last := len(d.holdings) - 1
	h := d.holdings[last]
	d.holdings[last] = holding{}
	d.holdings = d.holdings[:last]
	h.place = 0
	return h
}
