package link_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

func (h *host) send(t *testing.T, route string) link.SendStatus {
	t.Helper()
	for _, row := range h.link.Status().Sends {
		if row.Name == route {
			return row
		}
	}
	t.Fatalf("no route %q", route)
	return link.SendStatus{}
}

// secondRoute gives the near side one more queue that leaves.
func secondRoute(o *link.Options, b *bolt.Options) {
	o.Sends = append(o.Sends, link.Send{Name: "returns", From: "returns", To: "returns"})
	b.Queues["returns"] = spool.QueueOptions{Route: "returns"}
}

// shippedOf waits for the next batch for queue.
func (k *talk) shippedOf(queue string) *protocol.Ship {
	k.t.Helper()
	for {
		if s := k.shipped(); s.Queue == queue {
			return s
		}
	}
}

func numbers(s *protocol.Ship) (n []uint64) {
	for _, item := range s.Items {
		n = append(n, item.Number)
	}
	return n
}

func TestRefusedRouteHoldsProbesAndIsReleasedWhileOthersGoOn(t *testing.T) {
	for _, code := range []protocol.Code{protocol.CodeUnknownQueue, protocol.CodeNoRight, protocol.CodeRemoteFull} {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork(), secondRoute)
				k := newPeer(t, h).meet()
				h.put(orders, 10, names("o", 5)...)
				s := k.shippedOf(orders)
				if len(s.Items) != 5 {
					t.Fatalf("%d items, want 5", len(s.Items))
				}
				k.say(&protocol.Refused{Answer: k.answerTo(s), Scope: protocol.ScopeRoute, Code: code, Text: "not here"})
				eventually(t, "the route is held", func() bool { return h.send(t, orders).Held == string(code)+": not here" })
				wantState := link.Up
				if code == protocol.CodeRemoteFull {
					wantState = link.RemoteFull
				}
				if h.state() != wantState {
					t.Errorf("state %s, want %s", h.state(), wantState)
				}

				h.put("returns", 10, names("r", 3)...)
				k.settle(k.shippedOf("returns"))
				eventually(t, "the other route goes on", func() bool { return len(h.ids("returns")) == 0 })

				probes := 0
				for begin := time.Now(); time.Since(begin) < 20*time.Second; {
					p := k.shipped()
					if p.Queue != orders || len(p.Items) != 1 || p.Items[0].Number != s.Items[0].Number {
						t.Fatalf("a held route shipped %v of %q", numbers(p), p.Queue)
					}
					k.say(&protocol.Refused{Answer: k.answerTo(s), Scope: protocol.ScopeRoute, Code: code, Text: "not here"})
					probes++
				}
				if probes > 6 {
					t.Errorf("%d probes in some 20 s", probes)
				}
				if lines := h.log.count("route held"); lines != 1 {
					t.Errorf("%d lines say that the route is held, want one", lines)
				}
				for h.send(t, orders).Settled < 5 {
					k.settle(k.shippedOf(orders))
					synctest.Wait()
				}
				if held := h.send(t, orders).Held; held != "" {
					t.Errorf("still held: %s", held)
				}
				if ids := h.ids(orders); len(ids) != 0 {
					t.Errorf("%v left", ids)
				}
			})
		})
	}
}

func TestAnswersOfAnotherOpeningOrSessionSettleNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		h.put(orders, 10, names("o", 4)...)
		s := k.shipped()
		right := k.answerTo(s)
		for _, wrong := range []func(*protocol.Answer){
			func(a *protocol.Answer) { a.Session = message.NewSessionID() },
			func(a *protocol.Answer) { a.Spool = message.NewSpoolID() },
			func(a *protocol.Answer) { a.Epoch.Counter-- },
			func(a *protocol.Answer) { a.Epoch.Tag++ },
			func(a *protocol.Answer) { a.Stream = message.NewStreamID() },
			func(a *protocol.Answer) { a.Queue = "another" },
		} {
			a := right
			wrong(&a)
			k.say(accepted(a, s))
		}
		all := accepted(right, s)
		all.Ranges = []protocol.AcceptedRange{{Range: message.Range{First: 5, Last: 1 << 63}, Verdict: message.Below}}
		k.say(all) // numbers that were never given
		time.Sleep(500 * time.Millisecond)
		if got := h.ids(orders); len(got) != 4 {
			t.Fatalf("left %v, want all four", got)
		}
		h.put(orders, 10, "five")
		k.settle(s)
		eventually(t, "the right answer settles", func() bool { return len(h.ids(orders)) == 1 })
		if row := h.send(t, orders); row.Settled != 4 || row.Unanswered != 1 {
			t.Errorf("settled %d, unanswered %d", row.Settled, row.Unanswered)
		}
	})
}

func TestSettledCountsOnceWhateverIsAnsweredHowOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		h.put(orders, 10, names("o", 10)...)
		s := k.shipped()
		for range 5 {
			k.settle(s)
		}
		eventually(t, "all is settled", func() bool { return len(h.ids(orders)) == 0 })
		synctest.Wait()
		if row := h.send(t, orders); row.Settled != 10 || row.Resent != 0 || row.Unanswered != 0 || row.OldestUnanswered != 0 {
			t.Errorf("%+v", row)
		}
	})
}

func TestUnansweredIsShippedAgainInTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		k := p.meet()
		h.put(orders, 10, names("o", 10)...)
		s := k.shipped()
		some := *s
		some.Items = s.Items[:4]
		k.settle(&some)
		eventually(t, "four are settled", func() bool { return len(h.ids(orders)) == 6 })
		k.conn.Close(0, "gone")
		k = p.meet()
		again := k.shipped()
		if !slices.Equal(numbers(again), numbers(s)[4:]) {
			t.Errorf("shipped again %v", numbers(again))
		}
		if prev := again.Items[0].Prev; prev != (message.Place{}) {
			t.Errorf("prev %v of the first that is left, want none", prev)
		}
		if prev := again.Items[1].Prev; prev.Number != again.Items[0].Number {
			t.Errorf("prev %v of the second, want %d", prev, again.Items[0].Number)
		}
		k.settle(again)
		eventually(t, "all is settled", func() bool { return len(h.ids(orders)) == 0 })
	})
}

func TestShippedBeyondTheLimitsOnlyWithCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		p.limits.CreditMessages = 10
		k := p.meet()
		h.put(orders, 10, names("o", 100)...)
		s := k.shipped()
		time.Sleep(100 * time.Millisecond)
		if len(s.Items) != 10 || len(k.ships) != 0 {
			t.Fatalf("%d items and %d more batches, want 10 items", len(s.Items), len(k.ships))
		}
		k.say(&protocol.Credit{Session: k.session, Queue: orders, Stream: s.Stream, Through: 25, Bytes: 1 << 20})
		if more := k.shipped(); len(more.Items) != 15 {
			t.Errorf("%d more items, want 15", len(more.Items))
		}
	})
}

func TestPrioritiesShareTheLimitsOfTheirRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		p.limits.CreditMessages = 30
		for priority := range uint8(message.MaxPriority + 1) {
			for i := range 20 {
				one := spool.Put{Queue: orders, ID: fmt.Sprint(priority, "-", i), Priority: priority, Body: []byte("x")}
				if _, err := h.store.Put(t.Context(), []spool.Put{one}); err != nil {
					t.Fatal(err)
				}
			}
		}
		k := p.meet()
		seen := make(map[message.Place]bool)
		for {
			time.Sleep(500 * time.Millisecond)
			if len(k.ships) == 0 {
				break
			}
			for len(k.ships) > 0 {
				s := k.shipped()
				for _, item := range s.Items {
					seen[message.Place{Stream: s.Stream, Number: item.Number}] = true
				}
			}
		}
		// Each of the lanes may have one under way in any case.
		if n := len(seen); n < 30 || n > 30+message.MaxPriority {
			t.Errorf("%d messages are unanswered, the peer has room for 30", n)
		}
	})
}

func TestStreamThatThePeerStopsCostsOnlyItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		k := p.greet()
		k.begin()
		h.eventuallyState(link.Up)
		k.stopStreams(3)
		all := names("o", 30)
		for _, id := range all {
			h.put(orders, 300<<10, id) // more than a window: the writer notices
		}
		got := k.collect(all)
		if !slices.Equal(got, all) {
			t.Errorf("got %v", got)
		}
	})
}

// collect settles what is shipped until all ids have come, and returns them in the order of their numbers.
func (k *talk) collect(want []string) []string {
	k.t.Helper()
	byNumber := make(map[uint64]string)
	for len(byNumber) < len(want) {
		s := k.shipped()
		for _, item := range s.Items {
			m, err := message.ParseRecord(item.Record)
			if err != nil {
				k.t.Fatal(err)
			}
			byNumber[item.Number] = m.ID
		}
		k.settle(s)
	}
	eventually(k.t, "all is settled", func() bool { return len(k.h.ids(orders)) == 0 })
	var ids []string
	for n := range uint64(1 << 20) {
		if id, ok := byNumber[n]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestNoDataConnectionAtAllAndOneThatDiesWithinABatch(t *testing.T) {
	for _, name := range []string{"control alone", "data connection dies"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork())
				p := newPeer(t, h)
				k := p.meet()
				all := names("o", 200)
				if name == "control alone" {
					h.put(orders, 1000, all...)
					k.collect(all)
					return
				}
				d := p.open(p.connect())
				d.session = k.session
				d.leaveStreams()
				d.say(p.hello(k.session))
				eventually(t, "two connections", func() bool { return h.link.Status().Connections == 2 })
				h.put(orders, 300<<10, all[:10]...)
				time.Sleep(100 * time.Millisecond)
				if len(k.ships) != 0 {
					t.Fatal("the control connection carries though a data connection stands")
				}
				died := time.Now()
				d.conn.Close(0, "died")
				k.collect(all[:10])
				if took := time.Since(died); took > 500*time.Millisecond {
					t.Errorf("what the connection carried came after %s, want at once", took)
				}
			})
		})
	}
}

func TestRecordDamagedHereHoldsItsRouteAlone(t *testing.T) {
	for name, damage := range map[string]func([]spool.Record) []spool.Record{
		"its envelope cannot be read": func(records []spool.Record) []spool.Record {
			for i, r := range records {
				if m, err := message.ParseFront(r.Bytes); err == nil && m.ID == "bad" {
					records[i].Bytes[len(r.Bytes)-len(m.Body)-1] ^= 1 // the sum of the envelope
				}
			}
			return records
		},
		"it is not there": func(records []spool.Record) []spool.Record {
			return slices.DeleteFunc(records, func(r spool.Record) bool {
				m, err := message.ParseFront(r.Bytes)
				return err == nil && m.ID == "bad"
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork(), secondRoute)
				h.fetched.Store(&damage)
				k := newPeer(t, h).meet()
				h.put(orders, 10, "good", "bad", "behind")
				k.settle(k.shipped())
				eventually(t, "the route is held", func() bool { return strings.HasPrefix(h.send(t, orders).Held, "corrupt: message 2:") })
				h.put("returns", 10, "r")
				k.settle(k.shippedOf("returns"))
				time.Sleep(time.Minute)
				if len(k.ships) != 0 || h.state() != link.Up {
					t.Errorf("%d more batches, state %s", len(k.ships), h.state())
				}
				h.fetched.Store(nil)
				for h.send(t, orders).Settled < 3 {
					k.settle(k.shipped())
					synctest.Wait()
				}
			})
		})
	}
}
