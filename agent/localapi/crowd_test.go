package localapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"drawbridge/api"
)

// ceilingBytes is what clients that only want to fill memory may make of it, all together, beside what the test itself holds.
const ceilingBytes = 160 << 20

// heapBytes is the memory that is in use after a collection, and what the test has asked for of the system.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func (h *host) requireCeiling(before int64) {
	h.t.Helper()
	grown := heapBytes() - before
	h.t.Logf("the heap grew by %d KiB", grown>>10)
	if grown > ceilingBytes {
		h.t.Errorf("the heap grew by %d bytes, at most %d are allowed", grown, int64(ceilingBytes))
	}
}

// requireService makes a few calls, each over a connection of its own, and requires that they are answered.
func (h *host) requireService(name string) {
	h.t.Helper()
	for n := range 5 {
		id := fmt.Sprintf("%s-%d", name, n)
		got := h.ask("PUT /v1/queues/orders/messages/" + id + " HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
		if all := statuses(got); len(all) != 1 || all[0] != "201" {
			h.t.Errorf("put %s: %.200q", id, got)
		}
	}
	if got := h.ask("GET /livez HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		h.t.Errorf("livez: %.200q", got)
	}
}

// open counts the connections on which the server has not hung up. What it sent is read away.
func open(conns []*net.UnixConn) (n int) {
	var buf [4096]byte
	for _, c := range conns {
		var err error
		for err == nil {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err = c.Read(buf[:])
		}
		if late, ok := err.(net.Error); ok && late.Timeout() {
			n++
		}
	}
	return n
}

func TestClientsThatOnlyHoldConnectionsKeepNobodyOut(t *testing.T) {
	h := start(t)
	before := heapBytes()
	var conns []*net.UnixConn
	for n := range 2000 {
		c := h.dial()
		switch n % 4 {
		case 1: // most of what headers may take
			_, _ = io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 40<<10))
		case 2: // a request, and no other
			_, _ = io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
		case 3:
			_, _ = io.WriteString(c, "GET")
		}
		conns = append(conns, c)
		if n%500 == 499 {
			h.requireService(fmt.Sprint("beside-", n))
		}
	}
	h.requireCeiling(before)
	if n := open(conns); n > 512 {
		t.Errorf("%d connections are open, want at most 512", n)
	}
	h.requireService("at-last")
}

func TestWhenEveryConnectionIsBusyNewcomersAreToldSo(t *testing.T) {
	h := start(t)
	// A body that never comes, so the request is in progress. As long as the server has not read all of those before, a
	// newcomer may still take the place of one.
	const waits = "POST /v1/receipts/ack HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
	var conns []*net.UnixConn
	var told *http.Response
	for deadline := time.Now().Add(answerWithin); told == nil; {
		if time.Now().After(deadline) {
			t.Fatalf("%d clients, and none is turned away", len(conns))
		}
		c := h.dial()
		_, _ = io.WriteString(c, waits)
		conns = append(conns, c)
		if len(conns) > 512 {
			c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			told, _ = http.ReadResponse(bufio.NewReader(c), nil)
		}
	}
	if told.StatusCode != http.StatusTooManyRequests || told.Header.Get("Retry-After") != "1" {
		t.Errorf("a newcomer is answered %s %v", told.Status, told.Header)
	}
	for open(conns[:1]) == 0 { // its place was taken
		conns = conns[1:]
	}
	_, _ = io.WriteString(conns[0], strings.Repeat("r", 10))
	if resp := head(t, conns[0]); resp.StatusCode != http.StatusOK {
		t.Errorf("the one that goes on is answered %s", resp.Status)
	}
	for _, c := range conns[1:100] {
		c.Close()
	}
	for deadline := time.Now().Add(answerWithin); !strings.HasPrefix(h.ask("GET /livez HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 "); {
		if time.Now().After(deadline) {
			t.Fatal("who has left makes no room")
		}
	}
	h.requireService("there-is-room")
}

func TestBodiesTakeNoMoreMemoryThanTheirBudget(t *testing.T) {
	h := start(t)
	before := heapBytes()
	var conns []*net.UnixConn
	for n := range 400 {
		c := h.dial()
		_, _ = io.WriteString(c, "POST /v1/queues/orders/messages HTTP/1.1\r\nHost: a\r\nContent-Type: "+api.TypeNDJSON+"\r\nContent-Length: 8388608\r\n\r\n")
		if n%2 == 0 { // past what is read in any case
			_, _ = io.WriteString(c, strings.Repeat(" ", 70<<10))
		}
		conns = append(conns, c)
		if n%100 == 99 {
			h.requireService(fmt.Sprint("beside-", n))
		}
	}
	h.requireCeiling(before)
	refused := 0
	for n := 0; n < len(conns); n += 2 {
		conns[n].SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		buf := make([]byte, 4096)
		got, _ := conns[n].Read(buf)
		if strings.HasPrefix(string(buf[:got]), "HTTP/1.1 429 ") && strings.Contains(string(buf[:got]), "Retry-After: 1\r\n") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("nobody is told that there are too many large bodies")
	}
	for _, c := range conns {
		c.Close()
	}
	// What was held comes back: at last a large body is taken again.
	line := `{"body":"` + strings.Repeat("x", 1<<20) + "\"}\n"
	for deadline := time.Now().Add(answerWithin); ; {
		a := h.call("POST", "/v1/queues/orders/messages", strings.Repeat(line, 7), "Content-Type", api.TypeNDJSON)
		if a.status == http.StatusCreated {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a large body is answered %d: %s", a.status, a.body)
		}
	}
}
