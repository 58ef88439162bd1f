package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The workflows name actions by their commits: a tag can be moved to other code.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses: .*$`), regexp.MustCompile(`@[0-9a-f]{40} # v\d+(\.\d+)*$`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range uses.FindAllString(string(text), -1) {
			found++
			if !pinned.MatchString(line) {
				t.Errorf("%s: %q names no commit with its version behind it", file, line)
			}
		}
	}
	if found == 0 {
		t.Error("no action was found")
	}
}
