package main

import (
	"strings"
	"testing"
	"time"
)

func TestRecoveredIn(t *testing.T) {
	const log = `time=2026-01-02T03:04:05Z level=INFO msg=recovered states=7 keys=5 snapshot=snapshot-1.stint journals=1 took=1.5s
ready: accepting connections on 127.0.0.1:1`
	if keys, took, err := recoveredIn(log); keys != 5 || took != 1500*time.Millisecond || err != nil {
		t.Errorf("%v keys in %v, %v", keys, took, err)
	}
	_, _, err := recoveredIn("ready: accepting")
	wantError(t, err, "has no line about recovery")
}

func TestOnlyPersistence(t *testing.T) {
	for only, want := range map[string]struct {
		servers int
		disk    bool
	}{"": {len(serverTable("x")), true}, "persistence": {0, true}, "stint": {1, false}, "stint,persistence": {1, true}} {
		var s Settings
		if only != "" {
			s.Only = strings.Split(only, ",")
		}
		servers, err := s.pick(serverTable("x"))
		if err != nil || len(servers) != want.servers || s.measures(onlyPersistence) != want.disk {
			t.Errorf("-only %s: %d servers, %t, %v", only, len(servers), s.measures(onlyPersistence), err)
		}
	}
}

func TestDiskTargets(t *testing.T) {
	r := &Report{Disk: &DiskReport{
		Series: seriesOf(diskServers("x")),
		Results: Results{
			{keepInterval, "many", 1}: {{PerSecond: 96}}, {memoryOnly, "many", 1}: {{PerSecond: 100}},
			{keepAlways, "many", 1}: {{PerSecond: 30}}, {redisSyncsEach, "many", 1}: {{PerSecond: 20}},
		},
		Hot:       []hotSample{{1e6, 0.01, 100}},
		Recovered: []recoverySample{{4e6, 30, 1}},
		Pauses:    []pauseSample{{0.1, 3}},
	}}
	got := verdicts(r)
	for name, want := range map[string]string{
		"interval vs memory only, throughput, P=1":                              "0.960 pass",
		"interval vs memory only, throughput, P=16":                             "– not measured",
		"always vs Redis + Lua with appendfsync always, throughput, P=1":        "1.50 FAIL",
		"journal vs Redis's append-only file, bytes per request on one hot key": "0.100 pass",
		"recovery, million keys per second":                                     "4.00 pass",
		"snapshot per 16-byte key":                                              "30.0 pass",
		"p99 of decisions added while a snapshot is written":                    "2.90 FAIL",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}

// verdicts returns the outcome of each target of a report: the figure and the verdict.
func verdicts(r *Report) map[string]string {
	got := map[string]string{}
	for _, o := range outcomes(r) {
		got[o.Name] = formatFigure(o.Value) + " " + o.Verdict()
	}
	return got
}
