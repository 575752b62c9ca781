package link_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/link"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool/bolt"
)

func (h *host) received(t *testing.T) link.ReceiveStatus {
	t.Helper()
	return h.link.Status().Receives[0]
}

// verdicts spreads answers out: one verdict per number.
func verdicts(answers []*protocol.Accepted) map[uint64]message.Verdict {
	all := make(map[uint64]message.Verdict)
	for _, a := range answers {
		for _, r := range a.Ranges {
			for n := r.First; n <= r.Last; n++ {
				all[n] = r.Verdict
			}
		}
	}
	return all
}

func TestArrivalsAreStoredOnceAndAnsweredEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		ids := names("r", 50)
		items := chain(stream, ids, 20)
		k.ship(refunds, stream, items...)
		a := hear[*protocol.Accepted](k)
		identity := h.store.Identity()
		want := protocol.Answer{Session: k.session, Spool: identity.Spool, Epoch: identity.Epoch, Queue: refunds, Stream: stream}
		if a.Answer != want || !slices.Equal(a.Ranges, []protocol.AcceptedRange{{Range: message.Range{First: 1, Last: 50}, Verdict: message.Accepted}}) {
			t.Errorf("answered %+v", a)
		}
		k.ship(refunds, stream, items[10:20]...)
		if v := verdicts([]*protocol.Accepted{hear[*protocol.Accepted](k)}); len(v) != 10 || v[11] != message.Duplicate {
			t.Errorf("a copy is answered %v", v)
		}
		if got := h.ids(refunds); !slices.Equal(got, ids) {
			t.Errorf("stored %v", got)
		}
		if r := h.received(t); r.Accepted != 50 || r.Duplicates != 10 || r.Refused != 0 || r.Horizon != time.Hour {
			t.Errorf("%+v", r)
		}
	})
}

func TestQueueWithoutRightIsRefusedByRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		for _, queue := range []string{orders, "never-heard-of"} {
			stream := message.NewStreamID()
			k.ship(queue, stream, chain(stream, names("x", 3), 1)...)
			r := hear[*protocol.Refused](k)
			if r.Scope != protocol.ScopeRoute || r.Code != protocol.CodeNoRight || r.Queue != queue || r.Stream != stream {
				t.Errorf("%s: %+v", queue, r)
			}
		}
		if h.state() != link.Up || len(h.ids(orders)) != 0 {
			t.Errorf("state %s, stored %v", h.state(), h.ids(orders))
		}
	})
}

func TestQueueThatTheSpoolLacksIsRefusedOnceForABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), func(o *link.Options, _ *bolt.Options) {
			o.Receives = append(o.Receives, link.Receive{To: "missing"})
		})
		k := newPeer(t, h).meet()
		k.resume("missing")
		stream := message.NewStreamID()
		k.ship("missing", stream, chain(stream, names("x", 2000), 1)...)
		if r := hear[*protocol.Refused](k); r.Scope != protocol.ScopeRoute || r.Code != protocol.CodeUnknownQueue {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Second)
		if more := heard[*protocol.Refused](k); len(more) != 0 {
			t.Errorf("%d more refusals", len(more))
		}
	})
}

func TestRefusedMessageLeavesItsNumberOpen(t *testing.T) {
	for _, c := range []struct {
		code protocol.Code
		bad  func(prev message.Place) protocol.Shipment
	}{
		{protocol.CodeTooLarge, func(prev message.Place) protocol.Shipment { return item(2, prev, "big", make([]byte, 2000)) }},
		{protocol.CodeIDConflict, func(prev message.Place) protocol.Shipment { return item(2, prev, "r-00000", []byte("other")) }},
		{protocol.CodeLoop, func(prev message.Place) protocol.Shipment {
			m := message.Message{Head: message.Head{ID: "round", Origin: "near", Priority: 4}, Envelope: message.Envelope{Hops: []string{"near", "far"}}}
			m.Seal()
			return protocol.Shipment{Number: 2, Prev: prev, Record: message.AppendRecord(nil, &m)}
		}},
		{protocol.CodeCorrupt, func(prev message.Place) protocol.Shipment {
			i := item(2, prev, "flipped", []byte("body"))
			i.Record[len(i.Record)-1] ^= 1
			return i
		}},
		{protocol.CodeMalformed, func(prev message.Place) protocol.Shipment {
			return protocol.Shipment{Number: 2, Prev: prev, Record: nil}
		}},
	} {
		t.Run(string(c.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork(), func(_ *link.Options, b *bolt.Options) {
					q := b.Queues[refunds]
					q.MaxMessageBytes = 1000
					b.Queues[refunds] = q
				})
				k := newPeer(t, h).meet()
				stream := message.NewStreamID()
				items := chain(stream, names("r", 4), 10)
				good := items[1]
				items[1] = c.bad(items[1].Prev)
				k.ship(refunds, stream, items...)
				r := hear[*protocol.Refused](k)
				if r.Scope != protocol.ScopeMessage || r.Code != c.code || r.Range != (message.Range{First: 2, Last: 2}) || r.Text == "" {
					t.Errorf("%+v", r)
				}
				time.Sleep(time.Second)
				if got := h.ids(refunds); !slices.Equal(got, []string{"r-00000"}) {
					t.Fatalf("stored %v, want only what is before the refused one", got)
				}
				k.ship(refunds, stream, good)
				eventually(t, "all is stored", func() bool { return slices.Equal(h.ids(refunds), names("r", 4)) })
				if s := h.received(t); s.Accepted != 4 || s.Refused != 1 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestRottenCopyOfAKnownNumberIsAnsweredBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		items := chain(stream, names("r", 3), 10)
		k.ship(refunds, stream, items...)
		hear[*protocol.Accepted](k)
		items[1].Record[len(items[1].Record)-1] ^= 1
		k.ship(refunds, stream, items[1])
		if v := verdicts([]*protocol.Accepted{hear[*protocol.Accepted](k)}); v[2] != message.Below {
			t.Errorf("answered %v, want below", v)
		}
	})
}

func TestEarlyBatchesWaitForTheirPrev(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		ids := names("r", 200)
		items := chain(stream, ids, 20)
		for at := 190; at > 0; at -= 10 {
			k.ship(refunds, stream, items[at:at+10]...)
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if got := h.ids(refunds); len(got) != 0 {
			t.Fatalf("%d stored before the first", len(got))
		}
		k.ship(refunds, stream, items[:10]...)
		eventually(t, "all are stored in order", func() bool { return slices.Equal(h.ids(refunds), ids) })
	})
}

func TestBatchesInAnyOrderWithCopiesAreStoredInOrder(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dice := rand.New(rand.NewPCG(seed, 7))
				h := newHost(t, newNetwork())
				k := newPeer(t, h).meet()
				// Two epochs of one lane: the first message of the second follows on the last of the first.
				before, after := message.NewStreamID(), message.NewStreamID()
				ids := names("r", 600)
				items := chain(before, ids[:300], 20)
				prev := message.Place{Stream: before, Number: 300}
				for i, id := range ids[300:] {
					n := uint64(301 + i)
					items = append(items, item(n, prev, id, make([]byte, 20)))
					prev = message.Place{Stream: after, Number: n}
				}
				var starts []int
				for at := 0; at < 600; at += 20 {
					starts = append(starts, at, at) // each twice
				}
				dice.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
				for _, at := range starts {
					stream := before
					if at >= 300 {
						stream = after
					}
					k.ship(refunds, stream, items[at:at+20]...)
				}
				eventually(t, "all are stored", func() bool { return len(h.ids(refunds)) >= 600 })
				synctest.Wait()
				if got := h.ids(refunds); !slices.Equal(got, ids) {
					t.Errorf("%d stored, in order: %t", len(got), slices.IsSorted(got))
				}
			})
		})
	}
}

func TestResentCopyReplacesTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		never := message.Place{Stream: stream, Number: 7}
		k.ship(refunds, stream, item(9, never, "nine", []byte("n")))
		time.Sleep(time.Second)
		if got := h.ids(refunds); len(got) != 0 {
			t.Fatalf("stored %v", got)
		}
		k.ship(refunds, stream, item(9, message.Place{}, "nine", []byte("n"))) // seven was settled meanwhile
		if v := verdicts([]*protocol.Accepted{hear[*protocol.Accepted](k)}); v[9] != message.Accepted {
			t.Errorf("answered %v", v)
		}
	})
}

func TestCopyThatComesWhileTheOneBeforeIsDecidedReplacesItToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hold atomic.Bool
		release := make(chan struct{})
		h := newHost(t, newNetwork(), func(_ *link.Options, b *bolt.Options) {
			q := b.Queues[refunds]
			q.MaxMessageBytes = 1000
			b.Queues[refunds] = q
			b.Hook = func(at string) error {
				if at == bolt.HookCommitBegin && hold.Load() {
					<-release
				}
				return nil
			}
		})
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		hold.Store(true)
		first := message.Place{Stream: stream, Number: 1}
		k.ship(refunds, stream, item(1, message.Place{}, "big", make([]byte, 2000)), item(2, first, "two", []byte("2")))
		synctest.Wait()
		k.ship(refunds, stream, item(2, message.Place{}, "two", []byte("2"))) // one was taken back meanwhile
		synctest.Wait()
		hold.Store(false)
		close(release)
		if v := verdicts([]*protocol.Accepted{hear[*protocol.Accepted](k)}); v[2] != message.Accepted {
			t.Errorf("answered %v", v)
		}
	})
}

func TestNothingIsDecidedBeforeTheRouteIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).greet()
		k.welcomed(hear[*protocol.Welcome](k))
		hear[*protocol.Use](k)
		stream := message.NewStreamID()
		k.ship(refunds, stream, chain(stream, names("r", 3), 1)...)
		time.Sleep(time.Minute)
		if got := h.ids(refunds); len(got) != 0 {
			t.Fatalf("stored %v", got)
		}
		k.resume(refunds)
		hear[*protocol.Accepted](k)
	})
}

func TestOverItsBudgetTheReceiverDropsTheHighestAndGetsThemAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), func(o *link.Options, _ *bolt.Options) { o.CreditBytes, o.CreditMessages = 64<<10, 16 })
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		ids := names("r", 100)
		items := chain(stream, ids, 10<<10)
		for at := 1; at < 100; at++ {
			k.ship(refunds, stream, items[at])
		}
		synctest.Wait()
		k.ship(refunds, stream, items[0])
		eventually(t, "what was kept is stored", func() bool { return len(h.ids(refunds)) > 10 })
		time.Sleep(time.Second)
		got := h.ids(refunds)
		if len(got) > 20 || !slices.Equal(got, ids[:len(got)]) {
			t.Fatalf("%d stored, want the lowest of them, about a dozen", len(got))
		}
		k.ship(refunds, stream, items[len(got)]) // as the sender does after a silence
		for at := len(got) + 1; at < 100; at++ {
			k.ship(refunds, stream, items[at])
			synctest.Wait()
		}
		eventually(t, "all are stored", func() bool { return slices.Equal(h.ids(refunds), ids) })
	})
}

func TestArrivalsThatNeverFollowFillNoMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		batch func(stream message.StreamID, from uint64, never message.Place) []protocol.Shipment
	}{
		{"records of no bytes", func(stream message.StreamID, from uint64, never message.Place) (items []protocol.Shipment) {
			for i := range uint64(2000) {
				items = append(items, protocol.Shipment{Number: from + i, Prev: never})
			}
			return items
		}},
		{"a small one beside a large one that is dropped", func(stream message.StreamID, from uint64, never message.Place) []protocol.Shipment {
			return []protocol.Shipment{item(from, never, "small", []byte("s")), item(1<<40+from, never, "large", make([]byte, 900<<10))}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newNetwork())
				k := newPeer(t, h).meet()
				stream := message.NewStreamID()
				never := message.Place{Stream: message.NewStreamID(), Number: 1}
				for i := range 200 {
					k.ship(refunds, stream, c.batch(stream, uint64(2+i*2000), never)...)
					synctest.Wait()
				}
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if m.HeapAlloc > 80<<20 {
					t.Errorf("%d MiB are in use", m.HeapAlloc>>20)
				}
				if h.state() != link.Up {
					t.Errorf("state %s", h.state())
				}
			})
		})
	}
}

func TestFramesOfAnEndedSessionAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		p := newPeer(t, h)
		old := p.meet()
		k := p.meet()
		old.requireEnd("another session has taken over")
		stream := message.NewStreamID()
		k.sayBytes(protocol.Append(nil, &protocol.Ship{Session: old.session, Route: "x", Queue: refunds, Stream: stream, Items: chain(stream, names("stale", 3), 1)}))
		k.say(&protocol.Resume{Session: old.session, Last: true, Routes: []protocol.ResumeRoute{{Name: "x", Queue: refunds, Horizon: time.Minute}}})
		time.Sleep(time.Second)
		if got := h.ids(refunds); len(got) != 0 {
			t.Fatalf("stored %v", got)
		}
		k.ship(refunds, stream, chain(stream, names("fresh", 3), 1)...)
		hear[*protocol.Accepted](k)
		if got := h.ids(refunds); !slices.Equal(got, names("fresh", 3)) || h.received(t).Horizon != time.Hour {
			t.Errorf("stored %v, horizon %s", got, h.received(t).Horizon)
		}
	})
}

func TestCreditRisesAsMessagesAreAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork(), func(o *link.Options, _ *bolt.Options) { o.CreditMessages = 100 })
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		k.ship(refunds, stream, chain(stream, names("r", 60), 1)...)
		if c := hear[*protocol.Credit](k); c.Through != 160 || c.Queue != refunds || c.Stream != stream || c.Bytes != link.DefaultCreditBytes {
			t.Errorf("%+v", c)
		}
		// Streams without end cost nothing but their messages.
		for i := range 1500 {
			s := message.NewStreamID()
			k.ship(refunds, s, item(1, message.Place{}, fmt.Sprintf("s-%d", i), nil))
		}
		eventually(t, "all are stored", func() bool { return len(h.ids(refunds)) == 1560 })
	})
}

func TestRefusalTextNamesWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newNetwork())
		k := newPeer(t, h).meet()
		stream := message.NewStreamID()
		k.ship("elsewhere", stream, chain(stream, names("x", 1), 1)...)
		for _, word := range []string{`"near"`, `"elsewhere"`, "receive", `"far"`} {
			r := hear[*protocol.Refused](k)
			if !strings.Contains(r.Text, word) {
				t.Errorf("%q lacks %s", r.Text, word)
			}
			k.ship("elsewhere", stream, chain(stream, names("x", 1), 1)...)
		}
	})
}
