package main

import (
	"strings"
	"testing"
)

func at(w Workload, pipeline int) string { return Cell{w, pipeline}.ID() }

// targetSteps are figures of each part, and what its targets make of them. A ratio is taken within each round.
var targetSteps = map[string]struct {
	figures Figures
	want    map[string]string // the figure and the verdict of each target that was measured
}{
	"persistence": {Figures{
		{keepInterval, at(manyKeys, 1), throughput}: {96}, {memoryOnly, at(manyKeys, 1), throughput}: {100},
		{keepAlways, at(manyKeys, 1), throughput}: {30}, {redisSyncsEach, at(manyKeys, 1), throughput}: {20},
		{onDisk, "", hotJournal}: {0.01}, {onDisk, "", hotAOF}: {100}, {onDisk, "", recoveryRate}: {4e6}, {onDisk, "", snapshotBytes}: {30}, {onDisk, "", addedP99}: {2.9},
	}, map[string]string{
		"interval vs memory only, throughput, P=1":                              "0.960 met",
		"recovery, million keys per second":                                     "4.00 met",
		"always vs Redis + Lua with appendfsync always, throughput, P=1":        "1.50 25 % below: both sync once for all connections that are ready",
		"journal vs Redis's append-only file, bytes per request on one hot key": "0.100 met",
		"snapshot per 16-byte key":                                              "30.0 met",
		"p99 of decisions added while a snapshot is written":                    "2.90 45 % above; the cause is not known",
	}},
	"scripts": {Figures{
		{stintLua, at(manyKeys, 1), cpu}: {6}, {lua, at(manyKeys, 1), cpu}: {10}, {stintLua, at(manyKeys, 16), cpu}: {3}, {lua, at(manyKeys, 16), cpu}: {6},
		{"stint Lua counter", at(manyKeys, 16), cpu}: {1}, {"redis Lua counter", at(manyKeys, 16), cpu}: {2},
		{"stint-cluster Lua token bucket", at(manyKeys, 16), cpu}: {5}, {clusterLogged, at(manyKeys, 16), cpu}: {4},
	}, map[string]string{
		"CPU of Lua GCRA vs Redis, P=1":                                                "0.600 met",
		"CPU of Lua GCRA vs Redis, P=16":                                               "0.500 67 % above; the cause is not known",
		"CPU of Lua counter vs Redis, P=16":                                            "0.500 met",
		"three nodes, CPU of Lua token bucket vs CL.THROTTLE of a STRICT policy, P=16": "1.25 met",
	}},
	"cluster": {func() Figures {
		f := Figures{
			{clusterThrottle, at(manyKeys, 16), throughput}: {330}, {lua, at(manyKeys, 16), throughput}: {100},
			{clusterThrottle, at(manyKeys, 16), cpu}: {5}, {throttle, at(manyKeys, 16), cpu}: {1},
			{clusterThrottle, at(crowd, 1), throughput}: {30}, {lua, at(crowd, 1), throughput}: {50}, {clusterThrottle, at(crowd, 1), cpu}: {24}, {throttle, at(crowd, 1), cpu}: {10},
			{clusterThrottle, atHalf, p50}: {1, 2, 3}, {clusterThrottle, atHalf, p99}: {12, 14, 13}, {clusterThrottle, slowDisk, throughput}: {150_000},
		}
		for _, noise := range []float64{0, 5, 2000} {
			f.addEntries(100, entryLoad{micros: 10 + 160 + noise, entries: 1}, entryLoad{micros: 10 + 160./50, entries: 1. / 50})
		}
		return f
	}(), map[string]string{
		"three nodes, throughput vs one Redis + Lua in memory, 50 connections, P=16": "3.30 met",
		"three nodes, throughput vs one Redis + Lua in memory, 200 connections, P=1": "0.600 40 % below: " + nodesShareCores,
		"three nodes, CPU per grant vs one Stint in memory, 50 connections, P=16":    "5.00 4 % above: " + entriesAreDear,
		"three nodes, CPU per grant vs one Stint in memory, 200 connections, P=1":    "2.40 met",
		"three nodes at half of their P=1 throughput, p50":                           "2.00 met",
		"three nodes at half of their P=1 throughput, p99":                           "13.0 30 % above: " + entriesAreDear,
		"three nodes, CPU of an entry of the log":                                    "165 10 % above: " + entriesAreDear,
		"three nodes, every fsync 5ms longer, 200 connections, P=16":                 "150000 met",
	}},
	"reservations": {func() Figures {
		f := Figures{{record, "", memoryUsage}: {152}, {record, "", bytesEach}: {181}}
		for _, round := range []float64{1, 10, 1} {
			micros := map[string]float64{}
			for i, load := range reservationLoads {
				micros[load.name] = round * (1 + float64(i))
			}
			f.addReservations(micros)
		}
		return f
	}(), map[string]string{
		"CPU of a reservation and its settlement vs TB.ACQUIRE, P=16": "7.00 180 % above: " + recordsOfReservations,
		"CPU of the same by a policy, P=16":                           "11.0 340 % above: " + recordsOfReservations,
		"a reservation with three limits, MEMORY USAGE":               "152 met",
	}},
	"doors": {Figures{
		{doorCheck, fullLoad, throughput}: {40, 400}, {doorNothing, fullLoad, throughput}: {50, 500},
		{doorRLS, fullLoad, throughput}: {60}, {doorRPCNothing, fullLoad, throughput}: {100},
	}, map[string]string{
		"/v1/check vs a handler that only answers 200, throughput":        "0.800 met",
		"Envoy's rate limit service vs an empty gRPC handler, throughput": "0.600 14 % below; the cause is not known",
	}},
	"ahead": {Figures{
		{nodesAhead, at(hotEverywhere, 1), throughput}: {90, 9, 99}, {throttle, at(hotEverywhere, 1), throughput}: {100, 10, 100},
		{nodesAhead, at(hotEverywhere, 16), throughput}: {86}, {throttle, at(hotEverywhere, 16), throughput}: {100},
		{nodesAhead, at(underQuarter, 16), throughput}: {50}, {throttle, at(underQuarter, 16), throughput}: {100},
		{nodesAhead, atPart, p50}: {1, 4}, {throttle, atPart, p50}: {1, 4}, {nodesAhead, atPart, p99}: {6, 6}, {throttle, atPart, p99}: {4, 4},
	}, map[string]string{
		"three nodes ahead, one hot key at all nodes, granted, vs one Stint, P=1":                 "0.900 5 % below: " + moreProcesses,
		"three nodes ahead, one hot key at all nodes, granted, vs one Stint, P=16":                "0.860 met",
		"three nodes ahead, 100k random keys under a quarter of their limits, vs one Stint, P=16": "0.500 41 % below: " + moreProcesses,
		"three nodes ahead, one hot key at half load, p50 vs one Stint":                           "1.00 met",
		"three nodes ahead, one hot key at half load, p99 vs one Stint":                           "1.50 25 % above: " + moreProcesses,
	}},
	"links": {Figures{
		{nodesFar, at(hotEverywhere, 16), throughput}: {80}, {nodesAhead, at(hotEverywhere, 16), throughput}: {100}, {nodesFar, atPart, p50}: {0.4},
	}, map[string]string{
		"messages between nodes 10ms later, one hot key, p50 at a quarter of the load": "0.400 met",
		"messages between nodes 10ms later, one hot key, throughput vs without, P=16":  "0.800 11 % below; the cause is not known",
	}},
	"bucket": {func() Figures {
		f := Figures{}
		f.addBucket(threeNodes, askedLoad(6_000), Sample{Requests: 12_000, Granted: 12_000, Seconds: 2}, 60)
		f.addBucket(threeNodes, askedLoad(30_000), Sample{Requests: 60_000, Granted: 29_700, Seconds: 2}, 5_940) // an ideal bucket grants 30,000
		f.addBucket(oneServer, askedLoad(30_000), Sample{Requests: 60_000, Granted: 30_000, Seconds: 2}, 0)
		return f
	}(), map[string]string{
		"operations in the log, one bucket of 10000/s, 6000/s asked":  "5.00 met",
		"operations in the log, one bucket of 10000/s, 30000/s asked": "200 33 % above; the cause is not known",
		"admitted, of the grants of one Stint, 30000/s asked":         "99.0 1 % below; the cause is not known",
	}},
	"sidecar": {Figures{{besideManyKeys, "", residentOwn}: {20}},
		map[string]string{"a sidecar's own memory with 10,000 keys": "20.0 33 % above: " + manyStacks}},
	"market": {Figures{{threeNodes, "after", admitted}: {0.98}, {threeLevels, "after", admitted}: {0.9}, {threeLevels, "after", p99}: {7}, {"", "", peak}: {28_500}},
		map[string]string{
			"a market opens, admitted of allowed":             "98.0 met",
			"a market opens at sidecars, admitted of allowed": "90.0 5 % below; the cause is not known",
			"a market opens at sidecars, p99":                 "7.00 met",
		}},
	"many-keys": {Figures{{veryMany, "", cpu}: {1.1}, {fewKeys, "", cpu}: {1}, {veryMany, "", bytesEach}: {65}, {veryMany, "", gcPause}: {0.5}},
		map[string]string{"CPU per request, many keys vs few, P=16": "1.10 met", "memory per 16-byte key, many keys": "65.0 2 % above; the cause is not known", "longest GC pause, many keys": "0.500 met"}},
}

func TestTargets(t *testing.T) {
	for part, step := range targetSteps {
		r := &Report{Env: Env{Settings: Settings{Keys: 1000}}, Figures: map[string]Figures{part: step.figures}}
		for _, o := range r.outcomes("") {
			got, want := formatFigure(o.Value)+" "+o.Verdict(), step.want[o.Name]
			if want == "" {
				want = "– not measured"
			}
			if got != want {
				t.Errorf("%s, %s: %q, want %q", part, o.Name, got, want)
			}
			delete(step.want, o.Name)
		}
		for name := range step.want {
			t.Errorf("%s has no target %q", part, name)
		}
		if text := markdown(r); strings.Contains(text, "NaN") || strings.Count(text, "\n## ") < 2 {
			t.Errorf("%s is shown as\n%s", part, text)
		}
	}
}

// The targets name series and loads by their IDs; a renamed row must not turn a target into "not measured" for ever.
func TestTargetsNameExistingSeries(t *testing.T) {
	e := Env{Servers: append(serverTable("x"), Server{Name: "valkey", Commands: []Command{setCommand, incrCommand}},
		Server{Name: "redis-cell", Commands: []Command{{Name: "CL.THROTTLE"}}})}
	series := map[string][]Series{
		onlyServers: seriesOf(e.Servers), "scripts": append(seriesOf(scriptServers(e)), seriesOf(scriptNodes(e))...), "persistence": seriesOf(diskServers("x")), "cluster": seriesOf(clusterServers(e)),
		"ahead": seriesOf(besideOne.servers(e)), "links": seriesOf(overSlowLinks.servers(e)),
	}
	for _, p := range parts {
		if series[p.name] == nil || p.targets == nil {
			continue
		}
		ids := map[string]bool{onDisk: true, "": true}
		for _, s := range series[p.name] {
			ids[s.ID()] = true
		}
		for _, target := range p.targets(e) {
			if !ids[target.Figure.Series] || !ids[target.Versus.Series] {
				t.Errorf("%s: there is no series %q or %q", target.Name, target.Figure.Series, target.Versus.Series)
			}
		}
	}
}

// Parts that take minutes are measured only by name, and three nodes not with -quick.
func TestPartsByName(t *testing.T) {
	for _, p := range parts[1:] {
		if p.isMeasured(Env{}) == p.named || !p.isMeasured(Env{Settings: Settings{Quick: true, Only: []string{p.name}}}) || p.isMeasured(Env{Settings: Settings{Only: []string{"stint"}}}) {
			t.Error(p.name)
		}
		if quick := p.isMeasured(Env{Settings: Settings{Quick: true}}); quick != (!p.named && p.name != onlyCluster) {
			t.Errorf("%s with -quick: %t", p.name, quick)
		}
	}
}

// The server parts of -only are the parts whose servers are named.
func TestOnlyPersistence(t *testing.T) {
	for only, want := range map[string]struct {
		servers int
		disk    bool
	}{"": {len(serverTable("x")), true}, "persistence": {0, true}, "stint": {1, false}, "stint,persistence": {1, true}, "servers": {len(serverTable("x")), false}} {
		var e Env
		if only != "" {
			e.Only = strings.Split(only, ",")
		}
		var err error
		e.Servers, err = e.pick(serverTable("x"))
		if err != nil || len(e.Servers) != want.servers || parts[0].isMeasured(e) != (want.servers > 0) || parts[2].isMeasured(e) != want.disk {
			t.Errorf("-only %s: %d servers, %t, %v", only, len(e.Servers), parts[2].isMeasured(e), err)
		}
	}
}
