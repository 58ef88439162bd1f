package main

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// The series with targets, by Series.ID.
const (
	lua       = "redis Lua GCRA"
	throttle  = "stint CL.THROTTLE"
	stintLua  = "stint Lua GCRA"
	oneLoop   = "stint-one-loop CL.THROTTLE"
	twoLoops  = "stint-two-loops CL.THROTTLE"
	acquire   = "stint TB.ACQUIRE"
	check     = "stint RL.CHECK of 2 limits"
	redisPing = "redis PING"
	redisCell = "redis-cell CL.THROTTLE"
	redisSet  = "redis SET"
	valkeySet = "valkey SET"
	valkeyInc = "valkey INCR"
)

// besideThrottle are the series that readers compare with, and with which the first table of all does.
var besideThrottle = []string{valkeySet, valkeyInc, redisSet, redisPing, redisCell, lua}

// perCore is derived from cpu.
const perCore = "requests/s of a core"

// measureServers measures the servers: first the load on servers that all run side by
// side, then memory, in separate processes.
func measureServers(ctx context.Context, e Env, f Figures) error {
	s, stop, err := startSideBySide(ctx, e, e.Servers, "servers side by side", cellsOf(pipelines, workloads...), f)
	if err != nil {
		return err
	}
	defer stop()
	s.generators = e.Generators
	if err := s.run(ctx); err != nil {
		return err
	}
	for key, values := range f {
		if key.Metric == cpu {
			for _, micros := range values {
				f.add(key.Series, key.Load, perCore, 1e6/micros)
			}
		}
	}
	stop()
	return weighAll(ctx, e, s.series, f)
}

const cpuTitle = "Server CPU per request, µs"

// ratioTable compares a decision with other commands.
func ratioTable(f Figures, series []Series) Table {
	t := Table{Title: "Server CPU of a CL.THROTTLE with one event loop, as a multiple of other commands", Words: 1, Header: []string{"of"},
		InDocs: allRows}
	for _, p := range pipelines {
		t.Header = append(t.Header, fmt.Sprintf("P=%d", p))
	}
	for _, id := range besideThrottle {
		i := slices.IndexFunc(series, func(s Series) bool { return s.ID() == id })
		if i < 0 {
			continue
		}
		row, measured := []string{series[i].Title()}, false
		for _, p := range pipelines {
			load := Cell{manyKeys, p}.ID()
			ratio := f.ratio(Key{oneLoop, load, cpu}, Key{id, load, cpu})
			row, measured = append(row, formatUnit(ratio, "x")), measured || !math.IsNaN(ratio)
		}
		if measured {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func serverTables(e Env, f Figures) (all []Table) {
	series := seriesOf(e.Servers)
	if ratios := ratioTable(f, series); len(ratios.Rows) > 0 {
		all = append(all, ratios)
	}
	var byWorkload, byServer []line
	for _, s := range series {
		byServer = append(byServer, line{[]string{s.Title()}, s.ID(), ""})
	}
	for _, w := range workloads {
		for _, s := range series {
			if s.runsIn(w) {
				byWorkload = append(byWorkload, line{[]string{w.Title, s.Title()}, s.ID(), w.Name})
			}
		}
	}
	for _, t := range []struct {
		title   string
		format  func(float64) string
		metrics []string
	}{
		{cpuTitle, formatFigure, []string{cpu}},
		{"Requests per second that one core could serve", formatCount, []string{perCore}},
		{"Throughput of redis-benchmark, requests per second", formatCount, []string{throughput}},
		{"Latency of a pipeline, p50 and p99, ms", formatFigure, []string{p50, p99}},
	} {
		var columns []column
		for _, p := range pipelines {
			columns = append(columns, column{header: fmt.Sprintf("P=%d", p), metrics: t.metrics, format: t.format, load: pipelineID(p)})
		}
		shown := f.table(t.title, "", []string{"workload", "server and command"}, byWorkload, columns...)
		if t.title == cpuTitle {
			shown.InDocs = func(row []string) bool { return row[0] == shown.Rows[0][0] }
			shown.Others = "of other workloads"
		}
		all = append(all, shown)
	}
	memory := f.table(fmt.Sprintf("Memory per key, %s keys of 16 bytes", formatCount(float64(e.Keys))),
		"Memory is the growth of VmRSS, divided by the number of keys. GC pause is the longest stop-the-world phase in the "+
			"Go runtime's trace, over all rounds, from start-up to the last key loaded.",
		[]string{"server and command"}, byServer, memoryColumns...)
	memory.InDocs = allRows
	return append(all, memory)
}

// memoryColumns have the longest pause of all rounds, because a median would not be the longest.
var memoryColumns = []column{
	summary("bytes per key", bytesEach, formatFigure, median), summary(gcPause, gcPause, formatFigure, most),
	summary(gcCycles, gcCycles, formatCount, sum), summary(gcLive, gcLive, formatCount, most),
}

// memoryJudgedFrom is the fewest keys at which memory per key is held to its target: with fewer, a server's fixed
// allocations count too much.
const memoryJudgedFrom = 1_000_000

// The causes of goals that are missed.
const (
	coldDecision  = "a PING costs as much as Redis's; the rest is the decision, 1.3 µs between system calls and 0.3 µs in a pipeline"
	mostlyCalls   = "two thirds of it are the pipeline's read and write"
	longerCommand = "five arguments and five integers in the reply, in place of three and one"
	loopsSleep    = "a loop with half of the connections sleeps more often"
	moreKeys      = "two keys are looked up"
	tablesGrow    = "tables grow in steps, and up to 48 MB of garbage may wait for a collection; of 100 million keys each takes 52 B"
)

func serverTargets(e Env) []Target {
	many := func(pipeline int) Cell { return Cell{manyKeys, pipeline} }
	vsSet := func(pipeline int, bound float64, cause string) Target {
		return compared("CPU, one loop, vs Valkey's SET", cpu, many(pipeline), oneLoop, valkeySet, bound, true).because(cause)
	}
	targets := []Target{
		vsSet(1, 1, coldDecision), vsSet(16, 0.65, mostlyCalls), vsSet(64, 0.55, longerCommand),
		compared("CPU, one loop, vs Redis's PING", cpu, many(1), oneLoop, redisPing, 1.1, true).because(coldDecision),
		compared("CPU vs redis-cell", cpu, many(1), throttle, redisCell, 1, true),
		compared("CPU vs redis-cell", cpu, many(16), throttle, redisCell, 0.25, true),
		compared("CPU of TB.ACQUIRE vs CL.THROTTLE", cpu, many(16), acquire, throttle, 1, true),
		compared("CPU of RL.CHECK of 2 limits vs CL.THROTTLE", cpu, many(16), check, throttle, 1.8, true).because(moreKeys),
	}
	for _, p := range pipelines {
		targets = append(targets,
			compared("CPU, two loops vs one", cpu, many(p), twoLoops, oneLoop, 1.1, true).because(loopsSleep),
			Target{Name: fmt.Sprintf("CPU, one hot key vs 100k keys, P=%d", p), Unit: "x", Bound: 1.1, AtMost: true,
				Figure: Key{throttle, Cell{hotKey, p}.ID(), cpu}, Versus: Key{throttle, many(p).ID(), cpu}})
	}
	memoryBound := 64.0
	if e.Keys < memoryJudgedFrom {
		memoryBound = math.NaN()
	}
	return append(targets,
		Target{Name: "memory per 16-byte key", Unit: "B", Bound: memoryBound, AtMost: true, Why: tablesGrow, Figure: Key{throttle, "", bytesEach}},
		Target{Name: "longest GC pause while loading the keys", Unit: "ms", Bound: 1, AtMost: true, Figure: Key{throttle, "", gcPause}, of: most},
	)
}
