package main

import (
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

// A Target is a measured value and its bound. It is derived from
// the results and never measured separately.
type Target struct {
	Name    string
	Unit    string  // of Value: "x" for a ratio
	AtMost  bool    // else at least
	Bound   float64 // NaN: for information only
	measure func(*Report) float64
}

// An Outcome is a target with its value.
type Outcome struct {
	Target
	Value float64 // NaN: not measured in this run
}

// Verdict is one word for people.
func (o Outcome) Verdict() string {
	switch {
	case math.IsNaN(o.Value):
		return "not measured"
	case math.IsNaN(o.Bound):
		return "info"
	case o.AtMost && o.Value <= o.Bound, !o.AtMost && o.Value >= o.Bound:
		return "pass"
	}
	return "FAIL"
}

// memoryJudgedFrom is the fewest keys at which memory per key is held to its target: with fewer, a server's fixed
// allocations count too much.
const memoryJudgedFrom = 1_000_000

// targetTable is the table of targets. keys is the number of keys loaded to measure memory.
func targetTable(keys int) []Target {
	memoryBound := 64.0
	if keys < memoryJudgedFrom {
		memoryBound = math.NaN()
	}
	targets := []Target{
		ratioTarget("CPU per TB.ACQUIRE vs CL.THROTTLE", cpu, acquire, throttle, 16, 1.0, true),
		ratioTarget("CPU per RL.CHECK of 2 limits vs CL.THROTTLE", cpu, check, throttle, 16, 1.8, true),
		ratioTarget("throughput vs Redis + Lua", throughput, throttle, lua, 1, 2.2, false),
		ratioTarget("throughput vs Redis + Lua", throughput, throttle, lua, 16, 12, false),
		ratioTarget("throughput vs Redis + Lua", throughput, throttle, lua, 64, 15, false),
		ratioTarget("throughput vs Stint's own PING", throughput, throttle, stintPing, 1, 0.95, false),
		ratioTarget("throughput vs Stint's own PING", throughput, throttle, stintPing, 64, 0.5, false),
	}
	for _, p := range pipelines {
		most := 1.2
		if p == 1 {
			most = 1.05
		}
		targets = append(targets,
			ratioTarget("CPU per request, one loop, vs Redis PING", cpu, oneLoop, redisPing, p, most, true),
			ratioTarget("CPU per request, two loops vs one", cpu, twoLoops, oneLoop, p, 1.08, true),
			hotKeyTarget(p))
	}
	targets = append(targets,
		Target{Name: "memory per 16-byte key", Unit: "B", Bound: memoryBound, AtMost: true,
			measure: func(r *Report) float64 { return bytesPerKey(r.Memory[throttle]) }},
		Target{Name: "longest GC pause while loading the keys", Unit: "ms", Bound: 1, AtMost: true,
			measure: func(r *Report) float64 { return longestPause(r.Memory[throttle]) }},
		ratioTarget("CPU per request of a script vs Redis", cpu, stintLua, lua, 1, 1.0, true),
		ratioTarget("CPU per request of a script vs Redis", cpu, stintLua, lua, 16, 1.0, true),
		ratioTarget("CPU per request vs redis-cell", cpu, throttle, redisCell, 1, 1.0, true),
		ratioTarget("CPU per request vs redis-cell", cpu, throttle, redisCell, 16, 0.25, true),
	)
	return targets
}

// ratioTarget compares two series in the first workload at one pipeline.
func ratioTarget(name string, m metric, a, b string, pipeline int, bound float64, atMost bool) Target {
	w := workloads[0].Name
	return Target{
		Name: fmt.Sprintf("%s, P=%d", name, pipeline), Unit: "x", Bound: bound, AtMost: atMost,
		measure: func(r *Report) float64 {
			return r.Results.ratio(m, Cell{a, w, pipeline}, Cell{b, w, pipeline})
		},
	}
}

func hotKeyTarget(pipeline int) Target {
	return Target{
		Name: fmt.Sprintf("one hot key vs 100k keys, throughput, P=%d", pipeline), Unit: "x", Bound: 0.9,
		measure: func(r *Report) float64 {
			return r.Results.ratio(throughput, Cell{throttle, "hot", pipeline}, Cell{throttle, "many", pipeline})
		},
	}
}

// outcomes measures every target against the report.
func outcomes(r *Report) []Outcome {
	var all []Outcome
	add := func(measured bool, targets []Target) {
		for _, t := range targets {
			if measured {
				all = append(all, Outcome{t, t.measure(r)})
			}
		}
	}
	add(len(r.Series) > 0, targetTable(r.Settings.Keys))
	add(r.Cluster != nil, clusterTargets())
	add(r.Disk != nil, diskTargets())
	add(r.Reservations != nil, reservationTargets())
	add(r.Doors != nil, doorTargets())
	add(r.Ahead != nil, besideOneTargets())
	add(r.Links != nil, slowLinkTargets())
	add(r.Bucket != nil, bucketTargets())
	add(r.Market != nil, marketTargets())
	add(r.ManyKeys != nil, manyKeysTargets())
	return all
}
