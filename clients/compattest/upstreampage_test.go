//go:build e2e

package compattest

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suitesTable has a row for each suite.
const suitesTable = "testdata/suites.txt"

// checkPage holds the table's row of a suite to the library's version and the known differences. The counts of tests
// change with the load of the machine, so they are written only with -update.
func (s upstreamSuite) checkPage(t *testing.T, version string, onRedis, onStint int) {
	page, err := os.ReadFile(suitesTable)
	if err != nil {
		t.Fatal(err)
	}
	name, version, _ := strings.Cut(goName.ReplaceAllString(s.library+" "+version, "$1 $2"), " ")
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(name) + ` (\S+) \| \d+ \| \d+ \| (.*) \|$`)
	reasons := "–"
	if len(s.differs) > 0 {
		reasons = strings.Join(slices.Compact(slices.Sorted(maps.Values(s.differs))), "; ")
	}
	found := fmt.Sprintf("| %s %s | %d | %d | %s |", name, version, onRedis, onStint, reasons)
	switch old := row.FindStringSubmatch(string(page)); {
	case old == nil:
		t.Errorf("%s has no row for %s; add\n%s", suitesTable, s.library, found)
	case *update:
		if err := os.WriteFile(suitesTable, []byte(strings.Replace(string(page), old[0], found, 1)), 0o644); err != nil {
			t.Error(err)
		}
	case old[1] != version || old[2] != reasons:
		t.Errorf("%s has the row\n%s\nand the tests find\n%s\nrun them with -update", suitesTable, old[0], found)
	}
}
