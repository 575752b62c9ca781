package bolt

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// dropCache makes the next reader of path read the disk. Pages whose writing failed are marked clean by the kernel and would
// otherwise pass for durable until the next power cut.
func dropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("drop the cache of %s: %w", path, err)
	}
	return nil
}
