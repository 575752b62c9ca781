package message_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// deadGolden is the message whose record is testdata/record-dead.hex.
func deadGolden() message.Message {
	m := golden()
	m.Envelope = message.Envelope{Death: &message.Death{
		Reason: message.ReasonTooLarge,
		Text:   "limit 4 bytes",
		Queue:  "orders",
		Route:  "nyc",
		At:     time.UnixMilli(0x0198_0000_ea60).UTC(),
	}}
	return m
}

func TestALongTextOfADeathIsCut(t *testing.T) {
	for _, n := range []int{message.MaxDeathTextBytes, message.MaxDeathTextBytes + 1, 5000} {
		m := deadGolden()
		text := strings.Repeat("x", n)
		m.Death.Text = text
		got, err := message.ParseRecord(message.AppendRecord(nil, &m))
		if err != nil {
			t.Fatal(err)
		}
		if got.Death.Text != text[:message.MaxDeathTextBytes] {
			t.Errorf("a text of %d bytes is read as one of %d", n, len(got.Death.Text))
		}
		if m.Death.Text != text {
			t.Error("the text was cut in the message itself")
		}
	}
}

func TestTheTextOfADeathCannotDriveATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"no \x1b[2J\u009b2Jescapes\n": "no  [2J 2Jescapes ",
		"not \xff UTF-8":              "not \uFFFD UTF-8",
		strings.Repeat("x", message.MaxDeathTextBytes-1) + "é": strings.Repeat("x", message.MaxDeathTextBytes-1),
	} {
		m := deadGolden()
		m.Death.Text = text
		got, err := message.ParseRecord(message.AppendRecord(nil, &m))
		if err != nil || got.Death.Text != want {
			t.Errorf("%q is read as %q, %v", text, got.Death.Text, err)
		}
	}
}

func TestTheLargestDeathFitsARecord(t *testing.T) {
	m := golden()
	m.Envelope = message.Envelope{
		Generation: 1<<32 - 1,
		TTLLeft:    message.MaxDuration,
		Deliveries: 1<<32 - 1,
		Death: &message.Death{
			Reason:     message.Reason(strings.Repeat("r", message.MaxReasonBytes)),
			Text:       strings.Repeat("t", message.MaxDeathTextBytes),
			Queue:      strings.Repeat("q", message.MaxQueueNameBytes),
			Route:      strings.Repeat("n", message.MaxRouteNameBytes),
			Deliveries: 1<<32 - 1,
			At:         time.UnixMilli(-1).UTC(),
		},
	}
	for range message.MaxHops {
		m.Hops = append(m.Hops, strings.Repeat("h", message.MaxAgentNameBytes))
	}
	record := message.AppendRecord(nil, &m)
	got, err := message.ParseRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, m) {
		t.Errorf("read\n%+v, written\n%+v", got, m)
	}
}

func TestADeathThatBreaksALimitIsMalformed(t *testing.T) {
	for what, spoil := range map[string]func(*message.Death){
		"no reason":     func(d *message.Death) { d.Reason = "" },
		"a long reason": func(d *message.Death) { d.Reason = message.Reason(strings.Repeat("r", message.MaxReasonBytes+1)) },
		"a long queue":  func(d *message.Death) { d.Queue = strings.Repeat("q", message.MaxQueueNameBytes+1) },
		"a loud reason": func(d *message.Death) { d.Reason = "TTL" },
		"no queue":      func(d *message.Death) { d.Queue = "" },
		"a dead queue":  func(d *message.Death) { d.Queue = "orders.dead" },
		"a wide route":  func(d *message.Death) { d.Route = "n y c" },
		"a long route":  func(d *message.Death) { d.Route = strings.Repeat("r", message.MaxRouteNameBytes+1) },
	} {
		m := deadGolden()
		spoil(m.Death)
		if got, err := message.ParseRecord(message.AppendRecord(nil, &m)); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s: %+v, %v", what, got.Death, err)
		}
	}
}

// TestADeathIsWholeOrAbsent cuts the envelope behind each of its bytes, with right sums: only where the death would begin
// does a message that lives end.
func TestADeathIsWholeOrAbsent(t *testing.T) {
	r := pack.NewReader(goldenBytes(t, "record-dead"))
	r.Byte()
	head, headSum := r.Bytes(1<<10), r.Uint32()
	envelope := r.Bytes(1 << 10)
	r.Uint32()
	with := func(envelope []byte) []byte {
		record := pack.AppendString([]byte{message.RecordVersion}, head)
		record = pack.AppendString(pack.AppendUint32(record, headSum), envelope)
		return append(pack.AppendUint32(record, message.Checksum(envelope)), r.Rest()...)
	}
	const living = 4 // generation, ttl, hops and deliveries, all 0
	for n := range envelope {
		m, err := message.ParseRecord(with(envelope[:n]))
		if n == living {
			if err != nil || m.Death != nil {
				t.Errorf("without its death: %+v, %v", m.Death, err)
			}
		} else if !errors.Is(err, pack.ErrTruncated) {
			t.Errorf("an envelope cut to %d of %d bytes: %+v, %v", n, len(envelope), m.Death, err)
		}
	}
	if _, err := message.ParseRecord(with(append(bytes.Clone(envelope), 0))); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("a byte behind the death: %v", err)
	}
	deliveries := len(envelope) - 8 - 1
	many := append(bytes.Clone(envelope[:deliveries]), pack.AppendUvarint(nil, 1<<32)...)
	if _, err := message.ParseRecord(with(append(many, envelope[deliveries+1:]...))); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("2³² deliveries: %v", err)
	}
}

func TestAMessageGoesOnWithAllButItsDeliveries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := messages.Draw(t, "message")
		m.Hops = m.Hops[:min(len(m.Hops), message.MaxHops-1)]
		record := message.AppendRecord(nil, &m)
		before := bytes.Clone(record)
		onward, err := message.AppendOnward([]byte("before"), record, "nyc-1")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(record, before) {
			t.Fatal("the record itself has changed")
		}
		got, err := message.ParseRecord(bytes.TrimPrefix(onward, []byte("before")))
		if err != nil {
			t.Fatal(err)
		}
		m.Hops, m.Deliveries = append(m.Hops, "nyc-1"), 0
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("went on as\n%+v, want\n%+v", got, m)
		}
	})
}

func TestARottenEnvelopeDoesNotGoOn(t *testing.T) {
	record := goldenBytes(t, "record-dead")
	at := bytes.Index(record, []byte("limit"))
	record[at] ^= 1
	if got, err := message.AppendOnward([]byte("x"), record, "nyc-1"); !errors.Is(err, message.ErrCorrupt) || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	front := len(record) - len("hello")
	for n := range front {
		if got, err := message.AppendOnward([]byte("x"), record[:n], "nyc-1"); !errors.Is(err, pack.ErrTruncated) || string(got) != "x" {
			t.Errorf("cut to %d bytes: %q, %v", n, got, err)
		}
	}
}

// deaths draws nil as often as not.
var deaths = rapid.Custom(func(t *rapid.T) *message.Death {
	if rapid.Bool().Draw(t, "lives") {
		return nil
	}
	return &message.Death{
		Reason:     message.Reason(rapid.StringMatching(`[a-z-]{1,32}`).Draw(t, "reason")),
		Text:       rapid.StringMatching(`[ -~à-ÿ☃]{0,60}`).Draw(t, "text"),
		Queue:      rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,119}`).Draw(t, "queue"),
		Route:      rapid.StringMatching(`[!-~]{0,128}`).Draw(t, "route"),
		Deliveries: rapid.Uint32().Draw(t, "deliveries"),
		At:         instants.Draw(t, "at"),
	}
})
