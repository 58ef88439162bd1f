//go:build unix

package disk

import (
	"os"
	"path/filepath"
)

// openFile opens a file of a directory. A new one can be read by this account only.
func openFile(dir, name string, flags int) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, name), flags, 0o600)
}
