package link_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// follower makes the far side the chooser.
func follower(o *link.Options, _ *bolt.Options) { o.Self = link.Pin{3} }

func TestFollowerIgnoresAUseThatIsNotAboveTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), follower)
		p := newPeer(t, h)
		meet := func(order uint64) *talk {
			k := p.greet()
			k.welcomed(hear[*protocol.Welcome](k))
			k.say(&protocol.Use{Session: k.session, Order: order})
			return k
		}
		first := meet(5)
		h.eventuallyState(link.Up)
		for _, order := range []uint64{4, 5} {
			meet(order).requireEnd("another session has taken over")
		}
		if s := h.link.Status(); s.Session != first.session.String() || s.State != link.Up {
			t.Errorf("session %s is %s, want %s up", s.Session, s.State, first.session)
		}
		second := meet(6)
		first.requireEnd("another session has taken over")
		eventually(t, "the newest wins", func() bool { return h.link.Status().Session == second.session.String() })
		p.epoch.Counter++ // the chooser's spool was opened again: its orders begin anew
		third := meet(1)
		second.requireEnd("another session has taken over")
		eventually(t, "the new epoch wins", func() bool { return h.link.Status().Session == third.session.String() })
	})
}

func TestUseOfAnotherSessionIsNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), follower)
		k := newPeer(t, h).greet()
		k.welcomed(hear[*protocol.Welcome](k))
		k.say(&protocol.Use{Session: message.NewSessionID(), Order: 1})
		k.requireEnd("where Use was due")
	})
}

func TestBothDialAtOnceAndSettleOnOneSession(t *testing.T) {
	for _, delay := range []time.Duration{0, 30 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				n.delay = delay
				near, far := newHost(t, n, dials(farAddr)), newFarHost(t, n, dials(nearAddr))
				near.put(orders, 100, names("o", 300)...)
				far.put(refunds, 100, names("r", 300)...)
				near.eventuallyState(link.Up)
				far.eventuallyState(link.Up)
				eventually(t, "both ways are empty", func() bool { return len(near.ids(orders))+len(far.ids(refunds)) == 0 })
				session := near.link.Status().Session
				made := len(n.made())
				time.Sleep(time.Minute)
				a, b := near.link.Status(), far.link.Status()
				if a.Session != session || b.Session != session || a.State != link.Up || b.State != link.Up {
					t.Errorf("sessions %s %s and %s %s, want %s up", a.Session, a.State, b.Session, b.State, session)
				}
				if a.Connections != 5 || b.Connections != 5 {
					t.Errorf("%d and %d connections, want 5", a.Connections, b.Connections)
				}
				if more := len(n.made()) - made; more > 0 {
					t.Errorf("%d more connections in a quiet minute", more)
				}
				if made > 16 {
					t.Errorf("%d connections before it was quiet", made)
				}
				if ups := near.log.count("link up"); ups > 2 {
					t.Errorf("up %d times", ups)
				}
				if got := far.ids(orders); !slices.Equal(got, names("o", 300)) {
					t.Errorf("%d of 300 orders came, in order: %t", len(got), slices.IsSorted(got))
				}
				if got := near.ids(refunds); !slices.Equal(got, names("r", 300)) {
					t.Errorf("%d of 300 refunds came, in order: %t", len(got), slices.IsSorted(got))
				}
			})
		})
	}
}

func TestSilentPeerIsStalledAfterASecondOrFourRoundTrips(t *testing.T) {
	for _, c := range []struct{ delay, want time.Duration }{
		{0, time.Second},
		{250 * time.Millisecond, 2 * time.Second},
	} {
		t.Run(c.delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				n.delay = c.delay
				h := newHost(t, n)
				k := newPeer(t, h).meet()
				k.silence(true)
				h.put(orders, 10, "o")
				begin := time.Now()
				h.eventuallyState(link.Stalled)
				took := time.Since(begin)
				if took < c.want-250*time.Millisecond || took > c.want+2*c.delay+300*time.Millisecond {
					t.Errorf("stalled after %s, want about %s", took, c.want)
				}
				if s := h.link.Status(); !strings.Contains(s.Reason, "1 messages wait") {
					t.Errorf("reason %q", s.Reason)
				}
				k.silence(false)
				h.eventuallyState(link.Up)
			})
		})
	}
}

func TestStalledSessionIsKeptWhileAnotherIsDialledAndEitherMayWin(t *testing.T) {
	t.Run("the old one speaks again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork()
			near, far := newHost(t, n, dials(farAddr)), newFarHost(t, n)
			near.eventuallyState(link.Up)
			eventually(t, "five connections", func() bool { return near.link.Status().Connections == 5 })
			session := near.link.Status().Session
			heal := n.deaf(farAddr)
			old := n.made()
			for _, p := range old {
				p.freeze()
			}
			near.put(orders, 10, names("o", 20)...)
			near.eventuallyState(link.Stalled)
			begin := time.Now()
			time.Sleep(5 * time.Second)
			if dials := n.dialled(begin); dials < 15 || dials > 25 {
				t.Errorf("%d dials in 5 s, want four a second", dials)
			}
			for _, p := range old {
				p.thaw()
			}
			near.eventuallyState(link.Up)
			heal()
			time.Sleep(10 * time.Second) // the data connections are renewed
			eventually(t, "all is settled", func() bool { return len(near.ids(orders)) == 0 })
			eventually(t, "five connections again", func() bool { return near.link.Status().Connections == 5 })
			quiet := time.Now()
			time.Sleep(time.Minute)
			if dials := n.dialled(quiet); dials != 0 {
				t.Errorf("%d dials though the link is up", dials)
			}
			if s := near.link.Status(); s.Session != session {
				t.Errorf("session %s, want the old %s", s.Session, session)
			}
			if got := far.ids(orders); !slices.Equal(got, names("o", 20)) {
				t.Errorf("%v came", got)
			}
			if near.log.count("link heard again") != 1 {
				t.Error("nothing says that the link was heard again")
			}
		})
	})
	t.Run("a new one stands", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork()
			near, far := newHost(t, n, dials(farAddr)), newFarHost(t, n)
			near.eventuallyState(link.Up)
			session := near.link.Status().Session
			old := n.made()
			near.put(orders, 10, names("a", 20)...)
			time.Sleep(2 * time.Millisecond) // some of it is under way
			for _, p := range old {
				p.freeze()
			}
			near.put(orders, 10, names("b", 20)...)
			eventually(t, "all is settled", func() bool { return len(near.ids(orders)) == 0 })
			if s := near.link.Status(); s.Session == session || s.State != link.Up {
				t.Errorf("session %s is %s", s.Session, s.State)
			}
			for _, p := range old {
				p.thaw()
			}
			time.Sleep(10 * time.Second)
			if got := far.ids(orders); !slices.Equal(got, append(names("a", 20), names("b", 20)...)) {
				t.Errorf("%v came", got)
			}
		})
	})
}

func TestStalledLinkWhosePeerRefusesTheDialsSaysRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		near := newHost(t, n, dials(farAddr))
		newFarHost(t, n)
		near.eventuallyState(link.Up)
		for _, p := range n.made() {
			p.freeze()
		}
		n.listen(farAddr, link.Pin{9}, func(*conn) {})
		near.put(orders, 10, "o")
		near.eventuallyState(link.Refused)
		time.Sleep(10 * time.Minute)
		if refused, stalled := near.log.count("link refused"), near.log.count("link stalled"); refused != 1 || stalled > 1 {
			t.Errorf("%d lines say refused, %d stalled", refused, stalled)
		}
	})
}

func TestWorkGoesOnOverWhateverConnectionsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.delay = 5 * time.Millisecond
		near, far := newHost(t, n, dials(farAddr)), newFarHost(t, n)
		eventually(t, "five connections", func() bool { return near.link.Status().Connections == 5 })
		session := near.link.Status().Session
		control := n.made()[0]
		want := names("o", 400)
		near.put(orders, 10<<10, want[:200]...)
		for range 20 {
			time.Sleep(7 * time.Millisecond)
			for _, p := range n.made() {
				if p != control {
					p.cut()
				}
			}
		}
		near.put(orders, 10<<10, want[200:]...)
		eventually(t, "all is settled", func() bool { return len(near.ids(orders)) == 0 })
		if got := far.ids(orders); !slices.Equal(got, want) {
			t.Errorf("%d of 400 came, in order: %t", len(got), slices.IsSorted(got))
		}
		if s := near.link.Status().Session; s != session {
			t.Errorf("the session has changed though its control connection stood")
		}
		eventually(t, "five connections again", func() bool { return near.link.Status().Connections == 5 })
	})
}

func TestShutdownWaitsForAnswersAtMostTheGraceAndSaysBye(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(k *talk, s *protocol.Ship)
		// took is how long Run still runs once it is told to stop.
		least, most time.Duration
		left        int
	}{
		{"nothing is answered", func(*talk, *protocol.Ship) {}, 5 * time.Second, 6 * time.Second, 3},
		{"an answer comes", func(k *talk, s *protocol.Ship) { time.Sleep(2 * time.Second); k.settle(s) }, 2 * time.Second, 3 * time.Second, 0},
		{"the route is held", func(k *talk, s *protocol.Ship) {
			k.say(&protocol.Refused{Answer: k.answerTo(s), Scope: protocol.ScopeRoute, Code: protocol.CodeRemoteFull, Text: "full"})
		}, 0, time.Second, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork())
				k := newPeer(t, h).meet()
				h.put(orders, 10, names("o", 3)...)
				s := k.shipped()
				begin := time.Now()
				h.stop()
				synctest.Wait()
				if state := h.state(); state != link.Draining {
					t.Errorf("state %s, want draining", state)
				}
				c.answer(k, s)
				if b := hear[*protocol.Bye](k); b.Code != protocol.CodeShutdown {
					t.Errorf("bye %s", b.Code)
				}
				if took := time.Since(begin); took < c.least || took > c.most {
					t.Errorf("bye after %s, want %s to %s", took, c.least, c.most)
				}
				k.conn.Close(0, "bye")
				h.shutdown()
				if left := h.ids(orders); len(left) != c.left {
					t.Errorf("left %v", left)
				}
				if len(k.ships) != 0 {
					t.Error("shipped while draining")
				}
			})
		})
	}
}

func TestShutdownWithoutASessionIsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), dials(farAddr))
		time.Sleep(10 * time.Second)
		k := newPeer(t, h).open(newPeer(t, h).connect()) // one that says nothing
		begin := time.Now()
		h.shutdown()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("Run went on for %s", took)
		}
		k.requireEnd("")
	})
}

func TestFailedCommitEndsTheSessionAndNothingIsLostOrDoubled(t *testing.T) {
	for _, point := range []string{bolt.HookCommitApplied, bolt.HookCommitDone} {
		for _, side := range []string{"near", "far"} {
			t.Run(point+" at "+side, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newNetwork()
					n.delay = time.Millisecond
					var fail atomic.Bool
					failing := func(_ *link.Options, b *bolt.Options) {
						b.Hook = func(at string) error {
							if at == point && fail.CompareAndSwap(true, false) {
								return errors.New("the disk is gone for a moment")
							}
							return nil
						}
					}
					var near, far *host
					if side == "near" {
						near, far = newHost(t, n, dials(farAddr), failing), newFarHost(t, n)
					} else {
						near, far = newHost(t, n, dials(farAddr)), newFarHost(t, n, failing)
					}
					near.eventuallyState(link.Up)
					hurt := near
					if side == "far" {
						hurt = far
					}
					epoch, session := hurt.store.Identity().Epoch, near.link.Status().Session
					want := names("o", 1000)
					near.put(orders, 5000, want[:900]...)
					fail.Store(true)
					eventually(t, "a commit has failed", func() bool { return hurt.store.Identity().Epoch != epoch })
					near.put(orders, 100, want[900:]...)
					eventually(t, "all is settled", func() bool { return len(near.ids(orders)) == 0 })
					if got := far.ids(orders); !slices.Equal(got, want) {
						t.Errorf("%d of 1000 came, in order: %t", len(got), slices.IsSorted(got))
					}
					if s := near.link.Status(); s.Session == session || s.State != link.Up {
						t.Errorf("session %s is %s, want another one up", s.Session, s.State)
					}
				})
			})
		}
	}
}

func TestReopenedSpoolEndsAnIdleSessionToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		h := newHost(t, newNetwork(), func(_ *link.Options, b *bolt.Options) {
			b.Hook = func(at string) error {
				if at == bolt.HookCommitApplied && fail.CompareAndSwap(true, false) {
					return errors.New("the disk is gone for a moment")
				}
				return nil
			}
		})
		k := newPeer(t, h).meet()
		synctest.Wait() // nothing of the link waits for a commit
		fail.Store(true)
		_, err := h.store.Put(t.Context(), []spool.Put{{Queue: refunds, ID: "x", Body: bytes.Repeat([]byte{1}, 10)}})
		if !errors.Is(err, spool.ErrUnknown) {
			t.Fatalf("put: %v", err)
		}
		k.requireEnd("the spool was reopened")
	})
}

func TestStatusTellsWhoWhereAndWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.delay = 10 * time.Millisecond
		h := newHost(t, n)
		synctest.Wait()
		if s := h.link.Status(); s.State != link.Connecting || !strings.Contains(s.Reason, "waiting for the peer to dial") || s.Peer != farPin {
			t.Errorf("before: %+v", s)
		}
		p := newPeer(t, h)
		k := p.meet()
		h.put(orders, 100, names("o", 3)...)
		k.shipped()
		time.Sleep(time.Second)
		s := h.link.Status()
		if s.State != link.Up || s.PeerAgent != "far" || s.Address != farAddr || s.Session != k.session.String() ||
			s.RTT != 20*time.Millisecond || s.Connections != 1 || s.PacketsSent == 0 {
			t.Errorf("up: %+v", s)
		}
		if row := s.Sends[0]; row.Unanswered != 3 || row.UnansweredBytes < 300 || row.OldestUnanswered < time.Second || row.Held != "" {
			t.Errorf("up: %+v", row)
		}
		k.say(&protocol.Bye{Code: protocol.CodeShutdown, Text: "lunch"})
		h.eventuallyState(link.Connecting)
		if s := h.link.Status(); !strings.Contains(s.Reason, "lunch") || s.PeerAgent != "far" || s.Session != "" || s.Sends[0].Unanswered != 0 {
			t.Errorf("down: %+v", s)
		}
	})
}

func TestStatusDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hold atomic.Bool
		release := make(chan struct{})
		h := newHost(t, newNetwork(), func(_ *link.Options, b *bolt.Options) {
			b.Hook = func(at string) error {
				if at == bolt.HookCommitBegin && hold.Load() {
					<-release
				}
				return nil
			}
		})
		k := newPeer(t, h).meet()
		k.stopReading()
		h.put(orders, 10, names("o", 100)...)
		s := k.shipped()
		hold.Store(true)
		stream := message.NewStreamID()
		k.ship(refunds, stream, chain(stream, names("r", 10), 10)...)
		k.settle(s)
		synctest.Wait() // accept and settle wait for the disk
		begin := time.Now()
		status := h.link.Status()
		if time.Since(begin) != 0 || status.State != link.Up || status.Sends[0].Settled != 0 || status.Receives[0].Accepted != 0 {
			t.Errorf("after %s: %s, %+v, %+v", time.Since(begin), status.State, status.Sends[0], status.Receives[0])
		}
		hold.Store(false)
		close(release)
		eventually(t, "the disk goes on", func() bool {
			s := h.link.Status()
			return s.Sends[0].Settled == 100 && s.Receives[0].Accepted == 10
		})
	})
}
