package protocol_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drawbridge/message"
	"drawbridge/protocol"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, frames := range generators() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			frame := frames.Draw(t, "frame")
			written := protocol.Append([]byte("before"), frame)
			if !bytes.HasPrefix(written, []byte("before")) {
				t.Fatal("what stood before the frame has changed")
			}
			written = written[len("before"):]
			got, err := protocol.NewReader(bytes.NewReader(written), maxBody).Next()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, frame) {
				t.Fatalf("read\n%+v, written\n%+v", got, frame)
			}
			if again := protocol.Append(nil, got); !bytes.Equal(again, written) {
				t.Fatalf("written again\n%x, first\n%x", again, written)
			}
		}))
	}
}

func TestWhatCannotBeSaidIsWrittenAsTheNearest(t *testing.T) {
	ship := goldens()["ship"].(*protocol.Ship)
	ship.Items[0].Age = -time.Second
	ship.Items[1].Age = 2 * message.MaxDuration
	got := reread(t, ship).(*protocol.Ship)
	if got.Items[0].Age != 0 || got.Items[1].Age != message.MaxDuration {
		t.Errorf("ages are %v and %v, want 0 and %v", got.Items[0].Age, got.Items[1].Age, message.MaxDuration)
	}
	for text, want := range map[string]string{
		"bell \a, clear \x1b[2J, next\u0085line": "bell  , clear  [2J, next line",
		"broken \xff UTF-8":                      "broken \uFFFD UTF-8",
		strings.Repeat("x", 600):                 strings.Repeat("x", protocol.MaxTextBytes),
		// 170 of these are 510 bytes: the next one would be cut in its middle.
		strings.Repeat("€", 600): strings.Repeat("€", 170),
	} {
		refused := reread(t, &protocol.Refused{Scope: protocol.ScopeSession, Code: protocol.CodeInternal, Text: text}).(*protocol.Refused)
		if refused.Text != want {
			t.Errorf("%.40q is read as %q", text, refused.Text)
		}
	}
}

func TestAnAnswerSaysOnlyWhatItsVerdictHasRoomFor(t *testing.T) {
	all := &protocol.Accepted{Answer: answer}
	for i, verdict := range verdicts {
		number := uint64(i + 1)
		all.Ranges = append(all.Ranges, protocol.AcceptedRange{
			Range: message.Range{First: number, Last: number}, Verdict: verdict, Young: true, Reason: message.ReasonTTL})
	}
	for _, g := range reread(t, all).(*protocol.Accepted).Ranges {
		young := g.Verdict == message.Below || g.Verdict == message.Closed
		if g.Young != young || (g.Reason != "") != (g.Verdict == message.Closed) {
			t.Errorf("%s is read with young %t and reason %q", g.Verdict, g.Young, g.Reason)
		}
	}
}

func reread(t *testing.T, f protocol.Frame) protocol.Frame {
	t.Helper()
	got, err := protocol.NewReader(bytes.NewReader(protocol.Append(nil, f)), maxBody).Next()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func generators() map[string]*rapid.Generator[protocol.Frame] {
	generate := func(draw func(t *rapid.T) protocol.Frame) *rapid.Generator[protocol.Frame] { return rapid.Custom(draw) }
	return map[string]*rapid.Generator[protocol.Frame]{
		"hello": generate(func(t *rapid.T) protocol.Frame {
			lowest := rapid.Uint8Min(1).Draw(t, "min")
			return &protocol.Hello{
				Versions: protocol.VersionRange{Min: lowest, Max: rapid.Uint8Min(lowest).Draw(t, "max")},
				Agent:    agents.Draw(t, "agent"), Spool: spools.Draw(t, "spool"), Epochs: drawEpochs(t),
				Restored: rapid.Bool().Draw(t, "restored"), Fence: drawID(t), Limits: drawLimits(t), Joins: drawID(t),
			}
		}),
		"welcome": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Welcome{
				Version: rapid.Uint8Min(1).Draw(t, "version"),
				Agent:   agents.Draw(t, "agent"), Spool: spools.Draw(t, "spool"), Epochs: drawEpochs(t),
				Restored: rapid.Bool().Draw(t, "restored"), Limits: drawLimits(t), Session: sessions.Draw(t, "session"), Fence: drawID(t),
			}
		}),
		"use": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Use{Session: sessions.Draw(t, "session"), Order: rapid.Uint64().Draw(t, "order")}
		}),
		"resume": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Resume{
				Session: sessions.Draw(t, "session"),
				Routes:  nilIfEmpty(rapid.SliceOfN(rapid.Custom(drawResumeRoute), 0, 4).Draw(t, "routes")),
				Last:    rapid.Bool().Draw(t, "last"),
			}
		}),
		"ship":  generate(drawShip),
		"close": generate(drawClose),
		"accepted": generate(func(t *rapid.T) protocol.Frame {
			var ranges []protocol.AcceptedRange
			for _, rg := range drawRanges(t, 1) {
				ranges = append(ranges, drawAcceptedRange(t, rg))
			}
			return &protocol.Accepted{Answer: drawAnswer(t), Ranges: ranges}
		}),
		"refused": generate(func(t *rapid.T) protocol.Frame {
			f := &protocol.Refused{
				Scope: rapid.SampledFrom([]protocol.Scope{protocol.ScopeSession, protocol.ScopeRoute, protocol.ScopeMessage}).Draw(t, "scope"),
				Code:  codes.Draw(t, "code"),
				Text:  texts(protocol.MaxTextBytes).Draw(t, "text"),
			}
			if f.Session = drawID(t); f.Scope != protocol.ScopeSession {
				f.Answer = drawAnswer(t)
			}
			if f.Scope == protocol.ScopeMessage {
				f.Range = drawRanges(t, 1)[0]
			}
			return f
		}),
		"floor": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Floor{
				Session: sessions.Draw(t, "session"), Queue: queues.Draw(t, "queue"), Stream: streams.Draw(t, "stream"),
				Floor: rapid.Uint64Min(1).Draw(t, "floor"),
			}
		}),
		"credit": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Credit{
				Session: sessions.Draw(t, "session"), Queue: queues.Draw(t, "queue"), Stream: streams.Draw(t, "stream"),
				Through: rapid.Uint64().Draw(t, "through"), Bytes: rapid.Uint64().Draw(t, "bytes"),
			}
		}),
		"heartbeat": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Heartbeat{Seq: rapid.Uint64().Draw(t, "seq"), Echo: rapid.Uint64().Draw(t, "echo")}
		}),
		"bye": generate(func(t *rapid.T) protocol.Frame {
			return &protocol.Bye{Code: codes.Draw(t, "code"), Text: texts(protocol.MaxByeTextBytes).Draw(t, "text")}
		}),
	}
}

var (
	verdicts = []message.Verdict{message.Accepted, message.Duplicate, message.Below, message.Closed, message.Retired}
	ids      = rapid.StringMatching(`[!-~]{1,128}`)
	agents   = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`)
	queues   = rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,119}`).Filter(func(q string) bool { return message.CheckQueue(q) == nil })
	routes   = rapid.StringMatching(`[!-~]{1,128}`)
	codes    = rapid.Map(rapid.StringMatching(`[a-z-]{1,32}`), func(s string) protocol.Code { return protocol.Code(s) })
	reasons  = rapid.Map(rapid.StringMatching(`[a-z-]{1,32}`), func(s string) message.Reason { return message.Reason(s) })
	spools   = rapid.Map(bytesOf(16), func(b []byte) message.SpoolID { return message.SpoolID(b) })
	// Few streams, so that a Prev is often in its Ship's own.
	streams   = rapid.SampledFrom([]message.StreamID{streamOf[0], streamOf[1], {}})
	sessions  = rapid.Map(bytesOf(8), func(b []byte) message.SessionID { b[0] |= 1; return message.SessionID(b) })
	durations = rapid.Map(rapid.Int64Range(0, message.MaxDuration.Milliseconds()), func(ms int64) time.Duration {
		return time.Duration(ms) * time.Millisecond
	})
)

func bytesOf(n int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), n, n) }

func texts(limit int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("aZ ~é€\U0001F309")), 0, -1, limit)
}

// drawID may draw the zero id.
func drawID(t *rapid.T) message.SessionID { return message.SessionID(bytesOf(8).Draw(t, "id")) }

func drawLimits(t *rapid.T) protocol.Limits {
	return protocol.Limits{
		MaxMessageBytes: rapid.Uint64().Draw(t, "max"),
		CreditBytes:     rapid.Uint64().Draw(t, "bytes"),
		CreditMessages:  rapid.Uint64().Draw(t, "messages"),
	}
}

func drawEpochs(t *rapid.T) []message.Epoch {
	counter := rapid.Uint64Min(protocol.MaxEpochs).Draw(t, "newest")
	epochs := make([]message.Epoch, rapid.IntRange(1, protocol.MaxEpochs).Draw(t, "epochs"))
	for i := range epochs {
		epochs[i] = message.Epoch{Counter: counter - uint64(i), Tag: rapid.Uint64().Draw(t, "tag")}
	}
	return epochs
}

func drawAnswer(t *rapid.T) protocol.Answer {
	return protocol.Answer{
		Session: sessions.Draw(t, "session"), Spool: spools.Draw(t, "spool"),
		Epoch: message.Epoch{Counter: rapid.Uint64().Draw(t, "counter"), Tag: rapid.Uint64().Draw(t, "tag")},
		Queue: queues.Draw(t, "queue"), Stream: streams.Draw(t, "stream"),
	}
}

// drawNumbers draws up to max numbers that rise strictly, from anywhere in the 64 bits.
func drawNumbers(t *rapid.T, least, most int) []uint64 {
	steps := rapid.SliceOfN(rapid.Uint64Range(1, 1<<40), least, most).Draw(t, "steps")
	before := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Max(1<<63)).Draw(t, "start")
	for i, step := range steps {
		before += step
		steps[i] = before
	}
	return steps
}

func drawRanges(t *rapid.T, least int) (ranges []message.Range) {
	ends := drawNumbers(t, 2*least, 40)
	for i := 0; i+1 < len(ends); i += 2 {
		rg := message.Range{First: ends[i], Last: ends[i+1]}
		if rapid.Bool().Draw(t, "single") {
			rg.Last = rg.First
		}
		ranges = append(ranges, rg)
	}
	return ranges
}

func drawResumeRoute(t *rapid.T) protocol.ResumeRoute {
	return protocol.ResumeRoute{
		Name: routes.Draw(t, "name"), Queue: queues.Draw(t, "queue"), Horizon: durations.Draw(t, "horizon"),
		Streams: nilIfEmpty(rapid.SliceOfN(rapid.Custom(drawResumeStream), 0, 3).Draw(t, "streams")),
	}
}

func drawResumeStream(t *rapid.T) protocol.ResumeStream {
	s := protocol.ResumeStream{
		Stream: streams.Draw(t, "stream"), Floor: rapid.Uint64().Draw(t, "floor"), Settled: rapid.Uint64().Draw(t, "settled"),
		Held: drawRanges(t, 0),
	}
	if n := len(s.Held); n > 0 {
		s.Settled = max(s.Settled, s.Held[n-1].Last)
	}
	return s
}

func drawShip(t *rapid.T) protocol.Frame {
	ship := &protocol.Ship{
		Session: sessions.Draw(t, "session"), Route: routes.Draw(t, "route"), Queue: queues.Draw(t, "queue"), Stream: streams.Draw(t, "stream"),
	}
	for _, number := range drawNumbers(t, 1, 20) {
		item := protocol.Shipment{
			Number: number, Age: durations.Draw(t, "age"), Again: rapid.Bool().Draw(t, "again"),
			Record: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "record"),
		}
		item.Prev = drawPrev(t, number)
		ship.Items = append(ship.Items, item)
	}
	return ship
}

func drawPrev(t *rapid.T, number uint64) (prev message.Place) {
	if rapid.Bool().Draw(t, "has prev") && number > 1 {
		prev = message.Place{Stream: streams.Draw(t, "prev stream"), Number: rapid.Uint64Range(1, number-1).Draw(t, "prev")}
	}
	return prev
}

func drawClose(t *rapid.T) protocol.Frame {
	f := &protocol.Close{
		Session: sessions.Draw(t, "session"), Route: routes.Draw(t, "route"), Queue: queues.Draw(t, "queue"), Stream: streams.Draw(t, "stream"),
	}
	for _, number := range drawNumbers(t, 1, 20) {
		f.Items = append(f.Items, protocol.Closing{
			Number: number, Prev: drawPrev(t, number), Age: durations.Draw(t, "age"),
			Name: message.EndToEnd{
				Origin: agents.Draw(t, "origin"), ID: ids.Draw(t, "id"), Generation: rapid.Uint32().Draw(t, "generation"),
			},
			Sum: rapid.Uint32().Draw(t, "sum"), Reason: reasons.Draw(t, "reason"),
		})
	}
	return f
}

// drawAcceptedRange sets what is on the wire with the verdict it draws, and no more.
func drawAcceptedRange(t *rapid.T, rg message.Range) protocol.AcceptedRange {
	g := protocol.AcceptedRange{Range: rg, Verdict: rapid.SampledFrom(verdicts).Draw(t, "verdict")}
	if g.Verdict == message.Below || g.Verdict == message.Closed {
		g.Young = rapid.Bool().Draw(t, "young")
	}
	if g.Verdict == message.Closed {
		g.Reason = reasons.Draw(t, "reason")
	}
	return g
}

// nilIfEmpty: a decoder makes no empty slices.
func nilIfEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}
