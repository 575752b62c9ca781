package protocol_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/protocol"
)

const tooLongReason = message.Reason("a-reason-that-is-too-long-by-one-")

// broken are frames that each break one rule; Append writes them as they are, because it checks nothing.
func broken() map[string]protocol.Frame {
	frames := map[string]protocol.Frame{}
	hello := func(name string, spoil func(*protocol.Hello)) {
		h := goldens()["hello"].(*protocol.Hello)
		spoil(h)
		frames["hello: "+name] = h
	}
	hello("version 0", func(h *protocol.Hello) { h.Versions = protocol.VersionRange{Min: 0, Max: 1} })
	hello("versions fall", func(h *protocol.Hello) { h.Versions = protocol.VersionRange{Min: 2, Max: 1} })
	hello("no agent", func(h *protocol.Hello) { h.Agent = "" })
	hello("agent with a space", func(h *protocol.Hello) { h.Agent = "a b" })
	hello("agent too long", func(h *protocol.Hello) { h.Agent = strings.Repeat("a", message.MaxAgentNameBytes+1) })
	hello("no epoch", func(h *protocol.Hello) { h.Epochs = nil })
	hello("epochs rise", func(h *protocol.Hello) { h.Epochs = []message.Epoch{{Counter: 1}, {Counter: 2}} })
	hello("epoch twice", func(h *protocol.Hello) { h.Epochs = []message.Epoch{{Counter: 1}, {Counter: 1, Tag: 1}} })
	hello("too many epochs", func(h *protocol.Hello) {
		h.Epochs = nil
		for n := range uint64(protocol.MaxEpochs + 1) {
			h.Epochs = append(h.Epochs, message.Epoch{Counter: 1000 - n})
		}
	})
	welcome := func(name string, spoil func(*protocol.Welcome)) {
		w := goldens()["welcome"].(*protocol.Welcome)
		spoil(w)
		frames["welcome: "+name] = w
	}
	welcome("version 0", func(w *protocol.Welcome) { w.Version = 0 })
	welcome("no session", func(w *protocol.Welcome) { w.Session = message.SessionID{} })
	frames["use: no session"] = &protocol.Use{Order: 1}

	resume := func(name string, spoil func(*protocol.ResumeRoute)) {
		p := goldens()["resume"].(*protocol.Resume)
		spoil(&p.Routes[0])
		frames["resume: "+name] = p
	}
	resume("no route name", func(t *protocol.ResumeRoute) { t.Name = "" })
	resume("route name with a space", func(t *protocol.ResumeRoute) { t.Name = "a b" })
	resume("route name too long", func(t *protocol.ResumeRoute) { t.Name = strings.Repeat("a", message.MaxRouteNameBytes+1) })
	resume("queue in capitals", func(t *protocol.ResumeRoute) { t.Queue = "Orders" })
	resume("queue of dead letters", func(t *protocol.ResumeRoute) { t.Queue = "orders.dead" })
	resume("held above settled", func(t *protocol.ResumeRoute) { t.Streams[0].Settled = 10 })
	resume("held falls", func(t *protocol.ResumeRoute) {
		t.Streams[0].Held = []message.Range{{First: 7, Last: 8}, {First: 3, Last: 4}}
	})
	resume("held overlaps", func(t *protocol.ResumeRoute) {
		t.Streams[0].Held = []message.Range{{First: 7, Last: 8}, {First: 8, Last: 9}}
	})
	resume("held number 0", func(t *protocol.ResumeRoute) { t.Streams[0].Held = []message.Range{{First: 0, Last: 1}} })
	resume("held range falls", func(t *protocol.ResumeRoute) { t.Streams[0].Held = []message.Range{{First: 8, Last: 7}} })

	ship := func(name string, spoil func(*protocol.Ship)) {
		s := goldens()["ship"].(*protocol.Ship)
		spoil(s)
		frames["ship: "+name] = s
	}
	ship("no session", func(s *protocol.Ship) { s.Session = message.SessionID{} })
	ship("no item", func(s *protocol.Ship) { s.Items = nil })
	ship("too many items", func(s *protocol.Ship) {
		s.Items = make([]protocol.Shipment, protocol.MaxShipItems+1)
		for i := range s.Items {
			s.Items[i].Number = uint64(i + 1)
		}
	})
	ship("number 0", func(s *protocol.Ship) { s.Items = []protocol.Shipment{{}} })
	ship("number twice", func(s *protocol.Ship) { s.Items[1].Number = s.Items[0].Number })
	ship("numbers fall", func(s *protocol.Ship) { s.Items[0].Number = math.MaxUint64 })
	ship("prev is itself", func(s *protocol.Ship) { s.Items[1].Prev.Number = 22 })
	ship("prev above", func(s *protocol.Ship) { s.Items[1].Prev.Number = 23 })

	closing := func(name string, spoil func(*protocol.Close)) {
		f := goldens()["close"].(*protocol.Close)
		spoil(f)
		frames["close: "+name] = f
	}
	closing("no session", func(f *protocol.Close) { f.Session = message.SessionID{} })
	closing("no route name", func(f *protocol.Close) { f.Route = "" })
	closing("queue in capitals", func(f *protocol.Close) { f.Queue = "Orders" })
	closing("no item", func(f *protocol.Close) { f.Items = nil })
	closing("too many items", func(f *protocol.Close) {
		item := f.Items[0]
		f.Items = make([]protocol.Closing, protocol.MaxCloseItems+1)
		for i := range f.Items {
			f.Items[i] = item
			f.Items[i].Number = uint64(i + 1)
		}
	})
	closing("number 0", func(f *protocol.Close) { f.Items[0].Number, f.Items[0].Prev = 0, message.Place{} })
	closing("number twice", func(f *protocol.Close) { f.Items[1].Number = f.Items[0].Number })
	closing("numbers fall", func(f *protocol.Close) { f.Items[0].Number = math.MaxUint64 })
	closing("prev is itself", func(f *protocol.Close) { f.Items[1].Prev.Number = 22 })
	closing("prev above", func(f *protocol.Close) { f.Items[1].Prev.Number = 23 })
	closing("no origin", func(f *protocol.Close) { f.Items[0].Name.Origin = "" })
	closing("origin with a space", func(f *protocol.Close) { f.Items[0].Name.Origin = "a b" })
	closing("origin too long", func(f *protocol.Close) { f.Items[0].Name.Origin = strings.Repeat("a", message.MaxAgentNameBytes+1) })
	closing("no id", func(f *protocol.Close) { f.Items[0].Name.ID = "" })
	closing("id with a space", func(f *protocol.Close) { f.Items[0].Name.ID = "a b" })
	closing("id too long", func(f *protocol.Close) { f.Items[0].Name.ID = strings.Repeat("a", message.MaxIDBytes+1) })
	closing("no reason", func(f *protocol.Close) { f.Items[0].Reason = "" })
	closing("reason in capitals", func(f *protocol.Close) { f.Items[0].Reason = "TTL" })
	closing("reason too long", func(f *protocol.Close) { f.Items[0].Reason = tooLongReason })

	floor := func(name string, spoil func(*protocol.Floor)) {
		f := goldens()["floor"].(*protocol.Floor)
		spoil(f)
		frames["floor: "+name] = f
	}
	floor("no session", func(f *protocol.Floor) { f.Session = message.SessionID{} })
	floor("no queue", func(f *protocol.Floor) { f.Queue = "" })
	floor("floor 0", func(f *protocol.Floor) { f.Floor = 0 })

	accepted := func(name string, ranges ...protocol.AcceptedRange) {
		frames["accepted: "+name] = &protocol.Accepted{Answer: answer, Ranges: ranges}
	}
	accepted("no range")
	accepted("undecided", protocol.AcceptedRange{Range: message.Range{First: 1, Last: 1}, Verdict: message.Undecided})
	accepted("refused", protocol.AcceptedRange{Range: message.Range{First: 1, Last: 1}, Verdict: message.Refused})
	accepted("verdict 7", protocol.AcceptedRange{Range: message.Range{First: 1, Last: 1}, Verdict: 7})
	accepted("closed for no reason", protocol.AcceptedRange{Range: message.Range{First: 1, Last: 1}, Verdict: message.Closed})
	accepted("reason in capitals", protocol.AcceptedRange{Range: message.Range{First: 1, Last: 1}, Verdict: message.Closed, Reason: "TTL"})
	accepted("reason too long", protocol.AcceptedRange{Range: message.Range{First: 1, Last: 1}, Verdict: message.Closed, Reason: tooLongReason})
	accepted("overlap",
		protocol.AcceptedRange{Range: message.Range{First: 1, Last: 2}, Verdict: message.Accepted},
		protocol.AcceptedRange{Range: message.Range{First: 2, Last: 3}, Verdict: message.Accepted})
	accepted("range falls", protocol.AcceptedRange{Range: message.Range{First: 2, Last: 1}, Verdict: message.Accepted})
	accepted("too many ranges", make([]protocol.AcceptedRange, protocol.MaxAcceptedRanges+1)...)

	refused := func(name string, spoil func(*protocol.Refused)) {
		f := goldens()["refused"].(*protocol.Refused)
		spoil(f)
		frames["refused: "+name] = f
	}
	refused("scope 0", func(f *protocol.Refused) { f.Scope = 0 })
	refused("scope 4", func(f *protocol.Refused) { f.Scope = 4 })
	refused("range of number 0", func(f *protocol.Refused) { f.Range = message.Range{} })
	refused("no code", func(f *protocol.Refused) { f.Code = "" })
	refused("code in capitals", func(f *protocol.Refused) { f.Code = "No" })
	refused("code too long", func(f *protocol.Refused) { f.Code = protocol.Code(strings.Repeat("a", protocol.MaxCodeBytes+1)) })
	refused("message without session", func(f *protocol.Refused) { f.Session = message.SessionID{} })
	refused("route without session", func(f *protocol.Refused) { f.Scope, f.Session = protocol.ScopeRoute, message.SessionID{} })
	return frames
}

func TestABrokenRuleIsRefused(t *testing.T) {
	for name, frame := range broken() {
		f, err := protocol.Decode(frame.Type(), payloadOf(protocol.Append(nil, frame)))
		if !errors.Is(err, pack.ErrMalformed) || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestOtherFormsOfAValueAreRefused spoils single bytes of the golden payloads, for what no value can be written as.
func TestOtherFormsOfAValueAreRefused(t *testing.T) {
	const (
		shipHead     = 8 + 4 + 7 + 16
		closeHead    = shipHead + 1
		acceptedHead = 8 + 16 + 9 + 7 + 16 + 1
	)
	for _, c := range []struct {
		name, frame string
		at          int
		b           byte
	}{
		{"flag 2", "resume", 8, 2},
		{"unknown encoding of a batch", "ship", shipHead, 1},
		{"unknown kind of prev", "ship", shipHead + 3, 3},
		{"prev elsewhere without a number", "ship", shipHead + 4 + 16, 0},
		{"unknown kind of prev of a Close", "close", closeHead + 1, 3},
		{"prev elsewhere without a number, in a Close", "close", closeHead + 2 + 16, 0},
		{"below, young 2", "accepted", acceptedHead + 3 + 4 + 3, 2},
		{"closed, young 2", "accepted", acceptedHead + 3 + 4 + 4 + 3, 2},
		{"text with an escape", "refused-session", 18, 0x1b},
		{"text that is not UTF-8", "refused-session", 18, 0xff},
	} {
		frame := goldens()[c.frame]
		payload := payloadOf(protocol.Append(nil, frame))
		payload[c.at] = c.b
		if f, err := protocol.Decode(frame.Type(), payload); !errors.Is(err, pack.ErrMalformed) || f != nil {
			t.Errorf("%s: %v, %v", c.name, f, err)
		}
	}
	ship := goldens()["ship"].(*protocol.Ship)
	payload := payloadOf(protocol.Append(nil, ship))
	copy(payload[shipHead+4:], ship.Stream[:])
	if _, err := protocol.Decode(protocol.TypeShip, payload); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("prev in the Ship's own stream, written in full: %v", err)
	}
}

func TestNumbersDoNotWrapAround(t *testing.T) {
	accepted := payloadOf(protocol.Append(nil, &protocol.Accepted{Answer: answer, Ranges: []protocol.AcceptedRange{
		{Range: message.Range{First: math.MaxUint64, Last: math.MaxUint64}, Verdict: message.Accepted}}}))
	if _, err := protocol.Decode(protocol.TypeAccepted, accepted); err != nil {
		t.Errorf("the highest number: %v", err)
	}
	longer := append([]byte(nil), accepted...)
	longer[len(longer)-2] = 1
	if _, err := protocol.Decode(protocol.TypeAccepted, longer); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("a range beyond the highest number: %v", err)
	}
	ship := goldens()["ship"].(*protocol.Ship)
	ship.Items = []protocol.Shipment{{Number: math.MaxUint64}, {Number: 0}}
	if _, err := protocol.Decode(protocol.TypeShip, payloadOf(protocol.Append(nil, ship))); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("a number beyond the highest: %v", err)
	}
}

// TestAFieldBeyondItsBoundIsRefused writes in the place of one byte what no Append would.
func TestAFieldBeyondItsBoundIsRefused(t *testing.T) {
	const (
		shipAge         = 8 + 4 + 7 + 16 + 1 + 1 + 1 + 18
		closeAge        = 8 + 4 + 7 + 16 + 1 + 1 + 18
		closeGeneration = closeAge + 3 + 6 + 4
	)
	for _, c := range []struct {
		name, frame string
		from, to    int
		value, most uint64
	}{
		{"an age above 100 years", "ship", shipAge, shipAge + 2, 1500, uint64(message.MaxDuration.Milliseconds())},
		{"an age above 100 years", "close", closeAge, closeAge + 3, 90_000, uint64(message.MaxDuration.Milliseconds())},
		{"a generation above 32 bits", "close", closeGeneration, closeGeneration + 1, 1, math.MaxUint32},
	} {
		frame := goldens()[c.frame]
		payload := payloadOf(protocol.Append(nil, frame))
		if was := pack.AppendUvarint(nil, c.value); !bytes.Equal(payload[c.from:c.to], was) {
			t.Fatalf("%s in a %s: %x stands there, not %x", c.name, frame.Type(), payload[c.from:c.to], was)
		}
		with := func(v uint64) []byte {
			return slices.Concat(payload[:c.from], pack.AppendUvarint(nil, v), payload[c.to:])
		}
		if _, err := protocol.Decode(frame.Type(), with(c.most)); err != nil {
			t.Errorf("the most before %s in a %s: %v", c.name, frame.Type(), err)
		}
		if f, err := protocol.Decode(frame.Type(), with(c.most+1)); !errors.Is(err, pack.ErrMalformed) || f != nil {
			t.Errorf("%s in a %s: %v, %v", c.name, frame.Type(), f, err)
		}
	}
}

func TestReasonsOfANewerPeerAreTaken(t *testing.T) {
	f := goldens()["close"].(*protocol.Close)
	f.Items[0].Reason = "moon-phase"
	if got := reread(t, f).(*protocol.Close).Items[0].Reason; got != "moon-phase" {
		t.Errorf("the reason of a Close is %q", got)
	}
}

func TestCodesOfANewerPeerAreTaken(t *testing.T) {
	f := reread(t, &protocol.Bye{Code: "moon-phase"}).(*protocol.Bye)
	if f.Code != "moon-phase" {
		t.Errorf("code is %q", f.Code)
	}
}
