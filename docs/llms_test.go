package docs

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

//go:generate go test -run TestLLMsText -update

var (
	linkOfIndex  = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	entryOfIndex = regexp.MustCompile(`^- \[([^\]]+)\]\(([^)]+)\): (.+)\n$`)
)

// TestLLMsText compares llms.txt (llmstxt.org), the index that programs read, with the handbook's. With -update it
// writes it.
func TestLLMsText(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil && !*update {
			t.Fatal(err)
		}
		return string(text)
	}
	about, _, _ := strings.Cut(strings.TrimPrefix(read("../README.md"), "# Stint\n\n"), "\n\n")
	text := "# Stint\n\n> " + strings.NewReplacer("\n", " ", "**", "").Replace(about) + "\n"
	links := 0
	for line := range strings.Lines(read("README.md")) {
		if strings.HasPrefix(line, "## ") {
			text += "\n" + line + "\n"
			continue
		}
		page := entryOfIndex.FindStringSubmatch(line)
		if page == nil {
			continue
		}
		links++
		text += fmt.Sprintf("- [%s](%s): %s\n", page[1], path.Join("docs", page[2]), linkOfIndex.ReplaceAllString(page[3], "$1"))
	}
	if links < 30 {
		t.Errorf("%d pages in the index", links)
	}
	if *update {
		if err := os.WriteFile("../llms.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if read("../llms.txt") != text {
		t.Error("llms.txt does not match docs/README.md: run go generate ./docs")
	}
}
