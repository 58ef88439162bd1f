package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/generated"
)

//go:generate go test -run TestHandbookIsCurrent -update

var update = flag.Bool("update", false, "write docs/metrics.md instead of comparing it")

const handbook = "../../docs/metrics.md"

// docs/metrics.md is made from the table of metrics.
func TestHandbookIsCurrent(t *testing.T) {
	generated.Check(t, handbook, handbookPage(), *update, "go generate ./server/metrics")
}

const handbookIntroduction = `# Metrics

<!-- Made from the table of metrics by "go generate ./server/metrics". Change it there. -->

` + "`/metrics`" + ` at the address of [--admin](configuration.md#admin) answers Prometheus. What this page lists is of Stint; the Go
runtime (` + "`go_…`" + `) and the process (` + "`process_…`" + `) are told by client_golang's own collectors. [operations.md](operations.md)
says how to scrape it, and what else is served there.

The histogram of durations is served with classic buckets and, to a Prometheus that asks for them, as a native histogram
of eight buckets to a power of two; both are exact sums of the same counts. ` + "`CONFIG RESETSTAT`" + ` sets what INFO shows to zero,
not these.

No label takes its values from clients without a bound; the bound is given with each metric.
`

func handbookPage() []byte {
	var out bytes.Buffer
	out.WriteString(handbookIntroduction)
	for _, part := range []struct {
		heading string
		rows    []Row
	}{
		{"The server", serverRows}, {"Decisions and commands", decisionRows}, {"Connections", connectionRows}, {"Keys", keyRows},
		{"State on disk", persistenceRows}, {"The cluster", clusterRows},
	} {
		fmt.Fprintf(&out, "\n## %s\n\n| metric | type, unit | what |\n|---|---|---|\n", part.heading)
		for _, row := range part.rows {
			what := row.Help
			if len(row.Labels) > 0 {
				what += fmt.Sprintf(" Labels: `%s`; values: %s.", strings.Join(row.Labels, "`, `"), row.Bound)
			}
			if row.When != "" {
				what += " Only " + row.When + "."
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", row.Name, strings.Trim(string(row.Kind)+", "+row.Unit(), ", "), what)
		}
	}
	return out.Bytes()
}

var (
	nameForm = regexp.MustCompile(`^stint(_[a-z]+)+$`)
	helpForm = regexp.MustCompile(`^[A-Z].*\.$|^[01] .*\.$`)
)

// Names follow Prometheus's conventions, every label has a bound, and no two rows have a name.
func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Table {
		if seen[row.Name] {
			t.Errorf("%s twice", row.Name)
		}
		seen[row.Name] = true
		if !nameForm.MatchString(row.Name) || !helpForm.MatchString(row.Help) {
			t.Errorf("%s: its name or its help %q is not in form", row.Name, row.Help)
		}
		if strings.HasSuffix(row.Name, "_total") != (row.Kind == Counter) {
			t.Errorf("%s is a %s", row.Name, row.Kind)
		}
		if (len(row.Labels) > 0) != (row.Bound != "") {
			t.Errorf("%s: has labels %v, and a bound %q", row.Name, row.Labels, row.Bound)
		}
		if (row.Kind == Histogram) != (row.distributions != nil) || (row.values == nil) != (row.Kind == Histogram) {
			t.Errorf("%s: a %s is made of the other thing", row.Name, row.Kind)
		}
	}
}

func TestLabel(t *testing.T) {
	for text, want := range map[string]string{
		"user:7": "user:7", "": "", "a b": "a b", "größe": "größe", "a\nb": `"a\nb"`, "\xff": `"\xff"`,
		strings.Repeat("k", 64): strings.Repeat("k", 64), strings.Repeat("k", 65): strings.Repeat("k", 63) + "…",
		strings.Repeat("ü", 100): strings.Repeat("ü", 63) + "…",
	} {
		if got := Label(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
