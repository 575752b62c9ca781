package link_test

import (
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

// dead returns what lies among the dead letters of a queue, in order.
func (h *host) dead(queue string) []spool.Peeked {
	h.t.Helper()
	peeked, err := h.store.Peek(h.t.Context(), message.DeadQueue(queue), 0, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return peeked
}

// retriesFor gives the near side's route a horizon.
func retriesFor(d time.Duration) setup {
	return func(o *link.Options, _ *bolt.Options) { o.Sends[0].RetryFor = d }
}

func TestRefusedMessageIsClosedAndBecomesADeadLetterWhileOthersGoOn(t *testing.T) {
	for code, reason := range map[protocol.Code]message.Reason{
		protocol.CodeIDConflict:    message.ReasonIDConflict,
		protocol.CodeTooLarge:      message.ReasonTooLarge,
		protocol.CodeLoop:          message.ReasonLoop,
		protocol.CodeCorrupt:       message.ReasonCorrupt,
		protocol.CodeMalformed:     message.ReasonMalformed,
		protocol.CodeHorizonPassed: message.ReasonHorizonPassed,
		protocol.CodeInDoubt:       message.ReasonInDoubt,
		"newer-than-this-program":  message.ReasonRejected,
	} {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork())
				k := newPeer(t, h).meet()
				h.put(orders, 10, names("o", 5)...)
				s := k.shipped()
				bad := s.Items[2].Number
				good := *s
				good.Items = s.Items[:2]
				k.settle(&good)
				k.say(&protocol.Refused{Answer: k.answerTo(s), Scope: protocol.ScopeMessage, Range: message.Range{First: bad, Last: bad}, Code: code, Text: "its own fault"})
				c := k.closed()
				if len(c.Items) != 1 || c.Items[0].Number != bad || c.Items[0].Reason != reason || c.Stream != s.Stream || c.Queue != orders {
					t.Fatalf("closes %+v", c)
				}
				m, err := message.ParseRecord(s.Items[2].Record)
				if err != nil || c.Items[0].Name != m.EndToEnd() || c.Items[0].Sum != m.ContentSum() {
					t.Errorf("closes %+v, shipped was %+v, %v", c.Items[0], m.EndToEnd(), err)
				}
				eventually(t, "what was accepted is settled, and no more", func() bool { return slices.Equal(h.ids(orders), names("o", 5)[2:]) })
				k.decide(orders, s.Stream, bad, message.Closed, reason)
				good.Items = s.Items[3:]
				k.settle(&good)
				eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
				dead := h.dead(orders)
				if len(dead) != 1 || dead[0].ID != "o-00002" || dead[0].Death.Reason != reason || !strings.Contains(dead[0].Death.Text, "its own fault") ||
					dead[0].Death.Route != orders || dead[0].Death.Queue != orders {
					t.Errorf("dead letters %+v", dead)
				}
				if row := h.send(t, orders); row.Settled != 4 || row.Buried != 1 || row.Held != "" {
					t.Errorf("%+v", row)
				}
				if f := hear[*protocol.Floor](k); f.Stream != s.Stream || f.Queue != orders || f.Floor <= bad {
					t.Errorf("floor %+v, closed was %d", f, bad)
				}
			})
		})
	}
}

func TestMessageLargerThanThePeerTakesIsClosedUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), secondRoute)
		p := newPeer(t, h)
		p.limits.MaxMessageBytes = 1000
		k := p.meet()
		h.put(orders, 1000, "fits")
		h.put(orders, 300<<10, "does-not")
		h.put(orders, 1000, "behind")
		k.settle(k.shipped())
		c := k.closed()
		if len(c.Items) != 1 || c.Items[0].Name.ID != "does-not" || c.Items[0].Reason != message.ReasonTooLarge {
			t.Fatalf("closes %+v", c)
		}
		k.decide(orders, c.Stream, c.Items[0].Number, message.Closed, message.ReasonTooLarge)
		k.settle(k.shippedOf(orders))
		eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
		if dead := h.dead(orders); len(dead) != 1 || !strings.Contains(dead[0].Death.Text, "the peer takes 1000") || len(dead[0].Body) != 300<<10 {
			t.Errorf("dead letters %+v", dead)
		}
	})
}

func TestAnAnswerBeatsTheHorizon(t *testing.T) {
	for _, verdict := range []message.Verdict{message.Accepted, message.Duplicate, message.Below} {
		t.Run(verdict.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork(), retriesFor(10*time.Second))
				k := newPeer(t, h).meet()
				h.put(orders, 10, "o")
				s := k.shipped()
				c := k.closed() // nothing was answered for ten seconds
				if c.Items[0].Reason != message.ReasonHorizonPassed || c.Items[0].Age < 10*time.Second {
					t.Errorf("closes %+v", c.Items[0])
				}
				k.decide(orders, s.Stream, 1, verdict, "")
				eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
				if dead := h.dead(orders); len(dead) != 0 {
					t.Errorf("dead letters %+v", dead)
				}
			})
		})
	}
}

func TestPastItsHorizonAMessageIsClosedAndNeverShipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), retriesFor(5*time.Second))
		k := newPeer(t, h).meet()
		h.put(orders, 10, "late")
		s := k.shipped()
		k.conn.pair.cut()
		time.Sleep(time.Minute)
		h.put(orders, 10, "young")
		k = newPeer(t, h).meet()
		c := k.closed()
		if len(c.Items) != 1 || c.Items[0].Name.ID != "late" || c.Items[0].Prev.Number != 0 {
			t.Errorf("closes %+v", c)
		}
		young := k.shipped()
		if len(young.Items) != 1 || young.Items[0].Prev.Number != s.Items[0].Number {
			t.Errorf("ships %+v", young.Items)
		}
		k.decide(orders, s.Stream, s.Items[0].Number, message.Closed, message.ReasonHorizonPassed)
		k.settle(young)
		eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
		if dead := h.dead(orders); len(dead) != 1 || dead[0].ID != "late" || !strings.Contains(dead[0].Death.Text, "5s") {
			t.Errorf("dead letters %+v", dead)
		}
	})
}

func TestMessageThatNeverLeftHasAllOfItsHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), retriesFor(time.Minute))
		h.put(orders, 10, "o")
		time.Sleep(24 * time.Hour) // there was no link to ship it over
		k := newPeer(t, h).meet()
		if s := k.shipped(); s.Items[0].Age > time.Second {
			t.Errorf("its age is %s", s.Items[0].Age)
		}
	})
}

func TestRetiredNumberIsParkedInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		h.put(orders, 10, "o")
		k.decide(orders, k.shipped().Stream, 1, message.Retired, "")
		eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
		if dead := h.dead(orders); len(dead) != 1 || dead[0].Death.Reason != message.ReasonInDoubt {
			t.Errorf("dead letters %+v", dead)
		}
	})
}

func TestClosedAnswerFromBeforeACrashBuriesWithTheReasonThatThePeerKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		h.put(orders, 10, "o")
		k.decide(orders, k.shipped().Stream, 1, message.Closed, message.ReasonTooLarge)
		eventually(t, "the queue is empty", func() bool { return len(h.ids(orders)) == 0 })
		if dead := h.dead(orders); len(dead) != 1 || dead[0].Death.Reason != message.ReasonTooLarge {
			t.Errorf("dead letters %+v", dead)
		}
	})
}

// closing closes items that the far side would have shipped.
func (k *talk) close(queue string, stream message.StreamID, reason message.Reason, items ...protocol.Shipment) {
	k.t.Helper()
	f := &protocol.Close{Session: k.session, Route: "far-" + queue, Queue: queue, Stream: stream}
	for _, item := range items {
		m, err := message.ParseRecord(item.Record)
		if err != nil {
			k.t.Fatal(err)
		}
		f.Items = append(f.Items, protocol.Closing{Number: item.Number, Prev: item.Prev, Name: m.EndToEnd(), Sum: m.ContentSum(), Reason: reason})
	}
	k.sayBytes(protocol.Append(nil, f))
}

func TestCloseIsObeyedInItsPlaceAndRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.StreamID{7}
		items := chain(stream, names("r", 4), 10)
		k.close(refunds, stream, message.ReasonTTL, items[1]) // waits for its prev
		time.Sleep(time.Second)
		if got := heard[*protocol.Accepted](k); len(got) != 0 {
			t.Fatalf("a Close whose prev is missing was answered: %+v", got)
		}
		k.ship(refunds, stream, items[0])
		verdicts := map[uint64]protocol.AcceptedRange{}
		collect := func(n int) {
			t.Helper()
			eventually(t, "answers", func() bool {
				for _, f := range heard[*protocol.Accepted](k) {
					for _, r := range f.Ranges {
						for number := r.First; number <= r.Last; number++ {
							verdicts[number] = r
						}
					}
				}
				return len(verdicts) >= n
			})
		}
		collect(2)
		if verdicts[1].Verdict != message.Accepted || verdicts[2].Verdict != message.Closed || verdicts[2].Reason != message.ReasonTTL || !verdicts[2].Young {
			t.Fatalf("%+v", verdicts)
		}
		k.ship(refunds, stream, items[2:]...)
		collect(4)
		clear(verdicts)
		k.ship(refunds, stream, items[1])                               // it was closed
		k.close(refunds, stream, message.ReasonHorizonPassed, items[2]) // it had come
		collect(2)
		if verdicts[2].Verdict != message.Closed || verdicts[2].Reason != message.ReasonTTL || verdicts[3].Verdict != message.Duplicate {
			t.Fatalf("%+v", verdicts)
		}
		if got, want := h.ids(refunds), []string{"r-00000", "r-00002", "r-00003"}; !slices.Equal(got, want) {
			t.Errorf("%v came, want %v", got, want)
		}
		k.say(&protocol.Floor{Session: k.session, Queue: refunds, Stream: stream, Floor: 3})
		time.Sleep(time.Second)
		clear(verdicts)
		k.ship(refunds, stream, items[1])
		collect(1)
		if verdicts[2].Verdict != message.Below {
			t.Errorf("after its floor a closed number is %+v", verdicts[2])
		}
		for _, row := range h.link.Status().Receives {
			if row.To == refunds && row.Closed != 2 {
				t.Errorf("%d closed, want 2", row.Closed)
			}
		}
	})
}

// byIDs makes ids carry the guarantee for what the near side takes, for at most maxWindow.
func byIDs(maxWindow time.Duration) setup {
	return func(o *link.Options, b *bolt.Options) {
		o.Receives[0].ByIDs, o.Receives[0].MaxWindow = true, maxWindow
		b.Queues[refunds] = spool.QueueOptions{ByIDs: true}
	}
}

func TestHorizonThatIsNotPromisedIsRefusedOnBothSides(t *testing.T) {
	for name, horizon := range map[string]time.Duration{"longer": 100 * time.Hour, "unbounded": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				near := newHost(t, n, byIDs(48*time.Hour), dials(farAddr))
				far := newFarHost(t, n, retriesFor(horizon))
				far.put(refunds, 10, "r")
				near.put(orders, 10, "o")
				eventually(t, "the route is held", func() bool { return far.send(t, refunds).Held != "" })
				time.Sleep(time.Minute)
				held, refusal := far.send(t, refunds).Held, near.link.Status().Receives[0].Refusal
				for _, text := range []string{held, refusal} {
					if !strings.Contains(text, "48h0m0s") || horizon > 0 && !strings.Contains(text, "100h0m0s") {
						t.Errorf("it says %q", text)
					}
				}
				if !strings.HasPrefix(held, "horizon: ") {
					t.Errorf("held: %s", held)
				}
				if near.log.count("route refused") != 1 || far.log.count("route held") != 1 {
					t.Errorf("%d and %d lines", near.log.count("route refused"), far.log.count("route held"))
				}
				if got := near.ids(refunds); len(got) != 0 {
					t.Errorf("%v came", got)
				}
				eventually(t, "the other route goes on", func() bool { return len(near.ids(orders)) == 0 })
			})
		})
	}
}

func TestHorizonThatIsPromisedIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		near := newHost(t, n, byIDs(48*time.Hour), dials(farAddr))
		far := newFarHost(t, n, retriesFor(40*time.Hour))
		far.put(refunds, 10, names("r", 10)...)
		eventually(t, "all have come", func() bool { return len(near.ids(refunds)) == 10 })
		if st := near.store.LedgerStats(); st.PromisedIDs != 10 {
			t.Errorf("%+v", st)
		}
	})
}

func TestFullLedgerHoldsItsRouteAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		near := newHost(t, n, byIDs(48*time.Hour), dials(farAddr), func(o *link.Options, b *bolt.Options) {
			b.LedgerMemoryBytes = 4 << 10
			o.Receives = append(o.Receives, link.Receive{To: "returns"})
			b.Queues["returns"] = spool.QueueOptions{}
		})
		far := newFarHost(t, n, retriesFor(time.Hour), secondRoute)
		far.put(refunds, 10, names("r", 1000)...)
		eventually(t, "the route is held", func() bool { return strings.HasPrefix(far.send(t, refunds).Held, "ledger-full: ") })
		if far.state() != link.LedgerFull {
			t.Errorf("state %s", far.state())
		}
		far.put("returns", 10, names("x", 1000)...)
		eventually(t, "the other route goes on", func() bool { return len(far.ids("returns")) == 0 })
		came := len(near.ids(refunds))
		if came == 0 || came == 1000 {
			t.Errorf("%d came", came)
		}
		// Windows pass, and the consumer takes what came: there is room again. What waited longer than its horizon dies here.
		peeked := near.ids(refunds)
		for len(near.ids(refunds)) > 0 {
			got, err := near.store.Lease(t.Context(), spool.LeaseRequest{Queue: refunds, Max: 500})
			if err != nil {
				t.Fatal(err)
			}
			var receipts []spool.Receipt
			for _, d := range got {
				receipts = append(receipts, d.Receipt)
			}
			if _, err := near.store.Ack(t.Context(), receipts); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Hour)
		eventually(t, "nothing is left", func() bool { return len(far.ids(refunds)) == 0 })
		dead, later := far.dead(refunds), near.ids(refunds)
		if len(peeked)+len(dead)+len(later) != 1000 {
			t.Errorf("%d came, %d died, %d came later", len(peeked), len(dead), len(later))
		}
	})
}
