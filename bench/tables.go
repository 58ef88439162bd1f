package main

import (
	"slices"
	"strings"
)

// A Table is made of figures.
type Table struct {
	Title, Note string
	Words       int  // number of columns, from the left, with words; the others have figures
	WordsLast   bool // the last column has words, too
	Header      []string
	Rows        [][]string
	InDocs      func(row []string) bool // reports whether docs/performance.md has the row; nil: no row
	Others      string                  // what the rows are that docs/performance.md leaves out
}

// A line is a row of a table: its words, and the series and the load whose figures it shows.
type line struct {
	words        []string
	series, load string
}

// A column shows a figure of every line.
type column struct {
	header  string
	metrics []string // several are shown together
	format  func(float64) string
	load    string                  // appended to the line's
	base    string                  // if not empty, the series that the line's is compared with, as a ratio
	of      func([]float64) float64 // of the rounds; the median if nil
}

// figure is a column whose header is its metric.
func figure(metric string, format func(float64) string) column {
	return column{header: metric, metrics: []string{metric}, format: format}
}

// versus compares a metric with the metric of another series.
func versus(metric, base, title string) column {
	return column{header: "vs " + title, metrics: []string{metric}, base: base}
}

// summary is a column of something else than the median of the rounds.
func summary(header, metric string, format func(float64) string, of func([]float64) float64) column {
	return column{header: header, metrics: []string{metric}, format: format, of: of}
}

func (c column) cell(f Figures, l line) string {
	var cells []string
	for _, metric := range c.metrics {
		key := Key{l.series, l.load + c.load, metric}
		if c.base != "" {
			cells = append(cells, formatUnit(f.ratio(key, Key{c.base, key.Load, metric}), "x"))
		} else {
			cells = append(cells, c.format(f.of(key, c.of)))
		}
	}
	return strings.Join(cells, ", ")
}

// table makes a table. Lines of which nothing was measured are left out.
func (f Figures) table(title, note string, words []string, lines []line, columns ...column) Table {
	t := Table{Title: title, Note: note, Words: len(words), Header: slices.Clone(words)}
	for _, c := range columns {
		t.Header = append(t.Header, c.header)
	}
	for _, l := range lines {
		row, measured := slices.Clone(l.words), false
		for _, c := range columns {
			row = append(row, c.cell(f, l))
			for _, metric := range c.metrics {
				measured = measured || f[Key{l.series, l.load + c.load, metric}] != nil
			}
		}
		if measured {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// linesOf are lines for every series under every load.
func linesOf(cells []Cell, series []Series) (lines []line) {
	for _, c := range cells {
		for _, s := range series {
			lines = append(lines, line{[]string{c.Title(), s.Title()}, s.ID(), c.ID()})
		}
	}
	return lines
}
