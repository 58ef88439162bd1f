package main

import "testing"

func TestClusterTargets(t *testing.T) {
	r := &Report{Cluster: &ClusterReport{
		Series: seriesOf(clusterServers("x")),
		Results: Results{
			{clusterThrottle, "many", 16}: {{PerSecond: 330}}, {lua, "many", 16}: {{PerSecond: 100}}, {throttle, "many", 16}: {{PerSecond: 1000}},
			{clusterThrottle, "crowd", 1}: {{PerSecond: 30}}, {lua, "crowd", 1}: {{PerSecond: 50}},
			{clusterThrottle, "denied", 16}: {{PerSecond: 90}},
		},
		Steady: []steadyLatency{{P50: 1, P99: 12}, {P50: 2, P99: 14}, {P50: 3, P99: 13}},
		Slow:   []float64{150_000},
	}}
	got := verdicts(r)
	for name, want := range map[string]string{
		"three nodes, granted, vs one Redis + Lua in memory, 50 connections, P=16": "3.30 pass",
		"three nodes, granted, vs one Redis + Lua in memory, 200 connections, P=1": "0.600 FAIL",
		"three nodes, all denied, vs one Stint in memory, 50 connections, P=16":    "– not measured",
		"three nodes at half of their P=1 throughput, p50":                         "2.00 pass",
		"three nodes at half of their P=1 throughput, p99":                         "13.0 FAIL",
		"three nodes, every fsync 5ms longer, 200 connections, P=16":               "150000 pass",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s: not in this test", name)
	}
}
