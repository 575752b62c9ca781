package protocol

import (
	"time"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// Resume is a page of what a sender knows about its routes. The receiver decides frames of a route only after its page.
type Resume struct {
	Session message.SessionID
	Routes  []ResumeRoute
	// Last says that no page follows.
	Last bool
}

// ResumeRoute is the state of one route. A route stands on one page.
type ResumeRoute struct {
	Name string
	// Queue is the far queue.
	Queue string
	// Horizon is the longest the sender may retry one message, in whole milliseconds; 0 for unbounded.
	Horizon time.Duration
	Streams []ResumeStream
}

// ResumeStream is the state of one stream on a route.
type ResumeStream struct {
	Stream message.StreamID
	// Floor is the lowest number still held; 0 for none.
	Floor uint64
	// Settled is the highest number settled as delivered; 0 for none.
	Settled uint64
	// Held are the numbers still held at or below Settled: rising and disjoint.
	Held []message.Range
}

// Type implements Frame.
func (*Resume) Type() Type { return TypeResume }

func (p *Resume) appendPayload(b []byte) []byte {
	b = append(b, p.Session[:]...)
	b = pack.AppendBool(b, p.Last)
	b = pack.AppendUvarint(b, uint64(len(p.Routes)))
	for i := range p.Routes {
		b = p.Routes[i].append(b)
	}
	return b
}

func (p *Resume) parse(r *pack.Reader) {
	p.Session = readSession(r)
	p.Last = r.Bool()
	const leastBytes = 2 + 2 + 1 + 1
	if n := readCount(r, maxResumeBytes, leastBytes); n > 0 {
		p.Routes = make([]ResumeRoute, n)
	}
	for i := range p.Routes {
		p.Routes[i].parse(r)
	}
}

func (t *ResumeRoute) append(b []byte) []byte {
	b = pack.AppendString(b, t.Name)
	b = pack.AppendString(b, t.Queue)
	b = appendDuration(b, t.Horizon)
	b = pack.AppendUvarint(b, uint64(len(t.Streams)))
	for i := range t.Streams {
		b = t.Streams[i].append(b)
	}
	return b
}

func (t *ResumeRoute) parse(r *pack.Reader) {
	t.Name = readRoute(r)
	t.Queue = readQueue(r)
	t.Horizon = readDuration(r)
	const leastBytes = 16 + 1 + 1 + 1
	if n := readCount(r, maxResumeBytes, leastBytes); n > 0 {
		t.Streams = make([]ResumeStream, n)
	}
	for i := range t.Streams {
		t.Streams[i].parse(r)
	}
}

func (s *ResumeStream) append(b []byte) []byte {
	b = append(b, s.Stream[:]...)
	b = pack.AppendUvarint(b, s.Floor)
	b = pack.AppendUvarint(b, s.Settled)
	b = pack.AppendUvarint(b, uint64(len(s.Held)))
	var before uint64
	for _, held := range s.Held {
		b = appendRange(b, before, held)
		before = held.Last
	}
	return b
}

func (s *ResumeStream) parse(r *pack.Reader) {
	r.Fixed(s.Stream[:])
	s.Floor = r.Uvarint()
	s.Settled = r.Uvarint()
	const leastBytes = 1 + 1
	if n := readCount(r, maxResumeBytes, leastBytes); n > 0 {
		s.Held = make([]message.Range, n)
	}
	var before uint64
	for i := range s.Held {
		s.Held[i] = readRange(r, before)
		before = s.Held[i].Last
	}
	if before > s.Settled {
		r.Failf("number %d is held at or below %d", before, s.Settled)
	}
}
