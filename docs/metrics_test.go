package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/metrics"
)

var metricNames = regexp.MustCompile("`(stint_[a-z_]+)\\b")

// TestMetricsExist finds metrics in the handbook that the server does not have.
func TestMetricsExist(t *testing.T) {
	known, found := map[string]bool{}, 0
	for _, row := range metrics.Table {
		known[row.Name] = true
	}
	for _, p := range handbookPages(t) {
		for i, line := range p.lines {
			for _, name := range metricNames.FindAllStringSubmatch(line, -1) {
				found++
				if !known[name[1]] && !strings.HasSuffix(name[1], "_") {
					t.Errorf("%s:%d: there is no metric %s", p.path, i+1, name[1])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no page names a metric")
	}
}
