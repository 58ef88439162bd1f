package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Table is made of figures.
type Table struct {
	Title, Note string
	Words       int // number of columns, from the left, with words; the others have figures
	Header      []string
	Rows        [][]string
	InDocs      func(row []string) bool // reports whether docs/performance.md has the row; nil: no row
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

// versus compares a metric with that of another series.
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

// A Target is a figure and its bound.
type Target struct {
	Name   string
	Unit   string // of the value: "x" for a ratio
	AtMost bool   // else at least
	Bound  float64
	Figure Key
	Versus Key                     // if not zero, the figure is compared with this one
	Scale  float64                 // a factor of the value, if not zero
	of     func([]float64) float64 // as in column
}

// An Outcome is a target with its value.
type Outcome struct {
	Target
	Value float64 // NaN: not measured in this run
}

func (t Target) measured(f Figures) Outcome {
	value := f.of(t.Figure, t.of)
	if t.Versus != (Key{}) {
		value = f.ratio(t.Figure, t.Versus)
	}
	if t.Scale != 0 {
		value *= t.Scale
	}
	return Outcome{t, value}
}

// Verdict is one word for people.
func (o Outcome) Verdict() string {
	switch {
	case math.IsNaN(o.Value):
		return "not measured"
	case math.IsNaN(o.Bound):
		return "info"
	case o.AtMost && o.Value <= o.Bound, !o.AtMost && o.Value >= o.Bound:
		return "pass"
	}
	return "FAIL"
}

// targetTable shows the targets that this run measured.
func targetTable(r *Report) Table {
	t := Table{Title: "Targets (Stint CL.THROTTLE)", Words: 1, Header: []string{"what", "measured", "target", "verdict"},
		InDocs: func(row []string) bool { return row[len(row)-1] != "pass" }}
	for _, o := range r.outcomes() {
		if math.IsNaN(o.Value) || math.IsNaN(o.Bound) {
			continue
		}
		sign := "≥ "
		if o.AtMost {
			sign = "≤ "
		}
		verdict := o.Verdict()
		if r.OtherWork.IsTooMuch() {
			verdict = "busy"
		}
		t.Rows = append(t.Rows, []string{o.Name, formatUnit(o.Value, o.Unit), sign + strconv.FormatFloat(o.Bound, 'f', -1, 64) + " " + o.Unit, verdict})
	}
	return t
}

// compared is a target for a ratio of two series under the same load.
func compared(name, metric string, c Cell, a, b string, bound float64, atMost bool) Target {
	return Target{Name: fmt.Sprintf("%s, P=%d", name, c.pipeline), Unit: "x", Bound: bound, AtMost: atMost,
		Figure: Key{a, c.ID(), metric}, Versus: Key{b, c.ID(), metric}}
}
