package agent_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"drawbridge/spool"
)

// mountDisk makes a small disk of its own.
func mountDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a disk of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func TestAFullDiskIsToldAndComesBack(t *testing.T) {
	dir := mountDisk(t, "160m")
	inBubble(t, dir, func(t *testing.T, h *host) {
		requireWell(t, h)
		filler := filepath.Join(dir, "filler")
		fill(t, filler, 100<<20)
		until(t, soon, "little room is told", func() bool { return !h.check(t, "disk").OK })
		if health := h.Health(); !health.Ready || health.Verdict != "takes messages; degraded: disk" || !strings.Contains(h.check(t, "disk").Detail, "MiB are left") {
			t.Errorf("with little room: %+v", health)
		}
		fill(t, filler, 1<<30)
		until(t, soon, "the full disk is told", func() bool { return !h.Health().Ready })
		if status, body := h.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "no space left on device") {
			t.Errorf("readyz: %d %s", status, body)
		}
		failCommit(t, h)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		until(t, soon, "there is room again", func() bool { return h.Health().Ready })
		if c := h.check(t, "spool"); c.OK || !strings.HasPrefix(c.Detail, "a commit has failed, seen ") {
			t.Errorf("after a commit that failed: %+v", c)
		}
		if _, text := h.get("/metrics"); strings.Contains(text, "\ndrawbridge_spool_reopened_total 0\n") {
			t.Error("the metrics do not count that the spool was opened again")
		}
		h.put(t, "orders", "after", 10)
		time.Sleep(time.Minute)
		requireWell(t, h)
	})
}

// failCommit stores until the file would have to grow and cannot.
func failCommit(t *testing.T, h *host) {
	t.Helper()
	for range 200 {
		_, err := h.Spool().Put(t.Context(), []spool.Put{{Queue: "refunds", Body: make([]byte, 1<<20)}})
		if errors.Is(err, spool.ErrUnknown) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no put has failed on a full disk")
}

// fill writes to a file until it has size bytes or the disk is full.
func fill(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for written := int64(0); written < size; written += int64(len(block)) {
		if n, err := f.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			if n == 0 {
				return
			}
		}
	}
}

func TestAReadOnlyDiskIsTold(t *testing.T) {
	dir := mountDisk(t, "160m")
	spoolDir := filepath.Join(dir, "spool")
	if err := os.Mkdir(spoolDir, 0o700); err != nil {
		t.Fatal(err)
	}
	inBubble(t, dir, func(t *testing.T, h *host) {
		requireWell(t, h)
		// The same directory again, over itself and read-only: the spool keeps the file that it has open.
		if err := syscall.Mount(spoolDir, spoolDir, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("none", spoolDir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		until(t, soon, "the disk is told to be read-only", func() bool {
			return strings.Contains(h.check(t, "disk").Detail, "read-only file system")
		})
		if err := syscall.Unmount(spoolDir, 0); err != nil {
			t.Fatal(err)
		}
		until(t, soon, "the agent is well again", func() bool { return h.check(t, "disk").OK })
		requireWell(t, h)
	})
}
