//go:build e2e

package compattest

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the tested libraries into docs/migrate/redis.md instead of comparing them")

// limiterPage lists the libraries that work on Stint: a row of a table for each language.
const limiterPage = "../../docs/migrate/redis.md"

// limiterPageLock is held while a language's row is written.
var limiterPageLock sync.Mutex

// checkPage holds a language's row of the page to the libraries of which all programs work.
func (l limiters) checkPage(t *testing.T, libraries []string) {
	limiterPageLock.Lock()
	defer limiterPageLock.Unlock()
	page, err := os.ReadFile(limiterPage)
	if err != nil {
		t.Fatal(err)
	}
	row := "| " + l.language + " | " + l.workingLibraries(libraries) + " |"
	old := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(l.language) + ` \|.*$`).FindString(string(page))
	switch {
	case old == "":
		t.Errorf("%s has no row for %s", limiterPage, l.language)
	case old == row:
	case *update:
		if err := os.WriteFile(limiterPage, []byte(strings.Replace(string(page), old, row, 1)), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("%s has the row\n%s\nand the tests find\n%s\nrun them with -update", limiterPage, old, row)
	}
}

// goName is a module and its version, as Go has them.
var goName = regexp.MustCompile(`^github\.com/(.+?)(?:/v\d+)? v(\S+)$`)

// workingLibraries lists names and versions, each once. libraries are those that the programs report.
func (l limiters) workingLibraries(libraries []string) string {
	var works, fails []string
	for i, p := range l.programs {
		name := goName.ReplaceAllString(libraries[i], "$1 $2")
		if p.works {
			works = append(works, name)
		} else {
			fails = append(fails, name)
		}
	}
	works = slices.DeleteFunc(works, func(name string) bool { return slices.Contains(fails, name) })
	slices.SortFunc(works, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return strings.Join(slices.Compact(works), ", ")
}
