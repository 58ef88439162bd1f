package main

import (
	"strings"
	"testing"
)

// TestChart holds the chart of a release to start the published image, and before that the image of this machine.
func TestChart(t *testing.T) {
	for isReleased, image := range map[bool]string{false: "stint", true: "ghcr.io/stintdb/stint"} {
		r := newTestRelease(t)
		r.isReleased = isReleased
		if err := r.chart(nil); err != nil {
			t.Fatal(err)
		}
		values := output(t, "tar", "-xzOf", r.path("stint-chart_0.0.9.tgz"), "stint/values.yaml")
		if !strings.Contains(values, "\n  repository: "+image+"\n") {
			t.Errorf("released is %t, and it does not start %s", isReleased, image)
		}
	}
}
