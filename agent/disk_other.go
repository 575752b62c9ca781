//go:build !linux

package agent

import "errors"

// diskSpace is not known here: only a write that fails tells of a full disk.
func diskSpace(string) (freeBytes, sizeBytes uint64, err error) { return 0, 0, errors.ErrUnsupported }
