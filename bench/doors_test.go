package main

import (
	"strings"
	"testing"
)

// The targets are held to the median of the ratios within rounds, and every load has a row.
func TestDoorsReport(t *testing.T) {
	r := sampleReport()
	r.Doors = DoorsReport{
		doorNothing:    {{PerSecond: 100}, {PerSecond: 1000}, {PerSecond: 10}},
		doorCheck:      {{PerSecond: 90, P99: 7}, {PerSecond: 790, P99: 8}, {PerSecond: 9, P99: 9}},
		doorRPCNothing: {{PerSecond: 100}},
		doorRLS:        {{PerSecond: 69}},
	}
	text := markdown(r)
	for _, want := range []string{
		"| " + doorCheck + " | 90 | 0.000 | 0.000, 8.00 |",
		"only answers 200, throughput | 0.900 x | ≥ 0.8 x | pass |",
		"empty gRPC handler, throughput | 0.690 x | ≥ 0.7 x | FAIL |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}
