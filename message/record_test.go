package message_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// golden is the message whose record is testdata/record.hex.
func golden() message.Message {
	return message.Message{
		Head: message.Head{
			ID: "m-1", Origin: "fra-1", Priority: 4, Key: "k", QoS: message.AtMostOnce,
			StoredAt:  time.UnixMilli(0x0198_0000_0000).UTC(),
			Headers:   message.Headers{{Name: "a", Value: "1"}, {Name: "b", Value: ""}},
			BodyBytes: 5,
			// The CRC32C of "hello", from another implementation.
			BodySum: 0x9a71bb4c,
		},
		Envelope: message.Envelope{Generation: 1, TTLLeft: time.Minute, Hops: []string{"fra-1"}, Deliveries: 2},
		Body:     []byte("hello"),
	}
}

// goldens are the messages whose records are in testdata, by the names of their files.
func goldens() map[string]message.Message {
	return map[string]message.Message{"record": golden(), "record-dead": deadGolden()}
}

func goldenBytes(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldenRecords(t *testing.T) {
	for name, m := range goldens() {
		m.Seal()
		want := goldenBytes(t, name)
		if got := message.AppendRecord(nil, &m); !bytes.Equal(got, want) {
			t.Errorf("AppendRecord gives for %s\n%x, want\n%x", name, got, want)
		}
		got, err := message.ParseRecord(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("ParseRecord gives for %s\n%+v, want\n%+v", name, got, m)
		}
	}
}

func TestEveryPrefixOfARecordFails(t *testing.T) {
	for name := range goldens() {
		record := goldenBytes(t, name)
		for n := range record {
			if m, err := message.ParseRecord(record[:n]); !errors.Is(err, pack.ErrTruncated) || m.ID != "" {
				t.Errorf("%s cut to %d of %d bytes: %+v, %v", name, n, len(record), m, err)
			}
		}
		if _, err := message.ParseRecord(append(record, 0)); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s with a byte more: %v", name, err)
		}
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	for name := range goldens() {
		record := goldenBytes(t, name)
		for bit := range 8 * len(record) {
			spoilt := slices.Clone(record)
			spoilt[bit/8] ^= 1 << (bit % 8)
			_, err := message.ParseRecord(spoilt)
			if !errors.Is(err, message.ErrCorrupt) && !errors.Is(err, pack.ErrTruncated) && !errors.Is(err, pack.ErrMalformed) {
				t.Errorf("%s, bit %d of byte %d: %v", name, bit%8, bit/8, err)
			}
		}
	}
}

func TestARottenBodySaysWhose(t *testing.T) {
	record := goldenBytes(t, "record")
	record[len(record)-1] ^= 1
	m, err := message.ParseRecord(record)
	if !errors.Is(err, message.ErrCorrupt) || m.ID != "m-1" {
		t.Errorf("got %q, %v", m.ID, err)
	}
	if m, err := message.ParseFront(record); err != nil || m.ID != "m-1" || string(m.Body) != "helln" {
		t.Errorf("the front alone: %+v, %v", m, err)
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := messages.Draw(t, "message")
		record := message.AppendRecord([]byte("before"), &m)
		if !bytes.HasPrefix(record, []byte("before")) {
			t.Fatal("what stood before the record has changed")
		}
		record = record[len("before"):]
		got, err := message.ParseRecord(record)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("read\n%+v, written\n%+v", got, m)
		}
		if again := message.AppendRecord(nil, &got); !bytes.Equal(again, record) {
			t.Fatalf("written again\n%x, first\n%x", again, record)
		}
		if most := message.MaxRecordBytes(m.BodyBytes); uint64(len(record)) > most {
			t.Fatalf("%d bytes, at most %d were promised", len(record), most)
		}
	})
}

func TestReplaceEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := messages.Draw(t, "message")
		record := message.AppendRecord(nil, &m)
		before := slices.Clone(record)
		m.Envelope = envelopes.Draw(t, "envelope")
		got, err := message.ReplaceEnvelope([]byte("before"), record, &m.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		if want := message.AppendRecord([]byte("before"), &m); !bytes.Equal(got, want) {
			t.Fatalf("got\n%x, want\n%x", got, want)
		}
		if !bytes.Equal(record, before) {
			t.Fatal("the record itself has changed")
		}
	})
}

func TestReplaceEnvelopeHidesNoRot(t *testing.T) {
	record := goldenBytes(t, "record")
	for _, at := range []int{3, len(record) - 1} {
		spoilt := slices.Clone(record)
		spoilt[at] ^= 1
		replaced, err := message.ReplaceEnvelope(nil, spoilt, &message.Envelope{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := message.ParseRecord(replaced); !errors.Is(err, message.ErrCorrupt) {
			t.Errorf("byte %d rotted: %v", at, err)
		}
	}
	front := len(record) - len("hello")
	for n := range front {
		if got, err := message.ReplaceEnvelope([]byte("x"), record[:n], &message.Envelope{}); err == nil || string(got) != "x" {
			t.Errorf("cut to %d bytes: %q, %v", n, got, err)
		}
	}
	record[0] = 2
	if _, err := message.ReplaceEnvelope(nil, record, &message.Envelope{}); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("another version: %v", err)
	}
}

func TestALimitThatIsUsedUpIsNotLost(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		0:                       0,
		-time.Second:            time.Millisecond,
		time.Microsecond:        time.Millisecond,
		1500 * time.Microsecond: 2 * time.Millisecond,
		1<<63 - 1:               message.MaxDuration,
	} {
		m := golden()
		m.TTLLeft = left
		got, err := message.ParseRecord(message.AppendRecord(nil, &m))
		if err != nil || got.TTLLeft != want {
			t.Errorf("%v left is read as %v, %v; want %v", left, got.TTLLeft, err, want)
		}
	}
}

func TestARecordThatBreaksALimitIsMalformed(t *testing.T) {
	for what, spoil := range map[string]func(*message.Message){
		"no id":               func(m *message.Message) { m.ID = "" },
		"an id with a space":  func(m *message.Message) { m.ID = "a b" },
		"a long id":           func(m *message.Message) { m.ID = strings.Repeat("a", message.MaxIDBytes+1) },
		"no origin":           func(m *message.Message) { m.Origin = "" },
		"priority 10":         func(m *message.Message) { m.Priority = message.MaxPriority + 1 },
		"an unknown qos":      func(m *message.Message) { m.QoS = 2 },
		"a long key":          func(m *message.Message) { m.Key = strings.Repeat("k", message.MaxKeyBytes+1) },
		"too many hops":       func(m *message.Message) { m.Hops = slices.Repeat([]string{"a"}, message.MaxHops+1) },
		"a hop without name":  func(m *message.Message) { m.Hops = []string{""} },
		"unsorted headers":    func(m *message.Message) { slices.Reverse(m.Headers) },
		"a header in capital": func(m *message.Message) { m.Headers[0].Name = "A" },
	} {
		m := golden()
		spoil(&m)
		if err := m.Check(); !errors.Is(err, message.ErrName) {
			t.Errorf("%s: Check says %v", what, err)
		}
		if _, err := message.ParseRecord(message.AppendRecord(nil, &m)); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s: ParseRecord says %v", what, err)
		}
	}
}

func TestContentSumIsOfSizeBodyAndKey(t *testing.T) {
	m := golden()
	same := golden()
	same.Headers, same.Priority, same.StoredAt, same.Origin = nil, 0, time.Time{}, "nyc-1"
	if m.ContentSum() != same.ContentSum() {
		t.Error("an honest retry has another sum")
	}
	for what, change := range map[string]func(*message.Message){
		"size": func(m *message.Message) { m.BodyBytes++ },
		"body": func(m *message.Message) { m.BodySum++ },
		"key":  func(m *message.Message) { m.Key = "l" },
	} {
		other := golden()
		change(&other)
		if m.ContentSum() == other.ContentSum() {
			t.Errorf("another %s has the same sum", what)
		}
	}
}

var (
	texts  = rapid.OneOf(rapid.StringN(0, 20, 60), rapid.Just(""))
	agents = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`)
	// All instants that the 8 bytes of a record can say.
	instants  = rapid.Map(rapid.Int64(), func(ms int64) time.Time { return time.UnixMilli(ms).UTC() })
	envelopes = rapid.Custom(func(t *rapid.T) message.Envelope {
		e := message.Envelope{
			Generation: rapid.Uint32().Draw(t, "generation"),
			TTLLeft:    time.Duration(rapid.Int64Range(0, message.MaxDuration.Milliseconds()).Draw(t, "ttl")) * time.Millisecond,
			Deliveries: rapid.Uint32().Draw(t, "deliveries"),
			Death:      deaths.Draw(t, "death"),
		}
		if hops := rapid.SliceOfN(agents, 0, message.MaxHops).Draw(t, "hops"); len(hops) > 0 {
			e.Hops = hops
		}
		return e
	})
	messages = rapid.Custom(func(t *rapid.T) message.Message {
		m := message.Message{
			Head: message.Head{
				ID:       rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "id"),
				Origin:   agents.Draw(t, "origin"),
				Priority: rapid.Uint8Max(message.MaxPriority).Draw(t, "priority"),
				Key:      texts.Draw(t, "key"),
				QoS:      rapid.SampledFrom([]message.QoS{message.AtLeastOnce, message.AtMostOnce}).Draw(t, "qos"),
				StoredAt: instants.Draw(t, "stored at"),
				Headers:  message.NewHeaders(rapid.MapOfN(rapid.StringMatching(`[a-z0-9!#$-]{1,128}`), texts, 0, message.MaxHeaders).Draw(t, "headers")),
			},
			Envelope: envelopes.Draw(t, "envelope"),
			Body:     rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "body"),
		}
		m.Seal()
		return m
	})
)
