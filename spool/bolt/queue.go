package bolt

import (
	"slices"

	"drawbridge/spool"
)

// windowGroups is how many groups of a lane that nobody has leased from are kept in memory ahead of its head, and
// loadGroups how many are loaded at once. Whatever lies behind is found on disk when the head gets there, so a queue of ten
// million messages costs no more memory than one of ten thousand. Groups with leases stay in memory as long as the leases.
const (
	windowGroups = 1024
	loadGroups   = 256
)

// queue is what the committer knows of one queue. Only the committer touches it.
type queue struct {
	name    string
	options spool.QueueOptions
	// configured is false for a queue that is in the file and not in the options: it is kept and takes nothing.
	configured bool

	counters
	lanes   [lanes]lane
	marks   marks
	inDoubt uint64
	leased  uint64
	waiting uint64
	counts  counts
	ended   ended
}

// counts are what happened since the store was opened.
type counts struct {
	stored, duplicates, acked, settled, accepted, buried, requeued, purged uint64
}

// lane is the messages of one priority.
type lane struct {
	// streamed says that the stream of this lane in the present epoch is in the file.
	streamed bool
	// head is the oldest group, if there is one.
	head   groupHead
	groups []*group // loaded, by first sequence
	// loadedTo is the first sequence up to which every group in the file is loaded; complete says that none lies behind.
	loadedTo uint64
	complete bool
	// readyFrom is a sequence below which no loaded message is ready.
	readyFrom uint64
}

type groupHead struct {
	first uint64
	at    int64
	epoch uint64
	ok    bool
}

// group is what is known of one group: all but its messages.
type group struct {
	lane  uint8
	first uint64
	count int
	at    int64
	live  int
	state
	// corrupt are messages that failed a checksum when they were about to be handed out. They are not tried again.
	corrupt bitmap
	dirty   bool
}

// find returns the position of the loaded group with the given first sequence, or where it would stand.
func (l *lane) find(first uint64) (int, bool) {
	return slices.BinarySearchFunc(l.groups, first, func(g *group, n uint64) int {
		switch {
		case g.first < n:
			return -1
		case g.first > n:
			return 1
		}
		return 0
	})
}

// containing returns the loaded group that holds sequence n, or nil.
func (l *lane) containing(n uint64) *group {
	i, ok := l.find(n)
	if !ok {
		i--
	}
	if i < 0 || n-l.groups[i].first >= uint64(l.groups[i].count) {
		return nil
	}
	return l.groups[i]
}

func (l *lane) insert(g *group) {
	if i, ok := l.find(g.first); !ok {
		l.groups = slices.Insert(l.groups, i, g)
	}
}

func (l *lane) remove(g *group) {
	if i, ok := l.find(g.first); ok {
		l.groups = slices.Delete(l.groups, i, i+1)
	}
}

// appended tells the lane of a group that the commit in progress adds at its tail.
func (l *lane) appended(g *group, epoch uint64) {
	if !l.head.ok {
		l.head = groupHead{first: g.first, at: g.at, epoch: epoch, ok: true}
	}
	if l.complete && len(l.groups) < windowGroups {
		l.groups = append(l.groups, g)
		l.loadedTo = g.first
		return
	}
	l.complete = false
}

// settle ends message i of g, whose record has size bytes, and reports whether it was live.
func (q *queue) settle(t *txn, g *group, i, size int) bool {
	if g.settled.has(i) {
		return false
	}
	if l := g.leases[i]; l != nil {
		t.mem.due.remove(l)
		delete(g.leases, i)
	}
	g.settled.add(i, g.count)
	g.live--
	q.live[g.lane]--
	q.bytes -= uint64(size)
	if q.marks.owner(g.lane, g.first+uint64(i)) != "" {
		q.inDoubt--
	}
	t.dirty(q, g)
	return true
}
