package quic_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drawbridge/link/quic"
)

func TestIdentityIsTheSameAfterReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	made, err := quic.CreateIdentity(path)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := quic.LoadIdentity(path)
	if err != nil {
		t.Fatal(err)
	}
	if made.Pin() != loaded.Pin() {
		t.Fatalf("made %s, loaded %s", made.Pin(), loaded.Pin())
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode())
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("directory holds %v (%v), want the key alone", left, err)
	}
}

func TestCreateIdentityNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	first := createIdentity(t, path)
	if _, err := quic.CreateIdentity(path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("second creation: %v, want fs.ErrExist", err)
	}
	if kept, err := quic.LoadIdentity(path); err != nil || kept.Pin() != first.Pin() {
		t.Fatalf("the first key is gone: %v", err)
	}
}

func TestCreateIdentityAfterAnInterruptedOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	if err := os.WriteFile(path+".new", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	made := createIdentity(t, path)
	if loaded, err := quic.LoadIdentity(path); err != nil || loaded.Pin() != made.Pin() {
		t.Fatalf("load: %v", err)
	}
}

func TestLoadIdentitySaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open.pem")
	createIdentity(t, open)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(dir, "garbage.pem")
	if err := os.WriteFile(garbage, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		open:                             "chmod 600 " + open,
		garbage:                          "PEM",
		filepath.Join(dir, "absent.pem"): "drawbridge init",
	} {
		_, err := quic.LoadIdentity(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("load %s: %v, want the path and %q", path, err, want)
		}
	}
}

func createIdentity(t testing.TB, path string) *quic.Identity {
	t.Helper()
	id, err := quic.CreateIdentity(path)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
