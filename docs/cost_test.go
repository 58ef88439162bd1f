package docs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

//go:generate go test -run TestCost -update

// costRows are the commands whose CPU docs/cost.md states, by their names in docs/performance.md.
var costRows = []string{"Redis Lua GCRA", "redis-cell 0.5.0 CL.THROTTLE", "Stint Lua GCRA", "Stint CL.THROTTLE", "Stint RL.CHECK of 2 limits", "Stint PING"}

// quoted are figures in the text of pages, and as docs/performance.md has them.
var quoted = map[string]map[string]string{
	"docs/cost.md":       {"2.83 times": "2.83 x", "6.05 times": "6.05 x", "73.4 bytes": "73.4", "51.9 among": "51.9", "146 bytes": "| 146 |", "redis-cell 177": "| 177 |"},
	"docs/comparison.md": {"7,552": "7552", "6,040": "6,040", "84,600": "84,600", "0.84 times": "0.841 x"},
}

// TestCost holds the table of docs/cost.md, and figures that pages quote, to docs/performance.md. With -update it writes
// the table.
func TestCost(t *testing.T) {
	performance, err := os.ReadFile("performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := strings.Cut(string(performance), "### Server CPU per request, µs\n")
	all, _, _ = strings.Cut(all, "\n### ")
	table := "| server and command | one at a time | 16 | 64 |\n|---|---:|---:|---:|\n"
	for _, name := range costRows {
		_, row, found := strings.Cut(all, "| "+name+" |")
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Fatalf("docs/performance.md has no %s", name)
		}
		table += "| " + name + " |"
		for cell := range strings.SplitSeq(strings.TrimSuffix(row, "|"), "|") {
			micros, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			if err != nil {
				t.Fatal(err)
			}
			table += fmt.Sprintf(" %.2g |", micros*1e9/1e6/3600)
		}
		table += "\n"
	}
	for page, figures := range quoted {
		text := strings.Join(readPage(t, page).lines, " ")
		for figure, there := range figures {
			if !strings.Contains(text, figure) || !strings.Contains(string(performance), there) {
				t.Errorf("%s does not say %q, or docs/performance.md does not say %q", page, figure, there)
			}
		}
	}
	page, err := os.ReadFile("cost.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), "| server and command |")
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("docs/cost.md has no table")
	}
	want := before + table + "\n" + after
	if *update {
		if err := os.WriteFile("cost.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Error("docs/cost.md does not match docs/performance.md: run go generate ./docs")
	}
}
