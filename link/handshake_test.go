package link_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
)

func TestPeerThatRefusesTheVersionIsDialledSlowlyAndToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		h := newHost(t, n, dials(farAddr))
		p := newPeer(t, h)
		serve(t, p.answer(), func(c *conn) {
			k, _ := p.accept(c)
			k.say(&protocol.Refused{Scope: protocol.ScopeSession, Code: protocol.CodeVersion, Text: "speaks 7 only"})
		})
		begin := time.Now()
		time.Sleep(time.Hour)
		if s := h.link.Status(); s.State != link.Refused || !strings.Contains(s.Reason, "speaks 7 only") {
			t.Errorf("%s: %s, want refused in the peer's words", s.State, s.Reason)
		}
		if dials := n.dialled(begin); dials < 45 || dials > 85 {
			t.Errorf("%d dials in an hour, want about one a minute", dials)
		}
		if lines := h.log.count("link refused"); lines != 1 {
			t.Errorf("%d lines say refused, want one", lines)
		}
	})
}

func TestPeerOfAnotherIdentityIsDialledSlowlyAndToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		h := newHost(t, n, dials(farAddr))
		n.listen(farAddr, link.Pin{9}, func(*conn) {})
		begin := time.Now()
		time.Sleep(time.Hour)
		if s := h.link.Status(); s.State != link.Refused || !strings.Contains(s.Reason, "wrong identity") {
			t.Errorf("%s: %s, want refused for the identity", s.State, s.Reason)
		}
		if dials := n.dialled(begin); dials < 45 || dials > 85 {
			t.Errorf("%d dials in an hour, want about one a minute", dials)
		}
		if lines := h.log.count("link refused"); lines != 1 {
			t.Errorf("%d lines say refused, want one", lines)
		}
	})
}

func TestPeerWithoutAVersionInCommonIsRefusedInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		p.versions = protocol.VersionRange{Min: 7, Max: 9}
		k := p.greet()
		if r := hear[*protocol.Refused](k); r.Scope != protocol.ScopeSession || r.Code != protocol.CodeVersion || !strings.Contains(r.Text, "7 to 9") {
			t.Errorf("refused %s %s: %q", r.Scope, r.Code, r.Text)
		}
		k.conn.Close(0, "read")
		h.eventuallyState(link.Refused)
		if reason := h.link.Status().Reason; strings.Contains(reason, "the peer refuses") {
			t.Errorf("%q, but it was this side that refused", reason)
		}
		p.versions = protocol.VersionRange{Min: 1, Max: 7}
		p.meet()
	})
}

func TestVersionThatWasNotOfferedIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), dials(farAddr))
		p := newPeer(t, h)
		k, _ := p.accept(<-p.answer())
		k.say(p.welcome(2))
		k.requireEnd("version 2, which was not offered")
	})
}

func (p *peer) welcome(version uint8) *protocol.Welcome {
	return &protocol.Welcome{
		Version: version, Agent: "far", Spool: p.spool, Epochs: []message.Epoch{p.epoch}, Limits: p.limits,
		Session: message.NewSessionID(), Fence: message.NewSessionID(),
	}
}

func TestStrangeConnectionDoesNotChangeTheStateOfALinkThatIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		good := newPeer(t, h)
		good.meet()
		bad := newPeer(t, h)
		bad.versions = protocol.VersionRange{Min: 7, Max: 9}
		k := bad.greet()
		hear[*protocol.Refused](k)
		k.conn.Close(0, "read")
		synctest.Wait()
		if s := h.state(); s != link.Up {
			t.Errorf("state %s, want up", s)
		}
	})
}

func TestWrongFramesEndTheConnectionAndNotTheLink(t *testing.T) {
	heartbeat := protocol.Append(nil, &protocol.Heartbeat{Seq: 1})
	for _, c := range []struct {
		name string
		do   func(p *peer) *talk
		want string
	}{
		{"the first frame is not Hello", func(p *peer) *talk {
			k := p.open(p.connect())
			k.say(&protocol.Heartbeat{Seq: 1})
			return k
		}, "not Hello"},
		{"the first frame is garbage", func(p *peer) *talk {
			k := p.open(p.connect())
			_, _ = k.stream.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			return k
		}, "no Hello"},
		{"nothing is said", func(p *peer) *talk {
			k := p.open(p.connect())
			return k
		}, "no Hello"},
		{"a Ship on the control stream", func(p *peer) *talk {
			k := p.meet()
			stream := message.NewStreamID()
			k.say(&protocol.Ship{Session: k.session, Route: "r", Queue: refunds, Stream: stream, Items: chain(stream, names("r", 1), 1)})
			return k
		}, "Ship on the control stream"},
		{"a second Hello", func(p *peer) *talk {
			k := p.meet()
			k.say(p.hello(message.SessionID{}))
			return k
		}, "Hello on the control stream"},
		{"garbage on the control stream", func(p *peer) *talk {
			k := p.meet()
			_, _ = k.stream.Write([]byte{0x7f, 1, 2, 3})
			return k
		}, "malformed"},
		{"a heartbeat on a batch stream", func(p *peer) *talk {
			k := p.meet()
			k.sayBytes(heartbeat)
			return k
		}, "Heartbeat where a batch was due"},
		{"garbage on a batch stream", func(p *peer) *talk {
			k := p.meet()
			k.sayBytes([]byte{4, 2, 0, 0})
			return k
		}, "batch from"},
		{"a batch of a data connection is garbage", func(p *peer) *talk {
			k := p.meet()
			p.join(k).sayBytes([]byte{4, 2, 0, 0})
			return k
		}, "batch from"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork())
				p := newPeer(t, h)
				c.do(p).requireEnd(c.want)
				p.meet()
			})
		})
	}
}

func TestBrokenOffBatchIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		whole := protocol.Append(nil, &protocol.Ship{Session: k.session, Route: "r", Queue: refunds, Stream: stream, Items: chain(stream, names("r", 3), 10)})
		for n := range len(whole) {
			k.sayBytes(whole[:n])
		}
		synctest.Wait()
		if ids := h.ids(refunds); len(ids) != 0 {
			t.Fatalf("halves of a batch stored %v", ids)
		}
		k.sayBytes(whole)
		eventually(t, "the whole batch is stored", func() bool { return len(h.ids(refunds)) == 3 })
	})
}

func TestPeerThatDoesNotReadItsEchoesLosesTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		k := p.greet()
		k.begin()
		k.stopReading()
		flood := protocol.Append(nil, &protocol.Heartbeat{Seq: 1})
		sent := 0
		for k.conn.Err() == nil && sent < 64<<20 {
			n, _ := k.stream.Write(flood)
			sent += n
		}
		k.requireEnd("does not read its control stream")
		if sent > 4<<20 {
			t.Errorf("%d bytes of heartbeats were taken before the session ended", sent)
		}
		p.meet()
	})
}

func TestOnlySoManyConnectionsMayBeSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		refused := 0
		for range 100 {
			c := p.connect()
			synctest.Wait()
			if c.Err() != nil {
				refused++
			}
			t.Cleanup(func() { c.Close(0, "the test is over") })
		}
		if refused != 68 {
			t.Errorf("%d of 100 silent connections were turned away, want 68", refused)
		}
		time.Sleep(11 * time.Second)
		p.meet()
	})
}

func TestOnlySoManyConnectionsCarryASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		k := p.meet()
		for range 40 {
			p.join(k)
		}
		synctest.Wait()
		if n := h.link.Status().Connections; n != 16 {
			t.Errorf("%d connections, want 16", n)
		}
		if h.state() != link.Up {
			t.Errorf("state %s, want up", h.state())
		}
	})
}

func TestAddressWhoseHandshakeFailsDoesNotHideTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		h := newHost(t, n, dials("dead:1", farAddr))
		n.listen("dead:1", farPin, func(c *conn) { c.Close(0, "nobody home") })
		p := newPeer(t, h)
		k, _ := p.accept(<-p.answer())
		w := p.welcome(1)
		k.say(w)
		k.welcomed(w)
		h.eventuallyState(link.Up)
	})
}

func TestSessionsThatEndAtOnceAreNotDialledInALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		h := newHost(t, n, dials(farAddr))
		p := newPeer(t, h)
		var sessions atomic.Int64
		serve(t, p.answer(), func(c *conn) {
			s, err := c.AcceptStream(t.Context())
			if err != nil {
				return
			}
			k := p.over(c, s)
			if hello, ok := (<-k.frames).(*protocol.Hello); !ok || hello.Joins != (message.SessionID{}) {
				return
			}
			sessions.Add(1)
			k.say(p.welcome(1))
			time.Sleep(time.Millisecond) // it is up by then
			c.Close(0, "so sorry")
		})
		time.Sleep(10 * time.Second)
		if n := sessions.Load(); n < 20 || n > 60 {
			t.Errorf("%d sessions in 10 s, want about four a second", n)
		}
	})
}
