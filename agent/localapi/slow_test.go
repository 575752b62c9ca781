package localapi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/spool"
	"drawbridge/spool/memory"
)

// pipes is a listener whose connections have no buffer at all, in a bubble: what the server writes waits for the client.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.dialled <- far
	return near
}

// inBubble runs a server over pipes until the test is over.
func inBubble(t *testing.T, test func(t *testing.T, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.Open(memory.Options{Agent: "fra-1", Queues: queues})
		if err != nil {
			t.Fatal(err)
		}
		p := &pipes{make(chan net.Conn), make(chan struct{})}
		server := localapi.New(store, localapi.Options{
			Queue:  func(name string) (spool.QueueOptions, bool) { q, ok := queues[name]; return q, ok },
			Links:  func() []api.Link { return nil },
			Health: func() api.Health { return api.Health{Ready: true} },
			Log:    hclog.NewNullLogger(),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Run(ctx, p) }()
		test(t, p)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// dribble writes a byte a second until the server hangs up or all is written.
func dribble(c net.Conn, text string) {
	for i := range len(text) {
		if _, err := io.WriteString(c, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// requireGone requires that the server hangs up within the time given, and returns what it said before.
func requireGone(t *testing.T, c net.Conn, within time.Duration) string {
	t.Helper()
	begin := time.Now()
	c.SetReadDeadline(begin.Add(24 * time.Hour))
	said, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is open a day later")
	}
	if took := time.Since(begin); took > within {
		t.Errorf("the connection ended after %s, want within %s", took, within)
	}
	return string(said)
}

func TestClientsThatSendAByteASecondAreHungUpOn(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, c := range []struct {
		name, request string
		slow          string
		within        time.Duration
		status        string
	}{
		{"a request line", "", "GET /" + long, 11 * time.Second, "400"},
		{"headers", "GET /livez HTTP/1.1\r\nHost: a\r\nX: ", long, 11 * time.Second, ""},
		{"a body", "PUT /v1/queues/orders/messages/a HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n", long, 31 * time.Second, "400"},
		{"a body without end", "PUT /v1/queues/orders/messages/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\nx\r\n", 1<<12), 31 * time.Second, "400"},
		{"chunk extensions", "PUT /v1/queues/orders/messages/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;", long, 31 * time.Second, "400"},
		{"a body that was refused", "PUT /v1/queues/nope/messages/a HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n", long, 31 * time.Second, "404"},
		{"a body where none belongs", "GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n", long, 31 * time.Second, "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *pipes) {
				conn := p.dial()
				if _, err := io.WriteString(conn, c.request); err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					dribble(conn, c.slow)
				}()
				said := requireGone(t, conn, c.within)
				if all := strings.Join(statuses(said), " "); all != c.status {
					t.Errorf("answered %q, want %q", said, c.status)
				}
				conn.Close()
				<-done
			})
		})
	}
}

func TestClientThatReadsNothingIsHungUpOn(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		fill(t, p)
		c := p.dial()
		if _, err := io.WriteString(c, "GET /v1/queues/orders/messages HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second)
		if said, err := io.ReadAll(c); err != nil || len(said) > 100 {
			t.Errorf("after a minute there are still %d bytes: %v", len(said), err)
		}
	})
}

func TestClientThatReadsSlowlyGetsAll(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		fill(t, p)
		c := p.dial()
		if _, err := io.WriteString(c, "GET /v1/queues/orders/messages HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var got int
		buf := make([]byte, 16<<10)
		for {
			n, err := c.Read(buf)
			if got += n; err != nil {
				break
			}
			time.Sleep(5 * time.Second)
		}
		if got < 20*bodyBytes {
			t.Errorf("%d bytes came, want more than %d", got, 20*bodyBytes)
		}
	})
}

const bodyBytes = 100 << 10

// fill puts 20 messages.
func fill(t *testing.T, p *pipes) {
	t.Helper()
	c := p.dial()
	defer c.Close()
	answers := bufio.NewReader(c)
	for range 20 {
		go func() {
			_, _ = io.WriteString(c, "POST /v1/queues/orders/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 102400\r\n\r\n"+strings.Repeat("x", bodyBytes))
		}()
		resp, err := http.ReadResponse(answers, nil)
		if err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatalf("%v %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// What is awaited after a body has come is not the client: a long poll on the same connection has its time.
func TestALongPollOutlivesTheBoundsOfSlowClients(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		c := p.dial()
		answers := bufio.NewReader(c)
		say := func(request string) *http.Response {
			t.Helper()
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp
		}
		say("PUT /v1/queues/small/messages/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
		begin := time.Now()
		resp := say("POST /v1/queues/orders/lease?wait=10m HTTP/1.1\r\nHost: a\r\n\r\n")
		if took := time.Since(begin); resp.StatusCode != http.StatusNoContent || took != 10*time.Minute {
			t.Errorf("answered %s after %s, want 204 after 10m", resp.Status, took)
		}
		time.Sleep(4 * time.Minute)
		if resp := say("PUT /v1/queues/small/messages/b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"); resp.StatusCode != http.StatusContinue {
			t.Errorf("after four idle minutes: %s", resp.Status)
		}
		if resp, err := http.ReadResponse(answers, nil); err != nil || resp.StatusCode != http.StatusCreated {
			t.Errorf("%v %v", resp, err)
		}
		c.Close()
	})
}

func TestIdleConnectionsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		c := p.dial()
		requireGone(t, c, 11*time.Second)
	})
}
