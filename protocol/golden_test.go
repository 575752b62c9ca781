package protocol_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/protocol"
)

const maxBody = 1 << 20

var (
	spoolA   = message.SpoolID(bytes.Repeat([]byte{0xa1}, 16))
	spoolB   = message.SpoolID(bytes.Repeat([]byte{0xa2}, 16))
	streamOf = [...]message.StreamID{
		message.StreamID(bytes.Repeat([]byte{0xb0}, 16)),
		message.StreamID(bytes.Repeat([]byte{0xb1}, 16)),
	}
	session = message.SessionID(bytes.Repeat([]byte{0xc1}, 8))
	fence   = message.SessionID(bytes.Repeat([]byte{0xd1}, 8))
	answer  = protocol.Answer{Session: session, Spool: spoolB, Epoch: message.Epoch{Counter: 3, Tag: 0x33}, Queue: "orders", Stream: streamOf[1]}
)

// goldens are one value of each frame; testdata holds its bytes, docs/protocol.md explains them.
func goldens() map[string]protocol.Frame {
	large, small := goldenMessage(), smallMessage()
	return map[string]protocol.Frame{
		"hello": &protocol.Hello{
			Versions: protocol.VersionRange{Min: 1, Max: 1},
			Agent:    "fra-1",
			Spool:    spoolA,
			Epochs:   []message.Epoch{{Counter: 2, Tag: 0x22}, {Counter: 1, Tag: 0x11}},
			Fence:    fence,
			Limits:   protocol.Limits{MaxMessageBytes: 1 << 20, CreditBytes: 8 << 20, CreditMessages: 4096},
		},
		"welcome": &protocol.Welcome{
			Version:  1,
			Agent:    "nyc-1",
			Spool:    spoolB,
			Epochs:   []message.Epoch{{Counter: 3, Tag: 0x33}},
			Restored: true,
			Limits:   protocol.Limits{MaxMessageBytes: 1 << 20, CreditBytes: 8 << 20, CreditMessages: 4096},
			Session:  session,
			Fence:    message.SessionID(bytes.Repeat([]byte{0xd2}, 8)),
		},
		"use": &protocol.Use{Session: session, Order: 5},
		"resume": &protocol.Resume{
			Session: session,
			Routes: []protocol.ResumeRoute{{
				Name:    "nyc",
				Queue:   "orders",
				Horizon: 72 * time.Hour,
				Streams: []protocol.ResumeStream{
					{Stream: streamOf[0], Floor: 7, Settled: 12, Held: []message.Range{{First: 7, Last: 7}, {First: 10, Last: 11}}},
					{Stream: streamOf[1]},
				},
			}},
			Last: true,
		},
		"ship": &protocol.Ship{
			Session: session,
			Route:   "nyc",
			Queue:   "orders",
			Stream:  streamOf[1],
			Items: []protocol.Shipment{
				{Number: 20, Prev: message.Place{Stream: streamOf[0], Number: 11}, Age: 1500 * time.Millisecond, Again: true, Record: recordOf(large)},
				{Number: 22, Prev: message.Place{Stream: streamOf[1], Number: 20}, Record: recordOf(small)},
			},
		},
		"close": &protocol.Close{
			Session: session,
			Route:   "nyc",
			Queue:   "orders",
			Stream:  streamOf[1],
			Items: []protocol.Closing{
				{
					Number: 20, Prev: message.Place{Stream: streamOf[0], Number: 11}, Age: 90 * time.Second,
					Name: large.EndToEnd(), Sum: large.ContentSum(), Reason: message.ReasonTTL,
				},
				{
					Number: 22, Prev: message.Place{Stream: streamOf[1], Number: 20},
					Name: small.EndToEnd(), Sum: small.ContentSum(), Reason: message.ReasonTooLarge,
				},
			},
		},
		"accepted": &protocol.Accepted{Answer: answer, Ranges: []protocol.AcceptedRange{
			{Range: message.Range{First: 20, Last: 20}, Verdict: message.Accepted},
			{Range: message.Range{First: 22, Last: 299}, Verdict: message.Duplicate},
			{Range: message.Range{First: 300, Last: 300}, Verdict: message.Below, Young: true},
			{Range: message.Range{First: 301, Last: 302}, Verdict: message.Closed, Reason: message.ReasonTTL},
			{Range: message.Range{First: 310, Last: 310}, Verdict: message.Retired},
		}},
		"refused": &protocol.Refused{
			Answer: answer,
			Scope:  protocol.ScopeMessage,
			Range:  message.Range{First: 22, Last: 23},
			Code:   protocol.CodeTooLarge,
			Text:   "limit 64 KiB",
		},
		"refused-route":   &protocol.Refused{Answer: answer, Scope: protocol.ScopeRoute, Code: protocol.CodeUnknownQueue, Text: "no queue"},
		"refused-session": &protocol.Refused{Scope: protocol.ScopeSession, Code: protocol.CodeVersion, Text: "speaks 2"},
		"floor":           &protocol.Floor{Session: session, Queue: "orders", Stream: streamOf[1], Floor: 303},
		"credit":          &protocol.Credit{Session: session, Queue: "orders", Stream: streamOf[1], Through: 5000, Bytes: 8 << 20},
		"heartbeat":       &protocol.Heartbeat{Seq: 300, Echo: 2},
		"bye":             &protocol.Bye{Code: protocol.CodeShutdown, Text: "going down"},
	}
}

// goldenMessage is that of message/testdata/record.hex.
func goldenMessage() message.Message {
	m := message.Message{
		Head: message.Head{
			ID: "m-1", Origin: "fra-1", Priority: 4, Key: "k", QoS: message.AtMostOnce,
			StoredAt: time.UnixMilli(0x0198_0000_0000).UTC(),
			Headers:  message.Headers{{Name: "a", Value: "1"}, {Name: "b", Value: ""}},
		},
		Envelope: message.Envelope{Generation: 1, TTLLeft: time.Minute, Hops: []string{"fra-1"}, Deliveries: 2},
		Body:     []byte("hello"),
	}
	m.Seal()
	return m
}

// smallMessage has no header, no key and no body.
func smallMessage() message.Message {
	m := message.Message{Head: message.Head{ID: "m-2", Origin: "fra-1", StoredAt: time.UnixMilli(0).UTC()}}
	m.Seal()
	return m
}

func recordOf(m message.Message) []byte { return message.AppendRecord(nil, &m) }

func TestGoldenBytes(t *testing.T) {
	for name, frame := range goldens() {
		t.Run(name, func(t *testing.T) {
			want := readHex(t, name)
			if got := protocol.Append(nil, frame); !bytes.Equal(got, want) {
				t.Errorf("Append gives\n%x, want\n%x", got, want)
			}
			r := protocol.NewReader(bytes.NewReader(want), maxBody)
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, frame) {
				t.Errorf("Next gives\n%+v, want\n%+v", got, frame)
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("behind the frame: %v, want io.EOF", err)
			}
		})
	}
}

func TestEachGoldenFileHasItsFrame(t *testing.T) {
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil {
		t.Fatal(err)
	}
	known := goldens()
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".hex"); known[name] == nil {
			t.Errorf("%s belongs to no frame of the table", file)
		}
	}
	types := map[protocol.Type]bool{}
	for _, frame := range known {
		types[frame.Type()] = true
	}
	for n := range 0x100 {
		if _, err := protocol.Decode(protocol.Type(n), nil); errors.Is(err, pack.ErrTruncated) && !types[protocol.Type(n)] {
			t.Errorf("%s has no golden bytes", protocol.Type(n))
		}
	}
}

func TestEveryPrefixFailsCleanly(t *testing.T) {
	for name, frame := range goldens() {
		whole := protocol.Append(nil, frame)
		for n := 1; n < len(whole); n++ {
			r := protocol.NewReader(bytes.NewReader(whole[:n]), maxBody)
			if f, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) || f != nil {
				t.Fatalf("%s cut to %d of %d bytes: %v, %v", name, n, len(whole), f, err)
			}
		}
		payload := payloadOf(whole)
		for n := range payload {
			if f, err := protocol.Decode(frame.Type(), payload[:n]); !errors.Is(err, pack.ErrTruncated) || f != nil {
				t.Fatalf("payload of %s cut to %d of %d bytes: %v, %v", name, n, len(payload), f, err)
			}
		}
	}
}

func TestBytesBehindTheLastFieldAreRefused(t *testing.T) {
	for name, frame := range goldens() {
		payload := append(payloadOf(protocol.Append(nil, frame)), 0)
		if _, err := protocol.Decode(frame.Type(), payload); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s with a byte more: %v", name, err)
		}
	}
}

// payloadOf cuts type and length off a whole frame.
func payloadOf(frame []byte) []byte {
	r := pack.NewReader(frame[1:])
	return r.Bytes(uint64(len(frame)))
}

func readHex(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}
