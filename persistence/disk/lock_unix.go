//go:build unix

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock locks a data directory for this process, and creates the directory if necessary. The lock ends with the process,
// also after a crash, or with unlock. It is on a file, which earlier versions lock too, and on the directory itself,
// because the file may be removed while the server runs.
func Lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot use %s to keep state: %w; choose another directory with --dir", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s to keep state: %w; choose another directory with --dir", dir, err)
	}
	held, err := os.Open(dir)
	if err == nil {
		err = flock(dir, f)
	}
	if err == nil {
		err = flock(dir, held)
		if errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.ENOTSUP) {
			err = nil // a network file system that can lock only files
		}
	}
	if err != nil {
		f.Close()
		held.Close()
		return nil, err
	}
	return func() { f.Close(); held.Close() }, nil
}

func flock(dir string, f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("another Stint keeps its state in %s; stop it or choose another directory with --dir", dir)
	case err != nil:
		return fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	return nil
}
