package agenttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
	"drawbridge/link"
	"drawbridge/link/quic"
)

var weather = agenttest.Faults{
	Loss: 0.05, Duplication: 0.02, Reordering: 0.02,
	Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond, Lag: 30 * time.Millisecond,
}

// world is two link/quic endpoints on a network.
type world struct {
	t    *testing.T
	net  *agenttest.Network
	ids  map[string]*quic.Identity
	ends map[string]*quic.Endpoint
}

func newWorld(t *testing.T, seed uint64, f agenttest.Faults) *world {
	t.Helper()
	w := &world{t, agenttest.NewNetwork(seed, f), map[string]*quic.Identity{}, map[string]*quic.Endpoint{}}
	for _, addr := range []string{addrA, addrB} {
		id, err := quic.CreateIdentity(filepath.Join(t.TempDir(), "identity.pem"))
		if err != nil {
			t.Fatal(err)
		}
		w.ids[addr] = id
		w.start(addr)
	}
	return w
}

func (w *world) start(addr string) {
	w.t.Helper()
	e, err := quic.Listen(open(w.t, w.net, addr), w.ids[addr], quic.Options{Allow: w.knows})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ends[addr] = e
}

func (w *world) knows(p link.Pin) bool { return p == w.ids[addrA].Pin() || p == w.ids[addrB].Pin() }

// kill ends the endpoint at addr without a word to its peer.
func (w *world) kill(addr string) {
	w.t.Helper()
	w.net.Crash(addr)
	if err := w.ends[addr].Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	w.t.Helper()
	for addr := range w.ends {
		if err := w.ends[addr].Close(); err != nil {
			w.t.Error(err)
		}
	}
	w.net.Close()
}

// connect dials until it succeeds, for a minute.
func (w *world) connect(from, to string) (dialled, accepted link.Conn) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		c, err := w.ends[from].Dial(ctx, to, []link.Pin{w.ids[to].Pin()})
		if err == nil {
			dialled = c
			break
		}
		if ctx.Err() != nil {
			w.t.Fatal(err)
		}
	}
	accepted, err := w.ends[to].Accept(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return dialled, accepted
}

// carry sends size bytes from one end of a connection to the other.
func carry(ctx context.Context, from, to link.Conn, size int) error {
	content := bytes.Repeat([]byte("drawbridge"), size/10+1)[:size]
	sent := make(chan error, 1)
	go func() {
		s, err := from.OpenUniStream(ctx)
		if err == nil {
			_, err = s.Write(content)
		}
		if err == nil {
			err = s.Close()
		}
		sent <- err
	}()
	r, err := to.AcceptUniStream(ctx)
	if err != nil {
		return errors.Join(err, <-sent)
	}
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, content) {
		err = fmt.Errorf("%d bytes arrived changed", len(got))
	}
	return errors.Join(err, <-sent)
}

// carryBothWays sends a megabyte each way at once and returns how long that took.
func carryBothWays(t *testing.T, a, b link.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	back := make(chan error, 1)
	go func() { back <- carry(t.Context(), b, a, 1<<20) }()
	if err := errors.Join(carry(t.Context(), a, b, 1<<20), <-back); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

func TestQUICCrossesBadWeather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, weather)
		defer w.close()
		a, b := w.connect(addrA, addrB)
		took := carryBothWays(t, a, b)
		for _, way := range [][2]string{{addrA, addrB}, {addrB, addrA}} {
			c := w.net.Counters(way[0], way[1])
			if c.Dropped == 0 || c.Duplicated == 0 || c.Reordered == 0 {
				t.Errorf("nothing happened on the way: %+v", c)
			}
		}
		t.Logf("a megabyte each way in %v, a to b: %+v", took, w.net.Counters(addrA, addrB))
	})
}

func TestQUICComesBackAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, agenttest.Faults{Delay: 50 * time.Millisecond})
		defer w.close()
		a, b := w.connect(addrA, addrB)
		w.net.CutBoth(addrA, addrB)
		cut := time.Now()
		<-a.Done()
		<-b.Done()
		if took := time.Since(cut); took > 45*time.Second || !strings.Contains(a.Err().Error(), "nothing heard") {
			t.Errorf("the dead connection ended after %v: %v", took, a.Err())
		}
		dialled := time.Now()
		if _, err := w.ends[addrA].Dial(t.Context(), addrB, []link.Pin{w.ids[addrB].Pin()}); err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("dial over a cut link: %v", err)
		}
		if took := time.Since(dialled); took != 5*time.Second {
			t.Errorf("dial over a cut link gave up after %v, want 5s", took)
		}
		time.Sleep(time.Hour)
		w.net.HealBoth(addrA, addrB)
		healed := time.Now()
		a, b = w.connect(addrB, addrA)
		if took := time.Since(healed); took > 200*time.Millisecond {
			t.Errorf("a dial took %v at a round trip of 100 ms", took)
		}
		carryBothWays(t, a, b)
	})
}

// A one-way outage must not look like a working connection to Dial.
func TestDialNeedsBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, agenttest.Faults{Delay: 50 * time.Millisecond})
		defer w.close()
		w.net.Cut(addrB, addrA)
		if c, err := w.ends[addrA].Dial(t.Context(), addrB, []link.Pin{w.ids[addrB].Pin()}); err == nil {
			t.Errorf("connected to %s, which cannot answer", c.RemoteAddr())
		}
	})
}

func TestRebornEndpointEndsOldConnectionInOneRoundTrip(t *testing.T) {
	for _, killed := range []string{addrA, addrB} {
		t.Run(killed, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1, agenttest.Faults{Delay: 50 * time.Millisecond})
				defer w.close()
				dialled, accepted := w.connect(addrA, addrB)
				survivor := accepted
				if killed == addrB {
					survivor = dialled
				}
				time.Sleep(time.Second) // spare connection ids, which carry the reset tokens, follow the handshake
				w.kill(killed)
				w.start(killed)
				restarted := time.Now()
				s, err := survivor.OpenStream(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				// As large as any Ship: packets below 14 bytes of payload are not answered by a reset (RFC 9000, section 10.3).
				if _, err := s.Write(make([]byte, 20)); err != nil {
					t.Fatal(err)
				}
				<-survivor.Done()
				if took := time.Since(restarted); took > 101*time.Millisecond {
					t.Errorf("the old connection ended after %v, want one round trip of 100 ms", took)
				}
				if err := survivor.Err(); !strings.Contains(err.Error(), "restarted") {
					t.Errorf("survivor saw %v", err)
				}
			})
		})
	}
}

// Peers that begin handshakes and do not finish them cost others a round trip, then a wait, but never more than so much
// memory.
func TestUnfinishedHandshakesAreBounded(t *testing.T) {
	const addrC = "10.0.0.3:4747"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, agenttest.Faults{Delay: 50 * time.Millisecond})
		defer w.close()
		w.ids[addrC] = w.ids[addrA] // a good peer at another address
		w.start(addrC)
		begin := func(count int, stopAfter time.Duration) {
			for range count {
				go w.ends[addrA].Dial(t.Context(), addrB, []link.Pin{w.ids[addrB].Pin()})
			}
			time.Sleep(stopAfter)
			w.net.Cut(addrA, addrB)
			time.Sleep(200 * time.Millisecond)
		}
		dial := func() (time.Duration, error) {
			start := time.Now()
			_, err := w.ends[addrC].Dial(t.Context(), addrB, []link.Pin{w.ids[addrB].Pin()})
			return time.Since(start).Truncate(time.Millisecond), err
		}

		if took, err := dial(); err != nil || took != 100*time.Millisecond {
			t.Errorf("nobody else there: %v, %v; want one round trip", took, err)
		}
		begin(40, 75*time.Millisecond)
		if took, err := dial(); err != nil || took != 200*time.Millisecond {
			t.Errorf("40 unfinished handshakes: %v, %v; want two round trips", took, err)
		}
		w.net.Heal(addrA, addrB)
		begin(400, 175*time.Millisecond) // long enough to prove the address
		if took, err := dial(); err != nil || took > 200*time.Millisecond {
			t.Errorf("400 unfinished handshakes of one address: %v, %v; want two round trips at most from another", took, err)
		}
		time.Sleep(11 * time.Second)
		if took, err := dial(); err != nil || took != 100*time.Millisecond {
			t.Errorf("all have given up: %v, %v; want one round trip", took, err)
		}
	})
}

func TestSameSeedSameRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run := func(seed uint64) (trace string) {
		cryptotest.SetGlobalRandom(t, seed)
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed, weather)
			defer w.close()
			a, b := w.connect(addrA, addrB)
			took := carryBothWays(t, a, b)
			time.Sleep(time.Second) // the last acknowledgements
			trace = fmt.Sprint(took, w.net.Counters(addrA, addrB), w.net.Counters(addrB, addrA))
		})
		return trace
	}
	first := run(1)
	if again := run(1); again != first {
		t.Errorf("the same seed gave\n%s, then\n%s", first, again)
	}
	if other := run(2); other == first {
		t.Errorf("two seeds gave the same run: %s", first)
	}
}
