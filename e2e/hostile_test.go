package e2e_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
)

// hostileBytes is what an agent may hold, whatever a peer sends it.
const hostileBytes = 256 << 20

// besieged is a pair of agents with a link between them, and a second link of nyc to an intruder. The intruder may ship into
// loot, and is shipped what is in bait.
type besieged struct {
	*pair
	in   *intruder
	turn int
	most int // bytes that nyc was seen to hold
}

func newBesieged(t *testing.T) *besieged {
	p := newPair(t)
	text, err := os.ReadFile(p.nyc.configPath)
	must(t, err)
	_, after, _ := strings.Cut(string(text), "link: \"")
	addr, _, _ := strings.Cut(after, "\"")
	pin, err := link.ParsePin(p.nyc.peerID)
	must(t, err)
	b := &besieged{pair: p, in: newIntruder(t, addr, pin)}
	p.nyc.configure(strings.Replace(string(text), "queues:\n", "queues:\n  bait: {}\n  loot: {}\n", 1) + fmt.Sprintf(`  evil:
    peer_id: %s
    send: [{ from: bait, to: bait }]
    receive: [{ to: loot }]
`, b.in.pin))
	p.nyc.start()
	p.fra.start()
	eventually(t, upGrace, func() string {
		if l := p.fra.link(); l.State != "up" {
			return fmt.Sprintf("the link of fra is %s: %s", l.State, l.Reason)
		}
		return ""
	})
	for n := range 3 {
		p.nyc.require("put", "bait", fmt.Sprint("worm ", n))
	}
	return b
}

// requireService requires that the other link has stayed up and brings a message, that nyc takes one of its own, and that nyc
// holds no more memory than it may.
func (b *besieged) requireService() {
	b.t.Helper()
	if l := b.fra.link(); l.State != "up" {
		b.t.Errorf("the other link is %s: %s", l.State, l.Reason)
	}
	b.turn++
	text := fmt.Sprintf("crate %d", b.turn)
	b.fra.require("put", "orders", text)
	if got := b.nyc.require("take", "orders", "--wait", "20s"); got != text {
		b.t.Errorf("took %q, want %q", got, text)
	}
	held := b.nyc.anonymousBytes()
	b.most = max(b.most, held)
	b.t.Logf("RssAnon of nyc: %d KiB", held>>10)
	if held > hostileBytes {
		b.t.Errorf("nyc holds %d bytes, may hold %d", held, hostileBytes)
	}
}

func TestNothingThatAPeerSendsHarmsAnAgentOrItsOtherLinks(t *testing.T) {
	t.Parallel()
	b := newBesieged(t)
	for _, attack := range []struct {
		name string
		do   func(t *testing.T, b *besieged)
	}{
		{"datagrams of noise", noise},
		{"handshakes that go no further", halfHandshakes},
		{"strangers", strangers},
		{"connections that say nothing", silentConnections},
		{"first frames that are none", badFirstFrames},
		{"lengths that no frame has", wrongLengths},
		{"half batches, then silence", halfBatches},
		{"streams without number", manyStreams},
		{"answers for what was never shipped", answersUnasked},
		{"closes and floors for what was never shipped", closesUnasked},
		{"pages without end", pagesWithoutEnd},
		{"limits and credit of 2^64", hugeLimits},
		{"streams and epochs without end", streamsWithoutEnd},
		{"numbers and places that cannot be", oddPlaces},
		{"sessions without end", sessionsWithoutEnd},
	} {
		t.Run(attack.name, func(t *testing.T) {
			was := b.t
			b.t, b.in.t = t, t
			defer func() { b.t, b.in.t = was, was }()
			attack.do(t, b)
			b.requireService()
		})
	}
	t.Logf("nyc held at most %d KiB", b.most>>10)
	b.nyc.stop()
	for _, word := range []string{"panic", "goroutine "} {
		if lines := b.nyc.logged(word); len(lines) > 0 {
			t.Errorf("the log of nyc has %q", lines[0])
		}
	}
}

func noise(t *testing.T, b *besieged) {
	c, err := net.DialUDP("udp", nil, b.in.addr)
	must(t, err)
	defer c.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 1400)
	for n := range 20_000 {
		for i := 0; i+8 <= len(buf); i += 8 {
			binary.LittleEndian.PutUint64(buf[i:], rng.Uint64())
		}
		if n%2 == 0 { // the front of a first packet of QUIC 1
			copy(buf, []byte{0xc0 | byte(n)&0x3f, 0, 0, 0, 1, 8})
		}
		_, _ = c.Write(buf[:1+rng.IntN(len(buf))]) // a full buffer loses it, as a network does
	}
}

func halfHandshakes(t *testing.T, b *besieged) {
	for range 400 {
		ctx, end := context.WithTimeout(t.Context(), 3*time.Millisecond)
		if c, err := b.in.transport.Dial(ctx, b.in.addr, b.in.tls, nil); err == nil {
			_ = c.CloseWithError(0, "")
		}
		end()
	}
}

func strangers(t *testing.T, b *besieged) {
	for range 100 {
		_, config := selfSigned(t)
		ctx, end := context.WithTimeout(t.Context(), answerTimeout)
		c, err := b.in.transport.Dial(ctx, b.in.addr, config, nil)
		if err == nil { // our side is done before the agent has looked at the key
			select {
			case <-c.Context().Done():
			case <-ctx.Done():
				t.Error("a stranger was let in")
			}
		}
		end()
	}
}

func silentConnections(_ *testing.T, b *besieged) {
	for range 100 {
		b.in.dial()
	}
}

func badFirstFrames(t *testing.T, b *besieged) {
	whole := protocol.Append(nil, b.in.hello(message.SessionID{}))
	for _, first := range [][]byte{
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		{0},
		{byte(protocol.TypeHello), 0},
		{byte(protocol.TypeHello), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f}, // 2^62 and more
		append([]byte{byte(protocol.TypeHello), 0x81, 0x20}, make([]byte, 4097)...),
		protocol.Append(nil, &protocol.Heartbeat{Seq: 1}),
		protocol.Append(nil, &protocol.Use{Session: message.NewSessionID(), Order: 1}),
		whole[:len(whole)-1],
		append(whole[:2:2], make([]byte, len(whole)-2)...),
		append([]byte{0x80, 0xff, 0xff, 0x03}, make([]byte, 1<<16-1)...), // an optional frame, and then nothing
	} {
		c := b.in.dial()
		s, err := c.OpenStreamSync(t.Context())
		must(t, err)
		_, err = s.Write(first)
		must(t, err)
		_ = s.Close()
		select {
		case <-c.Context().Done():
		case <-time.After(upGrace):
			t.Errorf("%.20x is not hung up on", first)
		}
	}
}

// length writes a frame's type and the length it claims to have.
func length(of protocol.Type, n uint64) []byte { return binary.AppendUvarint([]byte{byte(of)}, n) }

func wrongLengths(t *testing.T, b *besieged) {
	lengths := []uint64{1 << 22, 1 << 31, 1 << 32, 1 << 62, math.MaxUint64}
	for _, of := range []protocol.Type{protocol.TypeResume, protocol.TypeAccepted, protocol.TypeRefused, protocol.TypeFloor, protocol.TypeCredit,
		protocol.TypeUse, protocol.TypeHeartbeat, protocol.TypeBye, protocol.TypeHello, protocol.TypeWelcome, 5, 127, 200} {
		k := b.in.meet(nil)
		_, _ = k.control.Write(length(of, lengths[int(of)%len(lengths)]))
		if why := k.end(upGrace); !strings.Contains(why, "malformed") {
			t.Errorf("%s: ended with %q, want malformed", of, why)
		}
	}
	for i, of := range []protocol.Type{protocol.TypeShip, protocol.TypeClose, 200, 127, protocol.TypeShip} {
		k := b.in.meet(nil)
		must(t, k.batch(k.conn, length(of, lengths[i]), true))
		if why := k.end(upGrace); !strings.Contains(why, "malformed") {
			t.Errorf("%s: ended with %q, want malformed", of, why)
		}
	}
}

// halfBatches opens as many connections and streams as it can, and sends of each batch all but the last bytes.
func halfBatches(t *testing.T, b *besieged) {
	k := b.in.meet(nil)
	half := append(length(protocol.TypeShip, 1<<20), make([]byte, 1<<20-100)...)
	conns := []*quicgo.Conn{k.conn}
	for range 15 {
		conns = append(conns, k.join())
	}
	sent := make(chan int, len(conns))
	for _, c := range conns {
		go func() {
			n := 0
			for range 40 {
				if k.batch(c, half, false) != nil {
					break
				}
				n++
			}
			sent <- n
		}()
	}
	total := 0
	for range conns {
		total += <-sent
	}
	t.Logf("%d half batches were taken", total)
	k.requireAlive()
}

func manyStreams(t *testing.T, b *besieged) {
	k := b.in.meet(nil)
	opened := 0
	for range 4 {
		c := k.join()
		for range 5000 {
			s, err := c.OpenUniStream()
			if err != nil {
				break
			}
			_, _ = s.Write([]byte{byte(protocol.TypeShip)})
			opened++
		}
		for range 100 {
			s, err := c.OpenStream()
			if err != nil {
				break
			}
			_, _ = s.Write([]byte{1})
		}
	}
	if opened > 4*1024 {
		t.Errorf("%d streams could be opened over four connections, want at most 1024 over each", opened)
	}
	k.requireAlive()
}

// answer is one that counts, about whatever stream.
func (k *talk) answer(queue string, stream message.StreamID) protocol.Answer {
	return protocol.Answer{Session: k.session, Spool: k.in.spool, Epoch: message.Epoch{Counter: k.in.epoch, Tag: 1}, Queue: queue, Stream: stream}
}

func answersUnasked(t *testing.T, b *besieged) {
	k := b.in.meet(nil)
	everything := message.Range{First: 1, Last: math.MaxUint64}
	for n := range 2000 {
		a := k.answer("bait", message.NewStreamID())
		if n%2 == 0 {
			a.Queue = "orders"
		}
		k.say(
			&protocol.Accepted{Answer: a, Ranges: []protocol.AcceptedRange{{Range: everything, Verdict: message.Accepted}}},
			&protocol.Accepted{Answer: a, Ranges: []protocol.AcceptedRange{{Range: everything, Verdict: message.Closed, Reason: message.ReasonTTL}}},
			&protocol.Refused{Answer: a, Scope: protocol.ScopeMessage, Code: protocol.CodeTooLarge, Text: "no", Range: everything},
			&protocol.Credit{Session: k.session, Queue: a.Queue, Stream: a.Stream, Through: math.MaxUint64, Bytes: math.MaxUint64},
		)
	}
	k.requireAlive()
	if got := b.queued("bait"); got != 3 {
		t.Errorf("%d messages are left of 3 that were never answered", got)
	}
	if got := b.queued("bait.dead"); got != 0 {
		t.Errorf("%d messages died of answers that were not about them", got)
	}
}

// queued is how many messages nyc has in a queue.
func (b *besieged) queued(queue string) uint64 {
	b.t.Helper()
	var queues []struct {
		Name     string
		Messages uint64
	}
	b.nyc.runJSON(&queues, "queues")
	for _, q := range queues {
		if q.Name == queue {
			return q.Messages
		}
	}
	return 0
}

func closesUnasked(t *testing.T, b *besieged) {
	k := b.in.meet(nil)
	k.announce("loot")
	stream := message.NewStreamID()
	for page := range 50 {
		f := &protocol.Close{Session: k.session, Route: "r", Queue: "loot", Stream: stream}
		for n := range protocol.MaxCloseItems {
			number := uint64(page*protocol.MaxCloseItems + n + 1)
			f.Items = append(f.Items, protocol.Closing{
				Number: number, Name: message.EndToEnd{Origin: "evil", ID: fmt.Sprint("never-", number)}, Reason: message.ReasonTTL,
			})
		}
		must(t, k.batch(k.conn, protocol.Append(nil, f), true))
	}
	for range 3000 {
		k.say(&protocol.Floor{Session: k.session, Queue: "loot", Stream: message.NewStreamID(), Floor: math.MaxUint64},
			&protocol.Floor{Session: k.session, Queue: "orders", Stream: stream, Floor: math.MaxUint64})
	}
	k.requireAlive()
	// What is not given to this peer it can neither close nor fill.
	must(t, k.batch(k.conn, protocol.Append(nil, &protocol.Close{Session: k.session, Route: "r", Queue: "orders", Stream: stream,
		Items: []protocol.Closing{{Number: 1, Name: message.EndToEnd{Origin: "fra", ID: "x"}, Reason: message.ReasonTTL}}}), true))
	k.requireRefused("orders", protocol.CodeNoRight)
	if got := b.queued("loot"); got != 0 {
		t.Errorf("%d messages came of Closes", got)
	}
}

// requireRefused waits for a refusal of what was shipped into a queue.
func (k *talk) requireRefused(queue string, code protocol.Code) {
	k.in.t.Helper()
	limit := time.After(upGrace)
	for {
		select {
		case f := <-k.answers:
			if r, ok := f.(*protocol.Refused); ok && r.Queue == queue && r.Code == code {
				return
			}
		case <-limit:
			k.in.t.Fatalf("no refusal %s for queue %s: %s", code, queue, k.end(0))
		}
	}
}

func pagesWithoutEnd(_ *testing.T, b *besieged) {
	k := b.in.meet(nil)
	page := &protocol.Resume{Session: k.session, Routes: make([]protocol.ResumeRoute, 1)}
	page.Routes[0] = protocol.ResumeRoute{Name: "r", Queue: "loot", Horizon: time.Hour}
	for range 2000 {
		page.Routes[0].Streams = append(page.Routes[0].Streams, protocol.ResumeStream{Stream: message.NewStreamID(), Floor: 1, Settled: 9})
	}
	for range 500 {
		k.say(page)
	}
	for n := range 2000 { // routes without number, of queues that are not there
		k.say(&protocol.Resume{Session: k.session, Routes: []protocol.ResumeRoute{{Name: fmt.Sprint("r", n), Queue: fmt.Sprint("q", n)}}})
	}
	k.requireAlive()
}

func hugeLimits(t *testing.T, b *besieged) {
	for _, limits := range []protocol.Limits{
		{MaxMessageBytes: math.MaxUint64, CreditBytes: math.MaxUint64, CreditMessages: math.MaxUint64},
		{MaxMessageBytes: math.MaxUint64},
		{MaxMessageBytes: 1 << 63, CreditBytes: 1 << 63, CreditMessages: 1 << 63},
	} {
		k := b.in.meet(func(h *protocol.Hello) { h.Limits = limits })
		for range 100 {
			k.say(&protocol.Credit{Session: k.session, Queue: "bait", Stream: message.NewStreamID(), Through: math.MaxUint64, Bytes: math.MaxUint64})
		}
		k.requireAlive()
	}
	if got := b.queued("bait"); got != 3 {
		t.Errorf("%d messages are left of 3 that were never answered", got)
	}
}

// ship is a batch of one message.
func (k *talk) ship(queue string, stream message.StreamID, item protocol.Shipment) []byte {
	return protocol.Append(nil, &protocol.Ship{Session: k.session, Route: "r", Queue: queue, Stream: stream, Items: []protocol.Shipment{item}})
}

// record is a message that can be read.
func record(id string) []byte {
	m := message.Message{Head: message.Head{Origin: "evil", ID: id, Priority: message.DefaultPriority}, Body: []byte("x")}
	m.Hops = []string{"evil"}
	m.Seal()
	return message.AppendRecord(nil, &m)
}

func streamsWithoutEnd(t *testing.T, b *besieged) {
	const n = 1000
	k := b.in.meet(nil)
	k.announce("loot")
	for i := range n {
		must(t, k.batch(k.conn, k.ship("loot", message.NewStreamID(), protocol.Shipment{Number: 1, Record: record(fmt.Sprint("s", i))}), true))
	}
	eventually(t, time.Minute, func() string {
		if got := b.queued("loot"); got < n {
			return fmt.Sprintf("%d of %d messages came: %s", got, n, k.end(0))
		}
		return ""
	})
	k.requireAlive()
}

func oddPlaces(t *testing.T, b *besieged) {
	k := b.in.meet(nil)
	k.announce("loot")
	stream := message.NewStreamID()
	elsewhere := message.Place{Stream: message.NewStreamID(), Number: math.MaxUint64}
	for i := range 300 {
		must(t, k.batch(k.conn, k.ship("loot", stream, protocol.Shipment{Number: math.MaxUint64 - uint64(i), Prev: elsewhere, Record: record("waits")}), true))
		must(t, k.batch(k.conn, k.ship("loot", stream, protocol.Shipment{Number: uint64(i + 1), Record: []byte("no record")}), true))
	}
	must(t, k.batch(k.conn, k.ship("loot", message.NewStreamID(), protocol.Shipment{Number: math.MaxUint64, Record: record("the last number")}), true))
	k.requireRefused("loot", protocol.CodeMalformed)
	k.requireAlive()
}

func sessionsWithoutEnd(_ *testing.T, b *besieged) {
	for range 100 {
		k := b.in.meet(nil)
		k.announce("loot")
	}
	k := b.in.meet(nil)
	k.requireAlive()
}
