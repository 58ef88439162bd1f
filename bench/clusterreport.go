package main

import (
	"fmt"
)

// clusterSections are the tables for three nodes.
func clusterSections(c *ClusterReport) []Section {
	load := Section{
		Title:  "Three nodes with the log on disk: throughput, requests per second",
		Note:   "All nodes, the other servers and the load share the machine; the load goes to the leader. CPU is that of all nodes together.",
		Words:  2,
		Header: []string{"workload", "server and command", "requests/s", "p50, ms", "p99, ms", "µs CPU"},
	}
	for _, cell := range clusterCells {
		for _, series := range c.Series {
			at := Cell{series.ID(), cell.Name, cell.pipeline}
			load.Rows = append(load.Rows, []string{
				fmt.Sprintf("%s, P=%d", cell.Title, cell.pipeline), series.Title(), formatCount(c.Results.median(throughput, at)),
				formatFigure(c.Results.median(p50, at)), formatFigure(c.Results.median(p99, at)), formatFigure(c.Results.median(cpu, at)),
			})
		}
	}
	return []Section{load}
}

// clusterTargets is the table of targets for three nodes.
func clusterTargets() []Target {
	compare := func(name string, w Workload, pipeline int, other string, bound float64) Target {
		return Target{Name: fmt.Sprintf("three nodes, %s, %d connections, P=%d", name, w.connections(), pipeline), Unit: "x", Bound: bound,
			measure: func(r *Report) float64 {
				return r.Cluster.Results.ratio(throughput, Cell{clusterThrottle, w.Name, pipeline}, Cell{other, w.Name, pipeline})
			}}
	}
	latency := func(name string, figure func(steadyLatency) float64, bound float64) Target {
		return Target{Name: "three nodes at half of their P=1 throughput, " + name, Unit: "ms", Bound: bound, AtMost: true,
			measure: func(r *Report) float64 { return median(each(r.Cluster.Steady, figure)) }}
	}
	return []Target{
		compare("granted, vs one Redis + Lua in memory", workloads[0], 16, lua, 3),
		compare("granted, vs one Redis + Lua in memory", crowd, 1, lua, 0.7),
		compare("all denied, vs one Stint in memory", workloads[2], 16, throttle, 0.8),
		latency("p50", steadyP50, 2),
		latency("p99", steadyP99, 10),
		{Name: fmt.Sprintf("three nodes, every fsync %s longer, %d connections, P=%d", slowFsync, slowConnections, slowPipeline), Unit: "/s", Bound: 150_000,
			measure: func(r *Report) float64 { return median(r.Cluster.Slow) }},
	}
}
