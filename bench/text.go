package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// preamble describes the circumstances of the measurement.
func preamble(r *Report) []string {
	lines := []string{
		fmt.Sprintf("%s, %s", r.Date.Format("2006-01-02"), r.Machine),
		fmt.Sprintf("redis-benchmark with %d connections; medians of %d rounds of about %s per cell, servers interleaved.",
			connections, r.Settings.Rounds, r.Settings.Cell),
	}
	if noise := r.Machine.Noise(); noise != "" {
		lines = append(lines, noise)
	}
	return lines
}

// writeText writes the tables for a terminal.
func writeText(w io.Writer, r *Report) error {
	var b strings.Builder
	for _, line := range preamble(r) {
		fmt.Fprintln(&b, line)
	}
	for _, s := range sections(r) {
		fmt.Fprintf(&b, "\n%s\n", s.Title)
		widths := columnWidths(s)
		writeTextRow(&b, s.Header, widths, s.Words)
		for _, row := range s.Rows {
			writeTextRow(&b, row, widths, s.Words)
		}
		if s.Note != "" {
			fmt.Fprintln(&b, "  "+s.Note)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func columnWidths(s Section) []int {
	widths := make([]int, len(s.Header))
	for _, row := range append([][]string{s.Header}, s.Rows...) {
		for i, field := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(field))
		}
	}
	return widths
}

// writeTextRow aligns the first columns to the left and figures to the right.
func writeTextRow(b *strings.Builder, row []string, widths []int, words int) {
	var line strings.Builder
	for i, field := range row {
		fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(field))
		if i < words {
			line.WriteString("  " + field + fill)
		} else {
			line.WriteString("  " + fill + field)
		}
	}
	fmt.Fprintln(b, strings.TrimRight(line.String(), " "))
}
