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
	row := func(begin string) []string {
		t.Helper()
		for _, line := range readPage(t, "docs/performance.md").lines {
			if strings.HasPrefix(line, begin) {
				var cells []string
				for _, cell := range strings.Split(strings.TrimPrefix(line, "|"), "|") {
					cells = append(cells, strings.TrimSpace(cell))
				}
				return cells
			}
		}
		t.Fatalf("docs/performance.md has no row %q", begin)
		return nil
	}
	stint := row("| Stint, three nodes |")
	redis := row("| Redis and Sentinel, down-after 1 s |")
	slow := row("| Redis and Sentinel, down-after 30 s")
	native := row("| Redis Lua GCRA |") // CL.THROTTLE as a multiple of it
	var times [2]float64
	for i := range times {
		if _, err := fmt.Sscanf(native[1+i], "%g x", &times[i]); err != nil {
			t.Fatal(native, err)
		}
	}
	beyond := redis[2][:len(redis[2])-3] + "," + redis[2][len(redis[2])-3:]
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
		fmt.Sprintf("%.0f to %.0f %% of it with pipelines of 16 requests, and %.0f to %.0f %% with one",
			100*slices.Min(pipelined), 100*slices.Max(pipelined), 100*slices.Min(alone), 100*slices.Max(alone)),
		fmt.Sprintf("`CL.THROTTLE` takes %.0f and %.0f %%", 100*times[1], 100*times[0]),
	} {
		if !strings.Contains(readme, sentence) {
			t.Errorf("README.md lacks %q", sentence)
		}
	}
}
