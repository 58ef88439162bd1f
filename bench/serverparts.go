package main

import (
	"context"
	"fmt"
	"math"
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
	stintPing = "stint PING"
	redisCell = "redis-cell CL.THROTTLE" // given with -other redis-cell=…
)

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

func serverTables(e Env, f Figures) (all []Table) {
	series := seriesOf(e.Servers)
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
		{"Server CPU per request, µs", formatFigure, []string{cpu}},
		{"Requests per second that one core could serve", formatCount, []string{perCore}},
		{"Throughput of redis-benchmark, requests per second", formatCount, []string{throughput}},
		{"Latency of a pipeline, p50 and p99, ms", formatFigure, []string{p50, p99}},
	} {
		var columns []column
		for _, p := range pipelines {
			columns = append(columns, column{header: fmt.Sprintf("P=%d", p), metrics: t.metrics, format: t.format, load: pipelineID(p)})
		}
		all = append(all, f.table(t.title, "", []string{"workload", "server and command"}, byWorkload, columns...))
	}
	memory := f.table(fmt.Sprintf("Memory per key, %s keys of 16 bytes", formatCount(float64(e.Keys))),
		"Growth of VmRSS divided by the number of keys. GC pause: the longest stop-the-world phase in the "+
			"Go runtime's trace, over all rounds, from start-up to the last key loaded.",
		[]string{"server and command"}, byServer, memoryColumns...)
	all[0].InDocs = func(row []string) bool { return row[0] == all[0].Rows[0][0] } // the first workload
	memory.InDocs = func([]string) bool { return true }
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

func serverTargets(e Env) []Target {
	many := func(pipeline int) Cell { return Cell{manyKeys, pipeline} }
	targets := []Target{
		compared("CPU per TB.ACQUIRE vs CL.THROTTLE", cpu, many(16), acquire, throttle, 1, true),
		compared("CPU per RL.CHECK of 2 limits vs CL.THROTTLE", cpu, many(16), check, throttle, 1.8, true),
		compared("throughput vs Redis + Lua", throughput, many(1), throttle, lua, 2.2, false),
		compared("throughput vs Redis + Lua", throughput, many(16), throttle, lua, 12, false),
		compared("throughput vs Redis + Lua", throughput, many(64), throttle, lua, 15, false),
		compared("throughput vs Stint's own PING", throughput, many(1), throttle, stintPing, 0.95, false),
		compared("throughput vs Stint's own PING", throughput, many(64), throttle, stintPing, 0.5, false),
	}
	for _, p := range pipelines {
		bound := 1.2
		if p == 1 {
			bound = 1.05
		}
		targets = append(targets,
			compared("CPU per request, one loop, vs Redis PING", cpu, many(p), oneLoop, redisPing, bound, true),
			compared("CPU per request, two loops vs one", cpu, many(p), twoLoops, oneLoop, 1.08, true),
			Target{Name: fmt.Sprintf("one hot key vs 100k keys, throughput, P=%d", p), Unit: "x", Bound: 0.9,
				Figure: Key{throttle, Cell{hotKey, p}.ID(), throughput}, Versus: Key{throttle, many(p).ID(), throughput}})
	}
	memoryBound := 64.0
	if e.Keys < memoryJudgedFrom {
		memoryBound = math.NaN()
	}
	return append(targets,
		Target{Name: "memory per 16-byte key", Unit: "B", Bound: memoryBound, AtMost: true, Figure: Key{throttle, "", bytesEach}},
		Target{Name: "longest GC pause while loading the keys", Unit: "ms", Bound: 1, AtMost: true, Figure: Key{throttle, "", gcPause}, of: most},
		compared("CPU per request of a script vs Redis", cpu, many(1), stintLua, lua, 1, true),
		compared("CPU per request of a script vs Redis", cpu, many(16), stintLua, lua, 1, true),
		compared("CPU per request vs redis-cell", cpu, many(1), throttle, redisCell, 1, true),
		compared("CPU per request vs redis-cell", cpu, many(16), throttle, redisCell, 0.25, true),
	)
}
