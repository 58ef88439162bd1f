package docs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCPUPicture ties the figures in the picture to the first rows of the table beside it: go run -C bench . -docs
// writes both.
func TestCPUPicture(t *testing.T) {
	picture, err := os.ReadFile("cpu.svg")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(table), "### Server CPU per request, µs\n")
	first, _, _ = strings.Cut(first, "\n### ")
	for _, name := range []string{"Redis Lua GCRA", "Redis PING", "Stint Lua GCRA", "Stint CL.THROTTLE"} {
		_, row, found := strings.Cut(first, "| "+name+" |")
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(strings.Trim(row, "| "), "|")
		if !found || len(cells) != 3 {
			t.Fatalf("%s has the cells %q", name, cells)
		}
		for _, cell := range cells {
			micros, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			if want := fmt.Sprintf(">%.3g µs, ", micros); err != nil || !strings.Contains(string(picture), want) {
				t.Errorf("%s: the picture lacks %q, %v", name, want, err)
			}
		}
	}
}
