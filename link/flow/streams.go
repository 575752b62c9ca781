package flow

import "drawbridge/message"

// maxEarlyStreams bounds the streams that a peer can make the lane remember by crediting what the lane does not hold.
const maxEarlyStreams = 64

// stream is what the lane knows of one of its streams.
type stream struct {
	id message.StreamID
	// held counts its entries that are not gone.
	held int
	// through is the highest number that may be shipped, once a credit has come.
	credited bool
	through  uint64
}

// streams is a table with stable slots. A lane holds messages of few epochs at a time, so it is searched from end to end.
type streams []stream

// find returns the slot of id.
func (s streams) find(id message.StreamID) (slot uint32, ok bool) {
	for i := range s {
		if s[i].id == id && s[i].inUse() {
			return uint32(i), true
		}
	}
	return 0, false
}

// need returns the slot of id and makes one if there is none.
func (s *streams) need(id message.StreamID) uint32 {
	if slot, ok := s.find(id); ok {
		return slot
	}
	for i := range *s {
		if !(*s)[i].inUse() {
			(*s)[i] = stream{id: id}
			return uint32(i)
		}
	}
	*s = append(*s, stream{id: id})
	return uint32(len(*s) - 1)
}

// credit notes how far the peer lets stream id go. Credit for a stream that the lane does not hold is remembered while
// there is room: the peer may know from a Resume what the loader has not reached yet.
func (s *streams) credit(id message.StreamID, through uint64) {
	slot, ok := s.find(id)
	if !ok {
		if s.early() >= maxEarlyStreams {
			return
		}
		slot = s.need(id)
	}
	(*s)[slot].credited, (*s)[slot].through = true, through
}

// early counts the streams that are credited but not held.
func (s streams) early() (n int) {
	for i := range s {
		if s[i].held == 0 && s[i].credited {
			n++
		}
	}
	return n
}

// forgetCredit takes all streams back to the initial grant.
func (s streams) forgetCredit() {
	for i := range s {
		s[i].credited, s[i].through = false, 0
	}
}

func (s *stream) inUse() bool { return s.held > 0 || s.credited }
