package main

import (
	"slices"
	"strings"
	"testing"
)

// A ratio is taken within each round, and the load on all nodes is compared with the same load on one server.
func TestBesideOneTargets(t *testing.T) {
	r := &Report{Ahead: &AheadReport{
		comparison: besideOne, Series: seriesOf(besideOneServers("x", false)),
		Results: Results{
			{nodesAhead, "everywhere", 1}: {{PerSecond: 90}, {PerSecond: 9}, {PerSecond: 99}}, {throttle, "everywhere", 1}: {{PerSecond: 100}, {PerSecond: 10}, {PerSecond: 100}},
			{nodesAhead, "everywhere", 16}: {{PerSecond: 86}}, {throttle, "everywhere", 16}: {{PerSecond: 100}},
			{nodesAhead, "quarter", 16}: {{PerSecond: 50}}, {throttle, "quarter", 16}: {{PerSecond: 100}},
		},
		Steady: map[string][]steadyLatency{nodesAhead: {{1, 6}, {4, 6}}, throttle: {{1, 4}, {4, 4}}},
	}}
	got := verdicts(r)
	for name, want := range map[string]string{
		"three nodes ahead, one hot key at all nodes, granted, vs one Stint, P=1":                 "0.900 FAIL",
		"three nodes ahead, one hot key at all nodes, granted, vs one Stint, P=16":                "0.860 pass",
		"three nodes ahead, 100k random keys under a quarter of their limits, vs one Stint, P=1":  "– not measured",
		"three nodes ahead, 100k random keys under a quarter of their limits, vs one Stint, P=16": "0.500 FAIL",
		"three nodes ahead, one hot key at half load, p50 vs one Stint":                           "1.00 pass",
		"three nodes ahead, one hot key at half load, p99 vs one Stint":                           "1.50 FAIL",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s: not in this test", name)
	}
	text := markdown(r)
	for _, s := range r.Ahead.Series {
		if !strings.Contains(text, s.Title()) {
			t.Errorf("no row %q", s.Title())
		}
	}
}

func TestSlowLinkTargets(t *testing.T) {
	r := &Report{Links: &AheadReport{
		comparison: overSlowLinks, Series: seriesOf(slowLinkServers("x", false)),
		Results: Results{{nodesFar, "everywhere", 16}: {{PerSecond: 80}}, {nodesAhead, "everywhere", 16}: {{PerSecond: 100}}},
		Steady:  map[string][]steadyLatency{nodesFar: {{P50: 0.4}}},
	}}
	got := verdicts(r)
	want := map[string]string{
		"messages between nodes 10ms later, one hot key, p50 at a quarter of the load": "0.400 pass",
		"messages between nodes 10ms later, one hot key, throughput vs without, P=16":  "0.800 FAIL",
	}
	for name := range want {
		if got[name] != want[name] || len(got) != len(want) {
			t.Errorf("%s: %q, want %q, of %d", name, got[name], want[name], len(got))
		}
	}
}

// Loads at the same time last as long as the slowest.
func TestTogether(t *testing.T) {
	s := together([]Sample{{Requests: 100, PerSecond: 100, P50ms: 1, P99ms: 3}, {Requests: 100, PerSecond: 50, P50ms: 2, P99ms: 2}})
	if s.Requests != 200 || s.PerSecond != 100 || s.P50ms != 2 || s.P99ms != 3 {
		t.Errorf("%+v", s)
	}
}

func TestEntrances(t *testing.T) {
	if got := (&Instance{Addr: "a", Nodes: []string{"a", "b", "c"}}).entrances(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Error(got)
	}
	if got := (&Instance{Addr: "a"}).entrances(); !slices.Equal(got, []string{"a", "a", "a"}) {
		t.Error(got)
	}
}

// Parts that take minutes are measured only by name.
func TestNamedParts(t *testing.T) {
	for _, part := range namedParts {
		if (Settings{}).measures(part) || !(Settings{Only: []string{part}}).measures(part) {
			t.Error(part)
		}
	}
}
