package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"drawbridge/spool"
)

// lockDir takes the lock of the directory, or returns spool.ErrInUse at once. The lock file is never deleted: a second
// process that opened it just before would lock a file that has no name any more, and both would go on.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, spool.ErrInUse)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}
