package flow

// entry is one message in the lane: 48 bytes, so that two windows of a busy lane cost less than a megabyte.
type entry struct {
	number uint64
	// until is when it is to be closed, in nanoseconds since the zero of the lane; never if that is beyond all time.
	until int64
	// first is when it was first shipped in this session, in nanoseconds since the session began.
	first int64
	bytes uint32
	// stream is a slot of the stream table.
	stream uint32
	// batch is the serial of the batch that carried it last.
	batch uint32
	// via is the connection that carries it, or waiting or gone.
	via int32
	// cause is why it is to be closed from until on, closing why it is being closed; slots of the lane's causes, 0 for none.
	cause, closing uint8
	// closed says that it left as a Close last.
	closed bool
}

const (
	// waiting: to be shipped, for the first time or again.
	waiting int32 = -1
	// gone: answered; it stays in the ring until everything below it is gone too.
	gone int32 = -2
)

const smallestRing = 64

// ring holds entries at rising positions [head, tail). A position never changes while its entry is held.
type ring struct {
	slots      []entry // a power of two, so that a position is masked to its slot
	head, tail uint64
}

func (r *ring) at(position uint64) *entry { return &r.slots[position&uint64(len(r.slots)-1)] }

func (r *ring) push(e entry) {
	if r.tail-r.head == uint64(len(r.slots)) {
		r.resize(max(smallestRing, 2*len(r.slots)))
	}
	r.tail++
	*r.at(r.tail - 1) = e
}

// dropGone lets go of what is gone at the head, and of memory that a burst left behind.
func (r *ring) dropGone() {
	for r.head < r.tail && r.at(r.head).via == gone {
		r.head++
	}
	if r.head == r.tail && len(r.slots) > 1024 {
		r.slots = nil
	}
}

func (r *ring) resize(slots int) {
	bigger := ring{slots: make([]entry, slots), head: r.head, tail: r.tail}
	for p := r.head; p < r.tail; p++ {
		*bigger.at(p) = *r.at(p)
	}
	*r = bigger
}

// search returns the position of the lowest entry whose number is at or above number, tail if there is none.
func (r *ring) search(number uint64) uint64 {
	low, high := r.head, r.tail
	for low < high {
		middle := low + (high-low)/2
		if r.at(middle).number < number {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// below returns the position of the nearest entry under position that is not gone. ok is false if there is none.
func (r *ring) below(position uint64) (p uint64, ok bool) {
	for p = position; p > r.head; {
		p--
		if r.at(p).via != gone {
			return p, true
		}
	}
	return 0, false
}
