//go:build unix

package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory is taken once, also after the file LOCK was removed, and is free again afterwards.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), "another Stint keeps its state in "+dir) {
			t.Errorf("taken twice: %v", err)
		}
		if err := os.RemoveAll(filepath.Join(dir, lockName)); err != nil {
			t.Fatal(err)
		}
	}
	unlock()
	if unlock, err = Lock(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
}
