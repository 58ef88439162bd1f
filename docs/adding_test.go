package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAddingAnAlgorithm takes the steps of the page in a copy of the source: whole files are written, and pieces inserted
// after the line that the page names, or at the end of the file. Then it runs the page's own test.
func TestAddingAnAlgorithm(t *testing.T) {
	require(t, installed("go"), "go")
	folder := t.TempDir()
	copyTo := func(path string) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(folder, path)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, path), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range append(findFiles(t, "*.go"), "go.mod", "go.sum") {
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." && !strings.HasSuffix(path, ".go") || !strings.HasSuffix(path, "_test.go") && (dir == "engine" || dir == "server/command" || dir == "server/resp") {
			copyTo(path)
		}
	}
	p := readPage(t, "docs/adding-an-algorithm.md")
	var (
		fileLink  = regexp.MustCompile(`\]\(\.\./((?:engine|server/command)/\w+\.go)\)`)
		newFile   = regexp.MustCompile("^The file `(.+)`:$")
		afterLine = regexp.MustCompile("after\\s+`([^`]+)`")
	)
	blocks, next, file, edits := p.blocks(), 0, "", 0
	paragraph := ""
	for i, line := range p.prose() {
		if next < len(blocks) && i == blocks[next].line-2 {
			b := blocks[next]
			next++
			switch found := newFile.FindStringSubmatch(strings.TrimSpace(paragraph)); {
			case found != nil:
				write(t, filepath.Join(folder, found[1]), b.text())
			case strings.HasPrefix(b.text(), "package command\n"):
				write(t, filepath.Join(folder, "server/command/cooldown_test.go"), b.text())
			default:
				after := afterLine.FindStringSubmatch(paragraph)
				insert(t, filepath.Join(folder, file), after, b.text())
			}
			edits++
			paragraph = ""
			continue
		}
		if line != "" && i > 0 && p.lines[i-1] == "" {
			paragraph = ""
		}
		paragraph += line + "\n"
		if links := fileLink.FindAllStringSubmatch(line, -1); links != nil {
			file = links[len(links)-1][1]
		}
	}
	if edits != 7 {
		t.Errorf("the page has %d pieces of source, want 7", edits)
	}
	run := exec.Command("go", "test", "-v", "-vet=off", "-run", "TestCooldown", "./server/command")
	run.Dir = folder
	if output, err := run.CombinedOutput(); err != nil || !strings.Contains(string(output), "\n--- PASS: TestCooldown") {
		t.Errorf("%s: %v\n%s", run, err, output)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// insert puts text after the one line that ends as the page says, or at the end of the file if it names none.
func insert(t *testing.T, path string, after []string, piece string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if after == nil {
		write(t, path, text+"\n"+piece)
		return
	}
	mark := after[1] + "\n"
	if strings.Count(text, mark) != 1 {
		t.Fatalf("%s has %d lines that end in %q", path, strings.Count(text, mark), after[1])
	}
	write(t, path, strings.Replace(text, mark, mark+piece, 1))
}

// TestAddingNames finds names in the page that the source does not have.
func TestAddingNames(t *testing.T) {
	source := ""
	for _, path := range findFiles(t, "*.go") {
		if strings.HasPrefix(path, "engine/") || strings.HasPrefix(path, "server/command/") {
			source += strings.Join(readPage(t, path).lines, "\n")
		}
	}
	name := regexp.MustCompile("`([A-Za-z]*[a-z][A-Z][A-Za-z]*|call|next|held|fresh|naive|twins|need|write|decide|kinds|product)`")
	count := 0
	for i, line := range readPage(t, "docs/adding-an-algorithm.md").prose() {
		for _, found := range name.FindAllStringSubmatch(line, -1) {
			count++
			if !regexp.MustCompile(`\b` + found[1] + `\b`).MatchString(source) {
				t.Errorf("docs/adding-an-algorithm.md:%d: there is no %s", i+1, found[1])
			}
		}
	}
	if count < 12 {
		t.Errorf("only %d names found", count)
	}
}
