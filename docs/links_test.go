package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	links   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*)$`)
)

// TestLinks follows every relative link of every Markdown file, to the heading it names.
func TestLinks(t *testing.T) {
	pages := map[string]page{}
	for _, p := range allPages(t) {
		pages[p.path] = p
	}
	count := 0
	for _, p := range pages {
		for i, line := range p.prose() {
			for _, link := range links.FindAllStringSubmatch(line, -1) {
				if strings.Contains(link[1], "://") || strings.HasPrefix(link[1], "mailto:") {
					continue
				}
				count++
				file, anchor, _ := strings.Cut(link[1], "#")
				target := path.Join(path.Dir(p.path), file)
				if file == "" {
					target = p.path
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("%s:%d: dead link %s", p.path, i+1, link[1])
				} else if anchor != "" && path.Ext(target) == ".md" && !pages[target].anchors()[anchor] {
					t.Errorf("%s:%d: %s has no heading #%s", p.path, i+1, target, anchor)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no links found")
	}
}

// anchors are the names by which links reach the page's headings.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	for _, line := range p.prose() {
		if h := heading.FindStringSubmatch(line); h != nil {
			all[anchorOf(h[1])] = true
		}
	}
	return all
}

var dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func anchorOf(heading string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// TestHeadings keeps anchors unambiguous: no two headings of a page have the same one.
func TestHeadings(t *testing.T) {
	for _, p := range handbookPages(t) {
		seen := map[string]bool{}
		for i, line := range p.prose() {
			h := heading.FindStringSubmatch(line)
			if h == nil {
				continue
			}
			if seen[anchorOf(h[1])] {
				t.Errorf("%s:%d: a second heading #%s", p.path, i+1, anchorOf(h[1]))
			}
			seen[anchorOf(h[1])] = true
		}
	}
}

// TestIndex checks that docs/README.md, or the README.md of the page's folder, lists every page of the handbook.
func TestIndex(t *testing.T) {
	listed := map[string]bool{"README.md": true, "docs/README.md": true}
	for _, index := range handbookPages(t) {
		if path.Base(index.path) != "README.md" {
			continue
		}
		for _, line := range index.prose() {
			for _, link := range links.FindAllStringSubmatch(line, -1) {
				listed[path.Join(path.Dir(index.path), link[1])] = true
			}
		}
	}
	for _, p := range handbookPages(t) {
		if !listed[p.path] {
			t.Errorf("%s/README.md does not list %s", path.Dir(p.path), p.path)
		}
	}
}

// TestReadme checks that the step test of .ci/run is the test command of README.md, without the tests of another step.
func TestReadme(t *testing.T) {
	readme := strings.Join(readPage(t, "README.md").lines, "\n")
	tests := regexp.MustCompile(`(?m)^go test .*$`).FindString(readme)
	if tests == "" {
		t.Fatal("README.md has no line with the command that runs the tests")
	}
	steps := strings.Join(readPage(t, ".ci/steps.sh").lines, "\n")
	if want := "\nstep_test() { watched " + tests + " -skip "; !strings.Contains(steps, want) {
		t.Errorf(".ci/steps.sh does not run the test command of README.md: it has no line%s", want)
	}
}
