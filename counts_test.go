package stint_test

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCounts prints the house in numbers, as 'go test -run TestCounts -v .' shows: what a reader has to hold in mind, from the largest rooms down.
func TestCounts(t *testing.T) {
	files := sources(t)
	lines, byName, methods := sizesOf(files)
	all, exported, documented := 0, 0, 0
	words, phrases := 0, map[string]int{}
	for _, f := range files {
		if f.isTest() || !isProduct(path.Dir(f.name)) {
			continue
		}
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				countExported(d.Name, d.Doc, &exported, &documented)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, is := spec.(*ast.TypeSpec); is {
						doc := s.Doc
						if doc == nil {
							doc = d.Doc
						}
						countExported(s.Name, doc, &exported, &documented)
					}
				}
			}
		}
		for _, group := range f.tree.Comments {
			text := strings.ToLower(group.Text())
			words += len(strings.Fields(text))
			for name, phrase := range tics {
				phrases[name] += len(phrase.FindAllString(text, -1))
			}
		}
	}
	for _, n := range lines {
		all += n
	}
	functions := slices.Sorted(maps.Values(byName))
	at := func(percent int) int { return functions[(len(functions)-1)*percent/100] }
	many := 0
	for _, n := range methods {
		if n > 30 {
			many++
		}
	}
	t.Logf("lines of Go in the product, without tests: %d", all)
	t.Logf("functions: %d; lines at p50, p90, most: %d, %d, %d", len(functions), at(50), at(90), at(100))
	t.Logf("types with more than 30 methods: %d", many)
	t.Logf("exported functions and types with a comment: %.1f %%", 100*float64(documented)/float64(exported))
	for _, name := range slices.Sorted(maps.Keys(tics)) {
		t.Logf("%q in 1,000 words of comments: %.2f", name, 1000*float64(phrases[name])/float64(words))
	}
	t.Logf("words of decisions: %d; of all Markdown in docs: %d", wordsIn(t, "docs/decisions"), wordsIn(t, "docs"))
	largest := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return lines[b] - lines[a] })
	var rooms []string
	for _, dir := range largest[:12] {
		rooms = append(rooms, fmt.Sprintf("%s %d", dir, lines[dir]))
	}
	t.Logf("largest packages: %s", strings.Join(rooms, ", "))
}

// tics are phrases that a reader stumbles over where they are frequent: other projects have at most one in 10,000 words.
var tics = map[string]*regexp.Regexp{
	"that of":             regexp.MustCompile(`\bthat of\b`),
	"are those of, that":  regexp.MustCompile(`\b(is|are) those (of|that)\b`),
	"behind":              regexp.MustCompile(`\bbehind\b`),
	"has, have … done":    regexp.MustCompile(`\b(has|have) (\w+ ){1,3}(be|do|get|go|come|take|wait|called|carried|sent|decided|counted|closed|written|executed)\b`),
	"those that, who, of": regexp.MustCompile(`\bthose (that|who|of)\b`),
}

func countExported(name *ast.Ident, doc *ast.CommentGroup, exported, documented *int) {
	if name.IsExported() {
		*exported++
		if doc != nil {
			*documented++
		}
	}
}

// wordsIn counts the words of the Markdown in a directory.
func wordsIn(t *testing.T, dir string) (count int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		count += len(strings.Fields(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}
