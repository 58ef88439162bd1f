package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
)

//go:generate go test -run TestHandbookIsCurrent -update

var update = flag.Bool("update", false, "write docs/metrics.md instead of comparing it")

const handbook = "../../docs/metrics.md"

// docs/metrics.md is made from the table of metrics.
func TestHandbookIsCurrent(t *testing.T) {
	testgenerated.Check(t, handbook, handbookPage(), *update, "go generate ./server/metrics")
}

const handbookIntroduction = `# Metrics

<!-- Made from the table of metrics by "go generate ./server/metrics". Change it there. -->

This page lists every metric that Prometheus gets at ` + "`/metrics`" + `, at the address of [--admin](configuration.md#admin). [operations.md](operations.md#prometheus) explains how to
scrape metrics, and has alerts and a dashboard ready to use. For example, this query shows the denials a second of each command:

` + "```text" + `
sum by (command) (rate(stint_decisions_total{outcome="denied"}[5m]))
` + "```" + `

There are also the metrics of the Go runtime (` + "`go_…`" + `) and of the process (` + "`process_…`" + `). Histograms of durations have classic buckets and, if Prometheus asks for them, native buckets, eight for each power of
two. ` + "`CONFIG RESETSTAT`" + ` resets INFO, not these metrics. If clients choose the values of a label, the number of values is bounded.
`

func handbookPage() []byte {
	var out bytes.Buffer
	out.WriteString(handbookIntroduction)
	for _, part := range parts {
		fmt.Fprintf(&out, "\n## %s\n\n", part.heading)
		when := part.rows[0].When
		if when != "" {
			fmt.Fprintf(&out, "Only %s", when)
			if slices.ContainsFunc(part.rows, func(row Row) bool { return row.When != when }) {
				out.WriteString(", except as noted")
			}
			out.WriteString(".\n\n")
		}
		out.WriteString("| metric | type, unit | meaning |\n|---|---|---|\n")
		for _, row := range part.rows {
			meaning := row.Help
			if len(row.Labels) > 0 {
				meaning += fmt.Sprintf(" Labels: `%s`; values: %s.", strings.Join(row.Labels, "`, `"), row.Bound)
			}
			if row.When != when {
				meaning += " " + strings.ToUpper(row.When[:1]) + row.When[1:] + "."
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", row.Name, strings.Trim(string(row.Kind)+", "+unitOf(row), ", "), meaning)
		}
	}
	return out.Bytes()
}

var (
	nameForm = regexp.MustCompile(`^stint(_[a-z]+)+$`)
	helpForm = regexp.MustCompile(`^[A-Z].*\.$|^[01] .*\.$`)
)

// Names follow Prometheus's conventions and are unique, and every label has a bound.
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

// unitOf is the unit of a metric: seconds, bytes, a Unix time, or "" for a number of things.
func unitOf(r Row) string {
	name := strings.TrimSuffix(r.Name, "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "Unix seconds"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	}
	return ""
}
