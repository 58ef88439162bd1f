package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The picture of CPU per request, in pixels.
const (
	cpuWidth               = 560.0
	cpuLeft, cpuBar        = 150.0, 210.0 // of the bars, and the longest one
	cpuTop, cpuRow, cpuGap = 66.0, 22.0, 38.0
)

// cpuTable is the page and the heading of the table that the picture is drawn from, and cpuWorkload its first rows.
const (
	cpuTable    = "performance-table.md"
	cpuHeading  = "## Server CPU per request, µs"
	cpuWorkload = "100k random keys, granted"
)

// cpuBars are the rows of the table that are drawn, with their names in the picture.
var cpuBars = []struct{ row, name, class string }{
	{"Redis Lua GCRA", "Redis + Lua", "other"},
	{"redis-cell-0.2.2 CL.THROTTLE", "redis-cell", "other"},
	{"Stint CL.THROTTLE", "Stint", "stint"},
	{"Redis PING", "Redis, only PING", "floor"},
}

// cpuStyle has the colours of a light page, and of a dark one.
const cpuStyle = `<style>
text { font: 13px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.name { font-weight: 600 }
.ground { fill: #ffffff }
.other { fill: #818b98 }
.stint { fill: #0969da }
.floor { fill: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.ground { fill: #0d1117 }
.other { fill: #656c76 }
.stint { fill: #58a6ff }
.floor { fill: #3d444d }
}
</style>
`

// cpuFigures reads the table: the pipelines of its header, and the microseconds of each row of the workload.
func cpuFigures(page string) (pipelines []string, micros map[string][]float64, err error) {
	_, table, found := strings.Cut(page, cpuHeading+"\n")
	if !found {
		return nil, nil, fmt.Errorf("%s has no heading %q", cpuTable, cpuHeading)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	micros = map[string][]float64{}
	workload := ""
	for line := range strings.Lines(table) {
		var cells []string
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		switch {
		case len(cells) < 3 || strings.HasPrefix(cells[0], "---"):
			continue
		case pipelines == nil:
			pipelines = cells[2:]
			continue
		case cells[0] != "":
			workload = cells[0]
		}
		if workload != cpuWorkload {
			continue
		}
		for _, cell := range cells[2:] {
			figure, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("%s, %s: %w", cpuTable, cells[1], err)
			}
			micros[cells[1]] = append(micros[cells[1]], figure)
		}
	}
	return pipelines, micros, nil
}

// cpuChart draws CPU per request, and the requests that one core could serve, at each pipeline.
func cpuChart(folder string) ([]byte, error) {
	page, err := os.ReadFile(filepath.Join(folder, cpuTable))
	if err != nil {
		return nil, err
	}
	pipelines, micros, err := cpuFigures(string(page))
	if err != nil {
		return nil, err
	}
	bars := slices.DeleteFunc(slices.Clone(cpuBars), func(b struct{ row, name, class string }) bool { return micros[b.row] == nil })
	panel := cpuRow*float64(len(bars)) + cpuGap
	height := cpuTop + panel*float64(len(pipelines))
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img">`+"\n", cpuWidth, height)
	fmt.Fprintf(&out, "<title>CPU of the server per decision, and the decisions a second that one core could serve</title>\n%s", cpuStyle)
	fmt.Fprintf(&out, `<rect class="ground" width="%g" height="%g" rx="8"/>`+"\n", cpuWidth, height)
	text(&out, 12, 24, "title", "CPU of the server per decision")
	text(&out, 12, 44, "detail", "and the decisions a second that one core could serve; 100,000 random keys")
	for i, p := range pipelines {
		top := cpuTop + panel*float64(i)
		longest := 0.0
		for _, b := range bars {
			longest = max(longest, micros[b.row][i])
		}
		size, _ := strings.CutPrefix(p, "P=")
		label := size + " requests at a time on each of 50 connections"
		if size == "1" {
			label = "one request at a time on each of 50 connections"
		}
		text(&out, 12, top+10, "name", label)
		for j, b := range bars {
			y, figure := top+20+cpuRow*float64(j), micros[b.row][i]
			text(&out, 12, y+13, "row", b.name)
			fmt.Fprintf(&out, `<rect class="%s" x="%g" y="%g" width="%.1f" height="%g"/>`+"\n", b.class, cpuLeft, y, cpuBar*figure/longest, cpuRow-5)
			text(&out, cpuLeft+float64(cpuBar*figure/longest)+8, y+13, "figure", fmt.Sprintf("%.3g µs, %s/s", figure, thousands(1e6/figure)))
		}
	}
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// thousands writes a number to two digits, such as 120,000 or 2.3 million.
func thousands(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2g million", n/1e6)
	case n >= 1e5:
		return fmt.Sprintf("%.0f0,000", n/1e4)
	}
	return fmt.Sprintf("%.0f,000", n/1e3)
}
