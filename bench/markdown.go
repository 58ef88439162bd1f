package main

import (
	"fmt"
	"strings"
)

// preamble describes the circumstances of the measurement.
func preamble(r *Report) []string {
	lines := []string{
		fmt.Sprintf("%s, %s", r.Date.Format("2006-01-02"), r.Machine),
		fmt.Sprintf("%s with %d connections; medians of %d rounds of about %s per cell, servers interleaved.",
			generatorsText(r.Generators), connections, r.Rounds, r.Cell),
	}
	return append(lines, r.OtherWork.String())
}

func generatorsText(count int) string {
	if count > 1 {
		return fmt.Sprintf("%d processes of redis-benchmark", count)
	}
	return "redis-benchmark"
}

// markdown returns the tables in Markdown, or those for docs/ alone.
func markdown(r *Report, docs bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Stint and others, side by side\n\n")
	for _, line := range preamble(r) {
		fmt.Fprintf(&b, "%s\n", line)
	}
	fmt.Fprintf(&b, "Made by `go run -C bench . -docs`; [bench/README.md](../bench/README.md) explains the figures.\n")
	for _, s := range r.tables() {
		if docs && !s.Docs {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", s.Title)
		writeMarkdownRow(&b, s.Header)
		rule := make([]string, len(s.Header))
		for i := range rule {
			rule[i] = "---:"
			if i < s.Words {
				rule[i] = "---"
			}
		}
		writeMarkdownRow(&b, rule)
		above := ""
		for _, row := range s.Rows {
			if s.Words > 1 && row[0] == above { // a name of several rows stands in the first
				row = append([]string{""}, row[1:]...)
			} else {
				above = row[0]
			}
			writeMarkdownRow(&b, row)
		}
		if s.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", s.Note)
		}
	}
	return b.String()
}

func writeMarkdownRow(b *strings.Builder, row []string) {
	escaped := make([]string, len(row))
	for i, field := range row {
		escaped[i] = strings.ReplaceAll(field, "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(escaped, " | "))
}
