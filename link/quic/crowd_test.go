package quic_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
)

// loiterers begin handshakes from one address and stop when it is for them to prove a key.
type loiterers struct {
	within  atomic.Int64 // that the listener waits for
	refused atomic.Int64
	leave   context.CancelFunc
	gone    sync.WaitGroup
}

func loiter(t *testing.T, ip, addr string, count int) *loiterers {
	t.Helper()
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(ip)})
	if err != nil {
		t.Fatal(err)
	}
	transport := &quicgo.Transport{Conn: socket}
	remote, err := net.ResolveUDPAddr("udp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	l := &loiterers{leave: leave}
	for range count {
		l.gone.Go(func() {
			config := &tls.Config{NextProtos: []string{"drawbridge/1"}, InsecureSkipVerify: true,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					l.within.Add(1)
					<-ctx.Done()
					return nil, ctx.Err()
				}}
			if _, err := transport.Dial(ctx, remote, config, &quicgo.Config{HandshakeIdleTimeout: time.Minute}); err != nil && ctx.Err() == nil {
				l.refused.Add(1)
			}
		})
	}
	t.Cleanup(func() {
		leave()
		l.gone.Wait()
		_ = transport.Close()
		_ = socket.Close()
	})
	return l
}

// settled waits until each loiterer stands in the door or was turned away.
func (l *loiterers) settled(t *testing.T, count int64) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); l.within.Load()+l.refused.Load() < count; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d are within, %d were refused, want %d together", l.within.Load(), l.refused.Load(), count)
		}
	}
}

func TestOneAddressCannotKeepTheOthersOut(t *testing.T) {
	known := newIdentity(t)
	b := listen(t, "0.0.0.0:0", newIdentity(t), only(known.Pin()))
	_, port, _ := net.SplitHostPort(b.addr())
	addr := "127.0.0.1:" + port
	var before runtime.MemStats
	runtime.ReadMemStats(&before)

	crowd := loiter(t, "127.0.0.1", addr, 80)
	crowd.settled(t, 80)
	if n := crowd.within.Load(); n == 0 || n > 64 {
		t.Errorf("%d handshakes of one address are in progress, want at most 64", n)
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 { // both sides are in this process
		t.Errorf("the heap grew by %d bytes", grown)
	}

	dial := func(from string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		h := listen(t, from+":0", known, only())
		_, err := h.Dial(ctx, addr, []link.Pin{b.id.Pin()})
		return err
	}
	if err := dial("127.0.0.2"); err != nil {
		t.Errorf("a known peer from another address: %v", err)
	}
	if err := dial("127.0.0.1"); err == nil || !strings.Contains(err.Error(), "peer takes no connections now") {
		t.Errorf("one more from that address: %v", err)
	}
	crowd.leave()
	crowd.gone.Wait()
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = dial("127.0.0.1"); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("when they have gone: %v", err)
	}
}

func TestManyAddressesAreTurnedAwayTogether(t *testing.T) {
	b := listen(t, "0.0.0.0:0", newIdentity(t), only())
	_, port, _ := net.SplitHostPort(b.addr())
	begin := time.Now()
	var crowds []*loiterers
	for n := range 5 {
		crowds = append(crowds, loiter(t, "127.0.1."+string(rune('1'+n)), "127.0.0.1:"+port, 64))
	}
	var within int64
	for _, crowd := range crowds {
		crowd.settled(t, 64)
		within += crowd.within.Load()
	}
	// A listener gives each five seconds; on a slow machine the first have gone before the last come.
	if took := time.Since(begin); within == 0 || within > 256 && took < 5*time.Second {
		t.Errorf("%d handshakes are in progress after %s, want at most 256", within, took)
	}
}

func TestNoiseDoesNotReachAnybody(t *testing.T) {
	a, b := pair(t)
	c, err := net.Dial("udp4", b.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 5000 {
		packet := make([]byte, 1+rng.IntN(1400))
		for i := range packet {
			packet[i] = byte(rng.Uint32())
		}
		if n%2 == 0 && len(packet) > 5 { // the front of a long header of QUIC 1
			packet[0] |= 0xc0
			copy(packet[1:], []byte{0, 0, 0, 1})
		}
		_, _ = c.Write(packet)
	}
	requireNothingAccepted(t, a, b)
}
