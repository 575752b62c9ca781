package localapi_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drawbridge/agent/localapi"
)

func TestListenReplacesTheSocketOfADeadAgent(t *testing.T) {
	path := filepath.Join(shortDir(t), "api.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false) // as after kill -9
	dead.Close()
	l, err := localapi.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestListenLeavesALiveAgentAlone(t *testing.T) {
	path := filepath.Join(shortDir(t), "api.sock")
	live, err := localapi.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := localapi.Listen(path); err == nil || !strings.Contains(err.Error(), "another agent answers there") {
		t.Errorf("second agent: %v", err)
	}
	if _, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first agent is gone: %v", err)
	}
}

func TestListenRefusesWhatIsNoSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "api.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := localapi.Listen(path); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("Listen: %v", err)
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "precious" {
		t.Errorf("the file: %q %v", kept, err)
	}
	if _, err := localapi.Listen("/" + strings.Repeat("x", 107)); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("long path: %v", err)
	}
}

func TestSocketIsForOwnerAndGroup(t *testing.T) {
	path := filepath.Join(shortDir(t), "made", "api.sock")
	l, err := localapi.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]fs.FileMode{path: 0o660 | fs.ModeSocket, filepath.Dir(path): 0o750 | fs.ModeDir} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}
