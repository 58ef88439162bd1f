package flakiness

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A goroutine that ends on a locked thread ends the thread, and Linux then kills the children that this thread has
// started (internal/testprocess): another test of the process loses its server. So who locks a thread gives it back,
// also outside of tests.
func TestThreadsAreGivenBack(t *testing.T) {
	locked := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git" || entry.Name() == "flakiness"):
			return filepath.SkipDir
		case filepath.Ext(file) != ".go":
			return nil
		}
		text, err := os.ReadFile(file)
		locks, returns := strings.Count(string(text), "runtime.LockOSThread()"), strings.Count(string(text), "defer runtime.UnlockOSThread()")
		if locked += locks; locks != returns {
			t.Errorf("%s: %d calls of runtime.LockOSThread and %d of defer runtime.UnlockOSThread", file, locks, returns)
		}
		return err
	})
	if err != nil || locked == 0 {
		t.Errorf("%d calls were found: %v", locked, err)
	}
}
