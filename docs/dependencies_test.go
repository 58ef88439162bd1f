package docs

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

var requirement = regexp.MustCompile(`^(?:require )?\s*([a-z0-9.-]+\.[a-z]+/\S+) v\S+$`)

// pageTests is where the tests of the page list the npm packages that they need.
const pageTests = "server/admin/browser/package.json"

// artifact is a dependency in a pom.xml.
var artifact = regexp.MustCompile(`<dependency>\s*<groupId>([^<]+)</groupId>\s*<artifactId>([^<]+)</artifactId>`)

// TestDependencies holds docs/dependencies.md to one line for each module that a go.mod requires directly, for each
// artifact of clients/java, and for each package of pageTests.
func TestDependencies(t *testing.T) {
	listed := map[string]bool{}
	for _, line := range readPage(t, "docs/dependencies.md").lines {
		if row := regexp.MustCompile("^\\| `([^`]+)` \\|.+\\|$").FindStringSubmatch(line); row != nil {
			if listed[row[1]] {
				t.Errorf("docs/dependencies.md lists %s twice", row[1])
			}
			listed[row[1]] = true
		}
	}
	required := map[string]bool{}
	for _, path := range findFiles(t, "go.mod") {
		for _, line := range readPage(t, path).lines {
			module := requirement.FindStringSubmatch(strings.TrimSpace(line))
			if module == nil || strings.Contains(line, "// indirect") || strings.HasPrefix(module[1], "github.com/stintdb/") {
				continue
			}
			required[module[1]] = true
			if !listed[module[1]] {
				t.Errorf("docs/dependencies.md has no line for %s, which %s requires", module[1], path)
			}
		}
	}
	for _, path := range findFiles(t, "pom.xml") {
		if !strings.HasPrefix(path, "clients/java/") {
			continue
		}
		for _, found := range artifact.FindAllStringSubmatch(strings.Join(readPage(t, path).lines, "\n"), -1) {
			name := found[1] + ":" + found[2]
			if found[1] == "com.stintdb" {
				continue
			}
			required[name] = true
			if !listed[name] {
				t.Errorf("docs/dependencies.md has no line for %s, which %s requires", name, path)
			}
		}
	}
	var tools struct{ DevDependencies map[string]string }
	if err := json.Unmarshal([]byte(strings.Join(readPage(t, pageTests).lines, "\n")), &tools); err != nil {
		t.Fatal(err)
	}
	for name := range tools.DevDependencies {
		required[name] = true
		if !listed[name] {
			t.Errorf("docs/dependencies.md has no line for %s, which %s requires", name, pageTests)
		}
	}
	for module := range listed {
		if !required[module] {
			t.Errorf("docs/dependencies.md lists %s, which no go.mod, no pom.xml of clients/java and not %s requires", module, pageTests)
		}
	}
}
