package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// probeFile is written beside the spool's file and removed again: that a commit would work is only known by trying the like.
const probeFile = "disk.probe"

// probeBytes is a page, so that a full disk has no room for it in what it has handed out already.
const probeBytes = 4 << 10

// tryDisk writes, syncs and removes a file in dir.
func tryDisk(dir string) error {
	path := filepath.Join(dir, probeFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close(), os.Remove(path)); err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	return nil
}

// fileBytes returns the size of a file, 0 if it cannot be told.
func fileBytes(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}
