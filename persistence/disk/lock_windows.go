package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// errSharing is ERROR_SHARING_VIOLATION: another process has the file open.
const errSharing = syscall.Errno(32)

// Lock locks a data directory for this process, and creates the directory if necessary. The lock ends with the process,
// also after a crash, or with unlock: it is the file LOCK, opened so that nobody else can open it.
func Lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot use %s to keep state: %w; choose another directory with --dir", dir, err)
	}
	path, err := syscall.UTF16PtrFromString(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("cannot use %s to keep state: %w; choose another directory with --dir", dir, err)
	}
	const shared = 0 // with nobody
	held, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, shared, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, errSharing):
		return nil, fmt.Errorf("another Stint keeps its state in %s; stop it or choose another directory with --dir", dir)
	case err != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	return func() { _ = syscall.CloseHandle(held) }, nil
}
