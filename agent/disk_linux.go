package agent

import "golang.org/x/sys/unix"

// diskSpace returns what the disk that dir lies on has left for this process, and its size.
func diskSpace(dir string) (freeBytes, sizeBytes uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	block := uint64(st.Frsize)
	return st.Bavail * block, st.Blocks * block, nil
}
