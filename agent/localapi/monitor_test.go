package localapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/api"
)

// monitor watches an agent that is as health says.
func monitor(health *api.Health, token *localapi.Token) *localapi.Monitor {
	return localapi.NewMonitor(localapi.MonitorOptions{
		Health:  func() api.Health { return *health },
		Metrics: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "drawbridge_ready 1") },
		Numbers: json.RawMessage(`[{"name":"drawbridge_ready"}]`),
		Token:   token,
		Log:     hclog.NewNullLogger(),
	})
}

func ask(h http.Handler, method, path string, headers ...string) answer {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.Bytes()}
}

func TestMonitorAnswersOnlyQuestions(t *testing.T) {
	m := monitor(&api.Health{Ready: true, Verdict: "takes messages; all parts are well"}, nil)
	for path, want := range map[string]string{
		"/metrics":      "drawbridge_ready 1",
		"/metrics.json": `"name":"drawbridge_ready"`,
		"/livez":        "alive",
		"/readyz":       "ready",
		"/health":       `"verdict":"takes messages; all parts are well"`,
	} {
		if a := ask(m, "GET", path); a.status != http.StatusOK || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
			a := ask(m, method, path)
			if p := a.problem(t); a.status != http.StatusMethodNotAllowed || p.Code != api.CodeBadMethod || a.header.Get("Allow") != "GET" {
				t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
			}
		}
	}
	for _, path := range []string{"/", "/v1/queues", "/v1/queues/orders/messages", "/metrics/x", "/debug/pprof/"} {
		if a := ask(m, "GET", path); a.status != http.StatusNotFound || a.problem(t).Code != api.CodeNoSuchCall {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestReadyzSaysWhyNot(t *testing.T) {
	health := &api.Health{Reasons: []string{"disk: no space left on device", "the agent was told to stop"}}
	a := ask(monitor(health, nil), "GET", "/readyz")
	if p := a.problem(t); a.status != http.StatusServiceUnavailable || p.Code != api.CodeNotReady ||
		!strings.Contains(p.Detail, "disk: no space left on device; the agent was told to stop") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := ask(monitor(health, nil), "GET", "/livez"); a.status != http.StatusOK {
		t.Errorf("alive is not ready: %d", a.status)
	}
	if a := ask(monitor(health, nil), "GET", "/health"); a.status != http.StatusOK {
		t.Errorf("what is wrong can be read: %d", a.status)
	}
}

func tokenFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMonitorAsksForItsToken(t *testing.T) {
	token, err := localapi.LoadToken(tokenFile(t, "  s3cret-token\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := monitor(&api.Health{Ready: true}, token)
	for _, path := range []string{"/metrics", "/metrics.json", "/readyz", "/health", "/nothing"} {
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer s3cret-toke", "Bearer s3cret-token1", "Basic s3cret-token", "s3cret-token"} {
			a := ask(m, "GET", path, "Authorization", header)
			if a.status != http.StatusUnauthorized || a.problem(t).Code != api.CodeBadToken || a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s with %q: %d %s", path, header, a.status, a.body)
			}
			if strings.Contains(string(a.body), "s3cret") {
				t.Errorf("the answer tells the token: %s", a.body)
			}
		}
	}
	for _, header := range []string{"Bearer s3cret-token", "bearer  s3cret-token "} {
		if a := ask(m, "GET", "/metrics", "Authorization", header); a.status != http.StatusOK {
			t.Errorf("with %q: %d %s", header, a.status, a.body)
		}
	}
	if a := ask(m, "GET", "/livez"); a.status != http.StatusOK {
		t.Errorf("livez needs no token: %d", a.status)
	}
}

func TestATokenThatIsNone(t *testing.T) {
	for name, path := range map[string]string{
		"empty":       tokenFile(t, ""),
		"white space": tokenFile(t, " \n\t\n"),
		"two words":   tokenFile(t, "two words"),
		"not ASCII":   tokenFile(t, "tökén"),
		"endless":     "/dev/zero",
		"missing":     filepath.Join(t.TempDir(), "nothing"),
		"a directory": t.TempDir(),
	} {
		if _, err := localapi.LoadToken(path); err == nil {
			t.Errorf("%s: taken for a token", name)
		}
	}
}

// A client that opens connections and says nothing, or too much, is cut off; the others are served.
func TestMonitorBoundsItsClients(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- monitor(&api.Health{Ready: true}, nil).Run(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /livez HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n", strings.Repeat("x", 32<<10))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("32 KiB of headers: %v %v", resp, err)
	}
	var silent []net.Conn
	for range 10 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
	}
	resp, err = http.Get("http://" + l.Addr().String() + "/readyz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("beside silent connections: %v %v", resp, err)
	}
	resp.Body.Close()
	for _, c := range silent {
		c.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
