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

// TestCost holds the table of docs/cost.md to the figures of docs/performance.md. With -update it writes the table.
func TestCost(t *testing.T) {
	figures, err := os.ReadFile("performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := strings.Cut(string(figures), "### Server CPU per request, µs\n")
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
