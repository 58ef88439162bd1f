package main

import (
	"fmt"
	"slices"
	"strings"
)

// preamble describes the circumstances of the measurement.
func preamble(r *Report) []string {
	lines := []string{
		fmt.Sprintf("%s, %s.", r.Date.Format("2006-01-02"), r.Machine),
		fmt.Sprintf("%s used %d connections. Each figure is the median of %d rounds of about %s. The servers took turns.",
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

// markdown returns the tables in Markdown.
func markdown(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Stint and others, side by side\n\n%s\n", strings.Join(preamble(r), "\n"))
	for _, s := range r.tables() {
		writeTable(&b, "##", s, s.Rows)
	}
	return b.String()
}

// Between these lines is the part of docs/performance.md that -docs writes.
const (
	partBegins = "<!-- Made by go run -C bench . -docs -->\n"
	partEnds   = "<!-- End of that part -->\n"
)

// docsPage returns the page with the rows of this run for readers.
func docsPage(page string, r *Report) (string, error) {
	before, rest, begins := strings.Cut(page, partBegins)
	_, after, ends := strings.Cut(rest, partEnds)
	if !begins || !ends {
		return "", fmt.Errorf("docs/performance.md must have a line %q and then a line %q; put them back", partBegins, partEnds)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n%s\n", before, partBegins, strings.Join(preamble(r), "\n"))
	for _, s := range r.tables() {
		if s.InDocs != nil {
			writeTable(&b, "###", s, slices.DeleteFunc(slices.Clone(s.Rows), func(row []string) bool { return !s.InDocs(row) }))
		}
	}
	fmt.Fprintf(&b, "\n%s%s", partEnds, after)
	return b.String(), nil
}

// writeTable writes some rows of a table, and how many are left out.
func writeTable(b *strings.Builder, level string, s Table, rows [][]string) {
	fmt.Fprintf(b, "\n%s %s\n\n", level, s.Title)
	writeMarkdownRow(b, s.Header)
	rule := make([]string, len(s.Header))
	for i := range rule {
		rule[i] = "---:"
		if i < s.Words || s.WordsLast && i == len(rule)-1 {
			rule[i] = "---"
		}
	}
	writeMarkdownRow(b, rule)
	above := ""
	for _, row := range rows {
		if s.Words > 1 && row[0] == above { // a name of several rows stands in the first
			row = append([]string{""}, row[1:]...)
		} else {
			above = row[0]
		}
		writeMarkdownRow(b, row)
	}
	if len(rows) < len(s.Rows) {
		fmt.Fprintf(b, "\nThe other %d of %d rows, %s, are left out.\n", len(s.Rows)-len(rows), len(s.Rows), s.Others)
	}
	if s.Note != "" {
		fmt.Fprintf(b, "\n%s\n", s.Note)
	}
}

func writeMarkdownRow(b *strings.Builder, row []string) {
	escaped := make([]string, len(row))
	for i, field := range row {
		escaped[i] = strings.ReplaceAll(field, "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(escaped, " | "))
}
