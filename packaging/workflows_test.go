package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// workflows are the texts of the workflows, by the name of the file.
func workflows(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflow was found: %v", err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// The workflows name actions by their commits: a tag can be moved to other code.
func TestActionsArePinned(t *testing.T) {
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses: .*$`), regexp.MustCompile(`@[0-9a-f]{40} # v\d+(\.\d+)*$`)
	found := 0
	for file, text := range workflows(t) {
		for _, line := range uses.FindAllString(text, -1) {
			found++
			if !pinned.MatchString(line) {
				t.Errorf("%s: %q names no commit followed by its version", file, line)
			}
		}
	}
	if found == 0 {
		t.Error("no action was found")
	}
}

// TestWorkflowsFindTheirFiles looks for the files of the repository that workflows name, and for the steps of .ci/run,
// because a workflow that names another would fail only on GitHub.
func TestWorkflowsFindTheirFiles(t *testing.T) {
	path := regexp.MustCompile(`(?m)(?:^|[\s"=(])((?:\.ci|\.github|clients|cmd|docker|docs|packaging)/[\w./-]+)`)
	step := regexp.MustCompile(`(?m)\.ci/run((?: [a-z-]+)+)`)
	steps, found := read(t, ".ci/steps.sh"), 0
	for file, text := range workflows(t) {
		for _, named := range path.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, named[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		for _, named := range step.FindAllStringSubmatch(text, -1) {
			for _, name := range strings.Fields(named[1]) {
				if !strings.Contains(steps, "\nstep_"+strings.ReplaceAll(name, "-", "_")+"() {") {
					t.Errorf("%s: .ci/run has no step %s", file, name)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d files were found", found)
	}
}
