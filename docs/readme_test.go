package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReadmeFigures ties the figures at the top of README.md to the tables of the measurements.
func TestReadmeFigures(t *testing.T) {
	readme := strings.Join(readPage(t, "README.md").lines, " ")
	row := func(page, heading, begin string) []string {
		t.Helper()
		under := false
		for _, line := range readPage(t, page).lines {
			if strings.HasPrefix(line, "#") {
				under = strings.Contains(line, heading)
			}
			if under && strings.HasPrefix(line, begin) {
				var cells []string
				for _, cell := range strings.Split(strings.TrimPrefix(line, "|"), "|") {
					cells = append(cells, strings.TrimSpace(cell))
				}
				return cells
			}
		}
		t.Fatalf("%s has no row %q under %q", page, begin, heading)
		return nil
	}
	stint := row("docs/performance.md", "", "| Stint, three nodes |")
	redis := row("docs/performance.md", "", "| Redis and Sentinel, down-after 1 s |")
	slow := row("docs/performance.md", "", "| Redis and Sentinel, down-after 30 s")
	beyond := redis[2][:len(redis[2])-3] + "," + redis[2][len(redis[2])-3:]
	lua := row("docs/performance.md", "CPU", "| 100k random keys, granted | Redis Lua GCRA |")
	own := row("docs/performance.md", "CPU", "|  | Stint CL.THROTTLE |")
	var alone, pipelined []float64 // the ratios of the scripts' rows
	_, scripts, _ := strings.Cut(strings.Join(readPage(t, "docs/performance.md").lines, "\n"), "### Scripts: server CPU per request")
	scripts, _, _ = strings.Cut(scripts, "\n#")
	for line := range strings.Lines(scripts) {
		if !strings.HasPrefix(line, "|  | Stint |") {
			continue
		}
		var micros, ratios [3]float64
		if _, err := fmt.Sscanf(line, "|  | Stint | %g | %g | %g | %g x | %g x | %g x |",
			&micros[0], &micros[1], &micros[2], &ratios[0], &ratios[1], &ratios[2]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		alone, pipelined = append(alone, ratios[0]), append(pipelined, ratios[1])
	}
	if len(alone) != 4 {
		t.Fatalf("docs/performance.md has %d scripts, and README.md speaks of four", len(alone))
	}
	for _, sentence := range []string{
		"killed the primary " + stint[1] + " times",
		"granted " + stint[2] + " requests beyond the limit, and did not answer for " + stint[5] + " s (median; at most " + stint[7] + " s)",
		"granted " + beyond + " beyond it, and did not answer for " + redis[5] + " s (median; at most " + redis[7] + " s)",
		"default of 30 s, it granted " + slow[2] + ", and did not answer for " + slow[5] + " s",
		fmt.Sprintf("take %.2f to %.2f of the CPU that they take on Redis; sent one at a time, they take %.2f to %.2f",
			slices.Min(pipelined), slices.Max(pipelined), slices.Min(alone), slices.Max(alone)),
		"`CL.THROTTLE` takes " + own[3] + " µs instead of " + lua[3] + " for such a script on Redis; one at a time, it takes " + own[2] + " instead of " + lua[2],
	} {
		if !strings.Contains(readme, sentence) {
			t.Errorf("README.md lacks %q", sentence)
		}
	}
}
