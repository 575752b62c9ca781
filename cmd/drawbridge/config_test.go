package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drawbridge/api"
)

const checkedPeer = "ABCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-ABCD-EFGH-IJKL-MNOP-QRSA"

// answering serves the links of an agent on a socket.
func (s *shell) answering(links ...api.Link) (socket string) {
	s.t.Helper()
	socket = filepath.Join(s.home, "api.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		s.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/links", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(links) // the reader says what came
	})
	server := &http.Server{Handler: mux}
	go server.Serve(l)
	s.t.Cleanup(func() { server.Close() })
	return socket
}

// byIDs writes a file of an agent whose queue orders goes by ids.
func (s *shell) byIDs() (path string) {
	s.t.Helper()
	path = filepath.Join(s.home, "ids.yaml")
	text := "agent: a\nlisten: { api: " + filepath.Join(s.home, "api.sock") + " }\nledger_max_window: 3d\nqueues: { orders: { dedupe: ids }, refunds: {} }\n" +
		"links: { nyc: { peer_id: " + checkedPeer + ", addresses: [h:1], receive: [{ to: refunds }, { to: orders }] } }\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func TestConfigCheckTellsRoutesThatTheFileWouldRefuse(t *testing.T) {
	const hour = 3_600_000
	for name, tt := range map[string]struct {
		in   api.LinkReceive
		code int
		said []string
	}{
		"it fits":        {api.LinkReceive{Queue: "orders", HorizonMillis: 60 * hour}, exitOK, nil},
		"too long":       {api.LinkReceive{Queue: "orders", HorizonMillis: 72 * hour}, exitFailed, []string{"links.nyc.receive[1].to", "81h0m0s", "72h0m0s", "mistakes: 1"}},
		"for ever":       {api.LinkReceive{Queue: "orders", Accepted: 1}, exitFailed, []string{"for ever", "72h0m0s"}},
		"nothing told":   {api.LinkReceive{Queue: "orders"}, exitOK, []string{"link east has announced no horizon for queue orders", "not checked"}},
		"it has numbers": {api.LinkReceive{Queue: "refunds", Accepted: 1}, exitOK, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.answering(api.Link{Name: "east", Peer: checkedPeer, Receives: []api.LinkReceive{tt.in}})
			code, _, stderr := s.try("config", "check", s.byIDs())
			if code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, stderr)
			}
			for _, part := range tt.said {
				if !strings.Contains(stderr, part) {
					t.Errorf("%q is not in:\n%s", part, stderr)
				}
			}
			if tt.said == nil && stderr != "" {
				t.Errorf("it says %s", stderr)
			}
		})
	}
}

func TestConfigCheckAsksTheAgentThatIsNamed(t *testing.T) {
	s := newShell(t)
	socket := s.answering(api.Link{Name: "nyc", Peer: checkedPeer, Receives: []api.LinkReceive{{Queue: "orders", HorizonMillis: 1 << 40}}})
	named := socket + ".named"
	if err := os.Rename(socket, named); err != nil {
		t.Fatal(err)
	}
	path := s.byIDs()
	if code, _, stderr := s.try("config", "check", path); code != exitOK || !strings.Contains(stderr, "was not checked") {
		t.Errorf("nobody there: exit code %d\n%s", code, stderr)
	}
	s.run(exitFailed, "config", "check", path, "--api", named)
	_, stdout, _ := s.try("config", "check", path, "--api", named, "-o", "json")
	var problems []struct{ Path, Text string }
	if err := json.Unmarshal([]byte(stdout), &problems); err != nil || len(problems) != 1 || problems[0].Path != "links.nyc.receive[1].to" {
		t.Errorf("%v: %s", err, stdout)
	}
}
