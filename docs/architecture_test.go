package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var functionLinks = regexp.MustCompile(`\[(\w+)\]\((\.\./[^)]+\.go)\)`)

// The requests that architecture.md follows go through functions that are where it says.
func TestRequestsAreFollowed(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Three requests\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := functionLinks.FindAllStringSubmatch(section, -1)
	if len(found) < 20 {
		t.Fatalf("only %d functions are named", len(found))
	}
	for _, link := range found {
		source, err := os.ReadFile(filepath.FromSlash(link[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\(\w+ \*?\w+\) )?` + link[1] + `\(`).Match(source) {
			t.Errorf("%s has no function %s", link[2], link[1])
		}
	}
}
