package protocol_test

import (
	"bytes"
	"testing"

	"drawbridge/protocol"
)

// FuzzDecode feeds one decoder: whatever it takes has this one form, and what it allocates is bounded by what it was given.
func FuzzDecode(f *testing.F) {
	for _, frame := range goldens() {
		f.Add(byte(frame.Type()), payloadOf(protocol.Append(nil, frame)))
	}
	for _, frame := range broken() {
		f.Add(byte(frame.Type()), payloadOf(protocol.Append(nil, frame)))
	}
	f.Fuzz(func(t *testing.T, frameType byte, payload []byte) {
		var frame protocol.Frame
		var err error
		got := allocated(func() { frame, err = protocol.Decode(protocol.Type(frameType), payload) })
		if limit := uint64(16<<10 + 32*len(payload)); got > limit {
			t.Fatalf("allocated %d bytes for a payload of %d", got, len(payload))
		}
		if err != nil {
			return
		}
		if again := payloadOf(protocol.Append(nil, frame)); !bytes.Equal(again, payload) {
			t.Fatalf("%x is read as %+v, which is written as %x", payload, frame, again)
		}
	})
}

// FuzzReader feeds a stream of frames, cut and spoiled anywhere.
func FuzzReader(f *testing.F) {
	var all []byte
	for _, frame := range goldens() {
		one := protocol.Append(nil, frame)
		f.Add(one)
		all = append(all, one...)
	}
	f.Add(all)
	f.Add(append([]byte{0x80, 3, 1, 2, 3}, all...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var frames []protocol.Frame
		got := allocated(func() {
			r := protocol.NewReader(bytes.NewReader(stream), maxBody)
			for {
				frame, err := r.Next()
				if err != nil {
					return
				}
				frames = append(frames, frame)
			}
		})
		if limit := uint64(256<<10 + 64*len(stream)); got > limit {
			t.Fatalf("allocated %d bytes for a stream of %d", got, len(stream))
		}
		var again []byte
		for _, frame := range frames {
			again = protocol.Append(again, frame)
		}
		if len(again) > len(stream) {
			t.Fatalf("%d bytes hold frames that are written as %d", len(stream), len(again))
		}
	})
}
