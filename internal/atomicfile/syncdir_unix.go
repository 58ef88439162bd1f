//go:build unix

package atomicfile

import (
	"errors"
	"os"
)

// SyncDir makes created, renamed and removed names in a directory durable.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
