package docs

import (
	"slices"
	"testing"
)

// TestPrometheusExample compares the configuration in the handbook with the file in docker/prometheus.
func TestPrometheusExample(t *testing.T) {
	file := readPage(t, "docker/prometheus/prometheus.yml")
	found := 0
	for _, p := range handbookPages(t) {
		for _, b := range p.blocks() {
			if b.language != "yaml" || p.path == envoyPage || p.path == gatewaysPage || p.path == "docs/kubernetes.md" { // whose values packaging's tests give to the chart
				continue
			}
			found++
			for _, line := range b.lines {
				if !slices.Contains(file.lines, line) {
					t.Errorf("%s:%d: %s has no line %q", p.path, b.line, file.path, line)
				}
			}
		}
	}
	if found == 0 {
		t.Error("there is no example")
	}
}
