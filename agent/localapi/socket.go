package localapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPathBytes is what a sockaddr_un holds beside its closing zero.
const maxSocketPathBytes = 107

// Listen opens the Unix socket at path, for owner and group. A missing directory is created; a socket that a dead agent
// left behind is replaced; one that still answers is an error.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPathBytes {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, a Unix socket's at most %d; set a shorter listen.api", path, len(path), maxSocketPathBytes)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("directory of the API socket: %w", err)
	}
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(fmt.Errorf("permissions of the API socket: %w", err), l.Close())
	}
	return l, nil
}

// removeStale removes a socket nobody listens on. Only a refused connection proves that; any other failure proves nothing.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is no socket; move it away or set another listen.api")
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return errors.New("another agent answers there; stop it or set another listen.api")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("is another agent there? %w", err)
	}
	return os.Remove(path)
}
