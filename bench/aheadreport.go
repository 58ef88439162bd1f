package main

import "fmt"

// aheadSections are the tables of a comparison. Each ratio is to the server that the comparison names.
func aheadSections(a *AheadReport) []Section {
	load := Section{
		Title: a.title,
		Note: "Nodes, the other servers and the load share the machine. One hot key has clients at all nodes, many keys at the leader. " +
			"CPU is that of all nodes together.",
		Words:  2,
		Header: []string{"workload", "server and command", "requests/s", "vs " + a.base, "µs CPU", "vs " + a.base},
	}
	for _, cell := range a.cells {
		for _, series := range a.Series {
			at, base := Cell{series.ID(), cell.Name, cell.pipeline}, Cell{a.base, cell.Name, cell.pipeline}
			load.Rows = append(load.Rows, []string{
				fmt.Sprintf("%s, P=%d", cell.Title, cell.pipeline), series.Title(),
				formatCount(a.Results.median(throughput, at)), formatUnit(a.Results.ratio(throughput, at, base), "x"),
				formatFigure(a.Results.median(cpu, at)), formatUnit(a.Results.ratio(cpu, at, base), "x"),
			})
		}
	}
	latency := Section{
		Title:  fmt.Sprintf("%s: latency at %s requests/s, ms", a.title, formatCount(a.Rate)),
		Note:   fmt.Sprintf("One hot key at all nodes, P=1, at 1/%d of the most that the three nodes answer to this generator; that of the slowest of the three loads.", a.part),
		Words:  1,
		Header: []string{"server and command", "p50", "vs " + a.base, "p99", "vs " + a.base},
	}
	for _, series := range a.Series {
		samples := a.Steady[series.ID()]
		if len(samples) == 0 {
			continue
		}
		latency.Rows = append(latency.Rows, []string{
			series.Title(), formatFigure(median(each(samples, steadyP50))), formatUnit(a.latencyRatio(series.ID(), steadyP50), "x"),
			formatFigure(median(each(samples, steadyP99))), formatUnit(a.latencyRatio(series.ID(), steadyP99), "x"),
		})
	}
	return []Section{load, latency}
}

func steadyP50(s steadyLatency) float64 { return s.P50 }
func steadyP99(s steadyLatency) float64 { return s.P99 }

// latencyRatio is the median over the rounds of a series' latency divided by that of the base.
func (a *AheadReport) latencyRatio(series string, figure func(steadyLatency) float64) float64 {
	return ratioOf(each(a.Steady[series], figure), each(a.Steady[a.base], figure))
}

// besideOneTargets is the table of targets for nodes that decide ahead, beside one Stint.
func besideOneTargets() []Target {
	speed := func(w Workload, pipeline int, bound float64) Target {
		return Target{Name: fmt.Sprintf("three nodes ahead, %s, vs one Stint, P=%d", w.Title, pipeline), Unit: "x", Bound: bound,
			measure: func(r *Report) float64 {
				return r.Ahead.Results.ratio(throughput, Cell{nodesAhead, w.Name, pipeline}, Cell{throttle, w.Name, pipeline})
			}}
	}
	latency := func(name string, figure func(steadyLatency) float64) Target {
		return Target{Name: "three nodes ahead, one hot key at half load, " + name + " vs one Stint", Unit: "x", Bound: 1.2, AtMost: true,
			measure: func(r *Report) float64 { return r.Ahead.latencyRatio(nodesAhead, figure) }}
	}
	return []Target{
		speed(hotEverywhere, 1, 0.95), speed(hotEverywhere, 16, 0.85), speed(underQuarter, 1, 0.85), speed(underQuarter, 16, 0.85),
		latency("p50", steadyP50), latency("p99", steadyP99),
	}
}

// slowLinkTargets is the table of targets for nodes far from each other.
func slowLinkTargets() []Target {
	name := fmt.Sprintf("messages between nodes %s later, one hot key, ", linkDelay)
	return []Target{
		{Name: name + "p50 at a quarter of the load", Unit: "ms", Bound: 0.5, AtMost: true,
			measure: func(r *Report) float64 { return median(each(r.Links.Steady[nodesFar], steadyP50)) }},
		{Name: name + "throughput vs without, P=16", Unit: "x", Bound: 0.9,
			measure: func(r *Report) float64 {
				return r.Links.Results.ratio(throughput, Cell{nodesFar, hotEverywhere.Name, 16}, Cell{nodesAhead, hotEverywhere.Name, 16})
			}},
	}
}
