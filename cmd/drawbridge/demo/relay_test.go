package demo_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"drawbridge/cmd/drawbridge/demo"
)

// socket opens a UDP socket of this host, closed with the test.
func socket(t *testing.T, addr string) *net.UDPConn {
	t.Helper()
	at, err := net.ResolveUDPAddr("udp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenUDP("udp4", at)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadBuffer(4 << 20)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func addrPort(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// openRelay runs a relay to target until the test ends.
func openRelay(t *testing.T, o demo.RelayOptions) *demo.Relay {
	t.Helper()
	r, err := demo.NewRelay(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("relay: %v", err)
		}
	})
	return r
}

func send(t *testing.T, from *net.UDPConn, to netip.AddrPort, number uint32) {
	t.Helper()
	if _, err := from.WriteToUDPAddrPort(binary.BigEndian.AppendUint32(nil, number), to); err != nil {
		t.Fatal(err)
	}
}

// receive returns the next number, or false if none comes for a moment.
func receive(t *testing.T, at *net.UDPConn, within time.Duration) (number uint32, from netip.AddrPort, ok bool) {
	t.Helper()
	_ = at.SetReadDeadline(time.Now().Add(within))
	var b [64]byte
	n, from, err := at.ReadFromUDPAddrPort(b[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, from, false
	}
	if err != nil || n != 4 {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	return binary.BigEndian.Uint32(b[:]), from, true
}

const (
	soon  = 5 * time.Second
	never = 50 * time.Millisecond
)

func TestRelayCarriesBothWaysInOrder(t *testing.T) {
	target, sender := socket(t, "127.0.0.1:0"), socket(t, "127.0.0.1:0")
	r := openRelay(t, demo.RelayOptions{Target: addrPort(t, target.LocalAddr().String()), Delay: time.Millisecond})
	for n := range uint32(100) {
		send(t, sender, addrPort(t, r.Addr()), n)
	}
	for n := range uint32(100) {
		got, from, ok := receive(t, target, soon)
		if !ok || got != n {
			t.Fatalf("target got %d %v, want %d", got, ok, n)
		}
		send(t, target, from, n+1000)
	}
	for n := range uint32(100) {
		if got, _, ok := receive(t, sender, soon); !ok || got != n+1000 {
			t.Fatalf("sender got %d %v, want %d", got, ok, n+1000)
		}
	}
	if r.Dropped() != 0 {
		t.Errorf("%d packets dropped", r.Dropped())
	}
}

func TestRelayTakesItsTime(t *testing.T) {
	target, sender := socket(t, "127.0.0.1:0"), socket(t, "127.0.0.1:0")
	r := openRelay(t, demo.RelayOptions{Target: addrPort(t, target.LocalAddr().String()), Delay: 30 * time.Millisecond})
	began := time.Now()
	send(t, sender, addrPort(t, r.Addr()), 1)
	if _, _, ok := receive(t, target, soon); !ok || time.Since(began) < 30*time.Millisecond {
		t.Errorf("arrived %v after %s, want it after 30ms", ok, time.Since(began))
	}
}

// lost sends 1,000 numbers through a relay and returns those that do not arrive.
func lost(t *testing.T, seed uint64) (missing []uint32) {
	target, sender := socket(t, "127.0.0.1:0"), socket(t, "127.0.0.1:0")
	r := openRelay(t, demo.RelayOptions{Target: addrPort(t, target.LocalAddr().String()), Loss: 0.05, Seed: seed})
	const packets = 1000
	next := uint32(0)
	for n := range uint32(packets) {
		dropped := r.Dropped()
		send(t, sender, addrPort(t, r.Addr()), n)
		for r.Carried() < uint64(n)+1-r.Dropped() { // one at a time, so that no kernel buffer loses any
			time.Sleep(10 * time.Microsecond)
		}
		if r.Dropped() > dropped {
			continue
		}
		got, _, ok := receive(t, target, soon)
		if !ok {
			t.Fatalf("packet %d was not dropped and did not arrive", n)
		}
		for ; next < got; next++ {
			missing = append(missing, next)
		}
		next = got + 1
	}
	return missing
}

func TestRelayLosesTheSharePerSeed(t *testing.T) {
	first, same, other := lost(t, 7), lost(t, 7), lost(t, 8)
	if len(first) < 25 || len(first) > 80 {
		t.Errorf("lost %d of 1000, want about 50", len(first))
	}
	if !slices.Equal(first, same) {
		t.Error("the same seed loses other packets")
	}
	if slices.Equal(first, other) {
		t.Error("another seed loses the same packets")
	}
}

func TestRelayIsCutPerDirection(t *testing.T) {
	target, sender := socket(t, "127.0.0.1:0"), socket(t, "127.0.0.1:0")
	r := openRelay(t, demo.RelayOptions{Target: addrPort(t, target.LocalAddr().String())})
	relay := addrPort(t, r.Addr())
	send(t, sender, relay, 1)
	_, road, ok := receive(t, target, soon)
	if !ok {
		t.Fatal("nothing arrived before the cut")
	}
	r.Cut(demo.Back)
	send(t, sender, relay, 2)
	if got, _, ok := receive(t, target, soon); !ok || got != 2 {
		t.Error("the way forth is cut, too")
	}
	send(t, target, road, 3)
	if _, _, ok := receive(t, sender, never); ok {
		t.Error("a packet came back")
	}
	r.Cut(demo.Both)
	send(t, sender, relay, 4)
	if _, _, ok := receive(t, target, never); ok {
		t.Error("a packet went forth")
	}
	if r.Dropped() != 2 {
		t.Errorf("%d packets dropped, want 2", r.Dropped())
	}
	r.Heal()
	send(t, target, road, 5)
	if got, _, ok := receive(t, sender, soon); !ok || got != 5 {
		t.Errorf("after the cut came %d %v, want 5", got, ok)
	}
}

func TestRelaySurvivesRestartsOfBothSides(t *testing.T) {
	target, sender := socket(t, "127.0.0.1:0"), socket(t, "127.0.0.1:0")
	at := target.LocalAddr().String()
	r := openRelay(t, demo.RelayOptions{Target: addrPort(t, at)})
	relay := addrPort(t, r.Addr())
	send(t, sender, relay, 1)
	if _, _, ok := receive(t, target, soon); !ok {
		t.Fatal("nothing arrived")
	}
	_ = target.Close()
	for n := range uint32(10) { // each finds nobody, and the kernel says so to the relay
		send(t, sender, relay, n)
	}
	for r.Dropped()+r.Carried() < 11 {
		time.Sleep(time.Millisecond)
	}
	target = socket(t, at)
	send(t, sender, relay, 2)
	got, road, ok := receive(t, target, soon)
	if !ok || got != 2 {
		t.Fatalf("the target's second life got %d %v, want 2", got, ok)
	}
	send(t, target, road, 3)
	if got, _, ok := receive(t, sender, soon); !ok || got != 3 {
		t.Errorf("the sender got %d %v of the target's second life, want 3", got, ok)
	}
	moved := socket(t, "127.0.0.1:0")
	send(t, moved, relay, 4)
	if got, newRoad, ok := receive(t, target, soon); !ok || got != 4 || newRoad == road {
		t.Errorf("from another port came %d %v over the old road: %v", got, ok, newRoad == road)
	}
}

func BenchmarkRelay(b *testing.B) {
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
		if err != nil {
			b.Fatal(err)
		}
		_ = c.SetReadBuffer(8 << 20)
		return c
	}
	target, sender := listen(), listen()
	defer func() { _ = target.Close(); _ = sender.Close() }()
	r, err := demo.NewRelay(demo.RelayOptions{Target: netip.MustParseAddrPort(target.LocalAddr().String()), Delay: time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	packet, into := make([]byte, 1200), make([]byte, 2048)
	to := netip.MustParseAddrPort(r.Addr())
	b.SetBytes(int64(len(packet)))
	b.ResetTimer()
	const window = 256 // packets under way, as a congestion window would allow
	for n := 0; n < b.N; n += window {
		batch := min(window, b.N-n)
		for range batch {
			if _, err := sender.WriteToUDPAddrPort(packet, to); err != nil {
				b.Fatal(err)
			}
		}
		for range batch {
			if _, err := target.Read(into); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.StopTimer()
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
