package protocol_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/protocol"
)

func TestReaderTakesFramesInOrderHoweverTheyArrive(t *testing.T) {
	var stream []byte
	var want []protocol.Frame
	for _, f := range goldens() {
		want = append(want, f)
		stream = protocol.Append(stream, f)
	}
	r := protocol.NewReader(iotest.OneByteReader(bytes.NewReader(stream)), maxBody)
	for _, f := range want {
		if got, err := r.Next(); err != nil || !reflect.DeepEqual(got, f) {
			t.Fatalf("got %+v, %v, want %+v", got, err, f)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestReaderSkipsWhatANewerPeerMaySay(t *testing.T) {
	optional := append([]byte{0x80, 0x80, 0x80, 4}, make([]byte, 64<<10)...)
	stream := protocol.Append(append(optional, 0xff, 0), &protocol.Heartbeat{Seq: 1})
	r := protocol.NewReader(bytes.NewReader(stream), maxBody)
	if f, err := r.Next(); err != nil || *f.(*protocol.Heartbeat) != (protocol.Heartbeat{Seq: 1}) {
		t.Errorf("behind two optional frames: %v, %v", f, err)
	}
	r = protocol.NewReader(bytes.NewReader(optional[:100]), maxBody)
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut in an optional frame: %v", err)
	}
}

func TestReaderRefuses(t *testing.T) {
	for name, stream := range map[string][]byte{
		"type 0":                        {0, 0},
		"a type kept for later":         {5, 0},
		"the last type below optional":  {0x7f, 0},
		"an optional frame too long":    {0x80, 0x81, 0x80, 4},
		"a length longer than it needs": {16, 0x82, 0, 0, 0},
		"a length without an end":       append([]byte{16}, bytes.Repeat([]byte{0x80}, 10)...),
		"a Hello of 4 KiB + 1":          {1, 0x81, 0x20},
		"a Welcome of 4 KiB + 1":        {2, 0x81, 0x20},
		"a Resume of 64 KiB + 1":        {3, 0x81, 0x80, 4},
		"a Close of 36,630 + 1":         {7, 0x97, 0x9e, 2},
		"an Accepted of 32 KiB + 1":     {8, 0x81, 0x80, 2},
		"a Refused of 2 KiB + 1":        {9, 0x81, 0x10},
		"a Floor of 257":                {10, 0x81, 2},
		"a Credit of 257":               {11, 0x81, 2},
		"a Use of 257":                  {12, 0x81, 2},
		"a Heartbeat of 257":            {16, 0x81, 2},
		"a Bye of 257":                  {17, 0x81, 2},
		"a Ship of 2 MiB":               {4, 0x80, 0x80, 0x80, 1},
	} {
		r := protocol.NewReader(bytes.NewReader(stream), maxBody)
		f, err := r.Next()
		if !errors.Is(err, pack.ErrMalformed) || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		if _, again := r.Next(); again != err {
			t.Errorf("%s, asked again: %v", name, again)
		}
	}
}

func TestReaderPassesTheStreamsErrorOn(t *testing.T) {
	reset := errors.New("stream reset")
	r := protocol.NewReader(io.MultiReader(bytes.NewReader([]byte{16, 2, 1}), iotest.ErrReader(reset)), maxBody)
	if _, err := r.Next(); !errors.Is(err, reset) {
		t.Errorf("got %v", err)
	}
}

func TestReaderTakesTheLargestFramesThatMayBeWritten(t *testing.T) {
	longestQueue := strings.Repeat("q", message.MaxQueueNameBytes)
	longestReason := message.Reason(strings.Repeat("r", message.MaxReasonBytes))
	largest := &protocol.Ship{Session: session, Route: "r", Queue: "q", Items: []protocol.Shipment{
		{Number: 1, Record: make([]byte, message.MaxRecordBytes(maxBody))}}}
	many := &protocol.Ship{Session: session, Route: "r", Queue: "q"}
	for i := range uint64(protocol.MaxShipItems) {
		many.Items = append(many.Items, protocol.Shipment{
			Number: 1<<63 + i<<51, Prev: message.Place{Stream: streamOf[0], Number: 1 << 63}, Age: message.MaxDuration,
			Record: make([]byte, protocol.BatchBytes/protocol.MaxShipItems),
		})
	}
	longName := protocol.Closing{
		Prev: message.Place{Stream: streamOf[0], Number: math.MaxUint64}, Age: message.MaxDuration,
		Name: message.EndToEnd{
			Origin: strings.Repeat("a", message.MaxAgentNameBytes), ID: strings.Repeat("i", message.MaxIDBytes), Generation: math.MaxUint32},
		Reason: longestReason,
	}
	closes := &protocol.Close{Session: session, Route: strings.Repeat("r", message.MaxRouteNameBytes), Queue: longestQueue}
	for i := range uint64(protocol.MaxCloseItems) {
		longName.Number = 1<<63 + i<<55
		closes.Items = append(closes.Items, longName)
	}
	var ranges []protocol.AcceptedRange
	for i := range uint64(protocol.MaxAcceptedRanges) {
		first := 1<<63 + i<<53
		ranges = append(ranges, protocol.AcceptedRange{Range: message.Range{First: first, Last: first + 1<<52}, Verdict: message.Closed, Young: true, Reason: longestReason})
	}
	everything := answer
	everything.Epoch.Counter, everything.Queue = math.MaxUint64, longestQueue
	for name, f := range map[string]protocol.Frame{
		"one record of the largest body":     largest,
		"a batch of as many as there may be": many,
		"as many Closes as there may be":     closes,
		"all ranges of an Accepted":          &protocol.Accepted{Answer: everything, Ranges: ranges},
	} {
		for _, body := range []uint64{maxBody, 1 << 62} {
			if _, err := protocol.NewReader(bytes.NewReader(protocol.Append(nil, f)), body).Next(); err != nil {
				t.Errorf("%s, with bodies of %d bytes: %v", name, body, err)
			}
		}
	}
	if _, err := protocol.NewReader(bytes.NewReader(protocol.Append(nil, many)), 0).Next(); err != nil {
		t.Errorf("a batch, where no body is taken: %v", err)
	}
}

func TestAClaimAloneAllocatesLittle(t *testing.T) {
	// A Ship of nearly 16 MiB, of which three bytes come.
	stream := []byte{4, 0xff, 0xff, 0xff, 7, 1, 2, 3}
	got := allocated(func() {
		if _, err := protocol.NewReader(bytes.NewReader(stream), 16<<20).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
	if got > 256<<10 {
		t.Errorf("allocated %d bytes for a frame of which 3 came", got)
	}
}

// allocated counts the bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
