package agenttest_test

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/agent/agenttest"
)

const (
	addrA = "10.0.0.1:4747"
	addrB = "10.0.0.2:4747"
)

func open(t *testing.T, n *agenttest.Network, addr string) net.PacketConn {
	t.Helper()
	c, err := n.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func udp(addr string) *net.UDPAddr {
	a, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		panic(err)
	}
	return a
}

// sendNumbers sends count packets, one each millisecond, and returns what the other side reads within a second after.
func sendNumbers(t *testing.T, n *agenttest.Network, count int) []string {
	t.Helper()
	a, b := open(t, n, addrA), open(t, n, addrB)
	defer a.Close()
	defer b.Close()
	for i := range count {
		if _, err := fmt.Fprint(to{a, udp(addrB)}, i); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Second)
	return readAll(t, b, addrA)
}

type to struct {
	net.PacketConn
	addr net.Addr
}

func (w to) Write(b []byte) (int, error) { return w.WriteTo(b, w.addr) }

// readAll returns what has arrived by now.
func readAll(t *testing.T, c net.PacketConn, from string) (packets []string) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Nanosecond)); err != nil {
		t.Fatal(err)
	}
	for {
		b := make([]byte, 100)
		n, addr, err := c.ReadFrom(b)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return packets
		}
		if err != nil {
			t.Fatal(err)
		}
		if addr.String() != from {
			t.Errorf("packet from %v, want %s", addr, from)
		}
		packets = append(packets, string(b[:n]))
	}
}

func TestPerfectNetworkKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond, Jitter: 10 * time.Millisecond})
		defer n.Close()
		got := sendNumbers(t, n, 500)
		if len(got) != 500 {
			t.Fatalf("%d packets arrived, want 500", len(got))
		}
		for i, text := range got {
			if text != fmt.Sprint(i) {
				t.Fatalf("packet %d is %s", i, text)
			}
		}
	})
}

func TestFaultsHappenAsOftenAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Loss: 0.1, Duplication: 0.2, Reordering: 0.3, Lag: 10 * time.Millisecond})
		defer n.Close()
		const offered = 900 // what the socket holds unread
		got := sendNumbers(t, n, offered)
		c := n.Counters(addrA, addrB)
		if c.Offered != offered || c.Delivered != len(got) || c.Offered+c.Duplicated != c.Delivered+c.Dropped {
			t.Errorf("%+v do not add up with %d packets read", c, len(got))
		}
		for _, f := range []struct {
			name      string
			got, want int
		}{
			{"dropped", c.Dropped, offered / 10},
			{"duplicated", c.Duplicated, offered * 9 / 10 * 2 / 10},
			{"reordered", c.Reordered, offered * 9 / 10 * 3 / 10},
		} {
			if f.got < f.want*3/4 || f.got > f.want*5/4 {
				t.Errorf("%d packets %s, want about %d", f.got, f.name, f.want)
			}
		}
		inOrder := true
		for i := 1; i < len(got); i++ {
			inOrder = inOrder && atoi(got[i]) > atoi(got[i-1])
		}
		if inOrder {
			t.Error("reordered packets arrived in order")
		}
		if back := n.Counters(addrB, addrA); back != (agenttest.Counters{}) {
			t.Errorf("the other direction counted %+v", back)
		}
	})
}

func atoi(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

func TestCutIsOneWayUntilHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{})
		defer n.Close()
		a, b := open(t, n, addrA), open(t, n, addrB)
		exchange := func() (atA, atB int) {
			fmt.Fprint(to{a, udp(addrB)}, "ping")
			fmt.Fprint(to{b, udp(addrA)}, "pong")
			time.Sleep(time.Second)
			return len(readAll(t, a, addrB)), len(readAll(t, b, addrA))
		}
		n.Cut(addrA, addrB)
		if atA, atB := exchange(); atA != 1 || atB != 0 {
			t.Errorf("cut from a to b: %d at a, %d at b", atA, atB)
		}
		n.Heal(addrA, addrB)
		if atA, atB := exchange(); atA != 1 || atB != 1 {
			t.Errorf("healed: %d at a, %d at b", atA, atB)
		}
		n.CutBoth(addrA, addrB)
		if atA, atB := exchange(); atA != 0 || atB != 0 {
			t.Errorf("cut both ways: %d at a, %d at b", atA, atB)
		}
		n.HealBoth(addrA, addrB)
		if atA, atB := exchange(); atA != 1 || atB != 1 {
			t.Errorf("healed both: %d at a, %d at b", atA, atB)
		}
	})
}

func TestUnreadPacketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{})
		defer n.Close()
		got := sendNumbers(t, n, 5000)
		c := n.Counters(addrA, addrB)
		if len(got) != 1024 || c.Dropped != 5000-1024 {
			t.Errorf("%d packets kept, %d dropped of 5000", len(got), c.Dropped)
		}
		if got[0] != "0" {
			t.Errorf("the first one kept is %s: want the tail dropped", got[0])
		}
	})
}

func TestAddressIsFreeAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: time.Second})
		defer n.Close()
		a, b := open(t, n, addrA), open(t, n, addrB)
		if _, err := n.Listen(addrB); err == nil {
			t.Error("two sockets have one address")
		}
		reading := make(chan error, 1)
		go func() {
			_, _, err := b.ReadFrom(make([]byte, 10))
			reading <- err
		}()
		synctest.Wait()
		n.Crash(addrB)
		if err := <-reading; !errors.Is(err, net.ErrClosed) {
			t.Errorf("read ends with %v, want net.ErrClosed", err)
		}
		if _, err := b.WriteTo([]byte("ghost"), udp(addrA)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write: %v, want net.ErrClosed", err)
		}
		fmt.Fprint(to{a, udp(addrB)}, "late")
		b = open(t, n, addrB)
		time.Sleep(2 * time.Second)
		if got := readAll(t, b, addrA); len(got) != 1 {
			t.Errorf("the reborn socket got %q, want the packet under way", got)
		}
	})
}
