package protocol

import (
	"math"
	"slices"
	"time"

	"drawbridge/message"
	"drawbridge/message/pack"
)

const (
	// BatchBytes bounds the records of one Ship, taken together, unless it has only one.
	BatchBytes = 64 << 10
	// MaxShipItems is how many messages a Ship may carry: more than there are in BatchBytes, because no record is so short.
	MaxShipItems = 2048
)

// Ship is one batch of messages of one stream. It stands alone on a unidirectional stream.
type Ship struct {
	Session message.SessionID
	Route   string
	// Queue is the far queue.
	Queue  string
	Stream message.StreamID
	// Items have strictly rising numbers; there is at least one.
	Items []Shipment
}

// Shipment is one message in a Ship.
type Shipment struct {
	Number uint64
	// Prev is the nearest lower message of the lane that the sender still held when it built the frame; zero if none.
	Prev message.Place
	// Age is how long ago a frame with the message may first have left the sender, in whole milliseconds.
	Age time.Duration
	// Again marks a message that may have been delivered in a life of the spool that is lost.
	Again bool
	// Record is what message.AppendRecord wrote. In a frame that was read it is unverified and shares memory with its
	// neighbours: the whole batch lives as long as one of its records.
	Record []byte
}

// Type implements Frame.
func (*Ship) Type() Type { return TypeShip }

// plain is the only encoding of a batch so far: the items as they are.
const plain byte = 0

// The ways to write a Prev: none, by its distance in the Ship's own stream, or in full.
const (
	prevNone byte = iota
	prevHere
	prevElsewhere
)

const (
	// shipHeadBytes bounds what stands before the items.
	shipHeadBytes = 8 + 2 + message.MaxRouteNameBytes + 1 + message.MaxQueueNameBytes + 16 + 1 + 2
	// itemHeadBytes bounds what stands before a record: number, prev, age, again, the record's length.
	itemHeadBytes = 10 + (1 + 16 + 10) + 10 + 1 + 10
	// leastItemBytes is an item with an empty record.
	leastItemBytes = 1 + 1 + 1 + 1 + 1
)

func (s *Ship) appendPayload(b []byte) []byte {
	b = slices.Grow(b, s.maxBytes())
	b = append(b, s.Session[:]...)
	b = pack.AppendString(b, s.Route)
	b = pack.AppendString(b, s.Queue)
	b = append(b, s.Stream[:]...)
	b = append(b, plain)
	b = pack.AppendUvarint(b, uint64(len(s.Items)))
	var before uint64
	for i := range s.Items {
		item := &s.Items[i]
		b = pack.AppendUvarint(b, item.Number-before)
		b = appendPrev(b, s.Stream, item.Number, item.Prev)
		b = appendDuration(b, item.Age)
		b = pack.AppendBool(b, item.Again)
		b = pack.AppendString(b, item.Record)
		before = item.Number
	}
	return b
}

func (s *Ship) maxBytes() int {
	n := shipHeadBytes + len(s.Items)*itemHeadBytes
	for i := range s.Items {
		n += len(s.Items[i].Record)
	}
	return n
}

// appendPrev writes the prev of a number in stream.
func appendPrev(b []byte, stream message.StreamID, number uint64, prev message.Place) []byte {
	switch {
	case prev.Number == 0:
		return append(b, prevNone)
	case prev.Stream == stream:
		return pack.AppendUvarint(append(b, prevHere), number-prev.Number)
	default:
		b = append(append(b, prevElsewhere), prev.Stream[:]...)
		return pack.AppendUvarint(b, prev.Number)
	}
}

func (s *Ship) parse(r *pack.Reader) {
	s.Session = readSession(r)
	s.Route = readRoute(r)
	s.Queue = readQueue(r)
	r.Fixed(s.Stream[:])
	if encoding := r.Byte(); encoding != plain {
		r.Failf("a batch has encoding %d, this program reads %d", encoding, plain)
	}
	s.Items = make([]Shipment, readCount(r, MaxShipItems, leastItemBytes))
	var before uint64
	for i := range s.Items {
		item := &s.Items[i]
		item.Number = readAbove(r, before)
		item.Prev = readPrev(r, s.Stream, item.Number)
		item.Age = readDuration(r)
		item.Again = r.Bool()
		item.Record = r.Bytes(math.MaxInt32)
		before = item.Number
	}
	if len(s.Items) == 0 {
		r.Failf("a batch without a message")
	}
}

func readPrev(r *pack.Reader, stream message.StreamID, number uint64) (prev message.Place) {
	switch kind := r.Byte(); kind {
	case prevNone:
		return prev
	case prevHere:
		distance := r.Uvarint()
		if distance == 0 || distance >= number {
			r.Failf("the prev of %d lies %d below it", number, distance)
		}
		return message.Place{Stream: stream, Number: number - distance}
	case prevElsewhere:
		r.Fixed(prev.Stream[:])
		prev.Number = r.Uvarint()
		if prev.Number == 0 || prev.Stream == stream {
			r.Failf("the prev of %d is not in its only form", number)
		}
		return prev
	default:
		r.Failf("the prev of %d is of kind %d", number, kind)
		return prev
	}
}
