package main

import (
	"context"
	"fmt"
	"time"
)

// A comparison is nodes that decide ahead of the log (--cluster-ahead), beside other servers.
type comparison struct {
	title   string
	servers func(e Env) []Server
	cells   []Cell
	base    string // the Series.ID that others are compared with
	ahead   string // the one of whose most a part is the load for latencies
	part    int    // the second, third, ... part
}

const (
	nodesAhead = "stint-ahead CL.THROTTLE"
	nodesFar   = "stint-far CL.THROTTLE"
	linkDelay  = 10 * time.Millisecond

	atPart   = "a part of the load of one hot key" // Key.Load of latencies
	partLoad = "requests/s of that load"           // a metric
)

// besideOne compares three nodes with one Stint, and one Redis, in memory.
var besideOne = comparison{
	title: "Three nodes with --cluster-ahead", base: throttle, ahead: nodesAhead, part: 2,
	cells: cellsOf([]int{1, 16}, hotEverywhere, underQuarter),
	servers: func(e Env) []Server {
		return append(besideCluster(e.binary), aheadServer(e, "stint-ahead", "Stint, three nodes,", nodeSetup{}))
	},
}

// overSlowLinks compares nodes far from each other with nodes side by side.
var overSlowLinks = comparison{
	title: fmt.Sprintf("Three nodes with --cluster-ahead, every message between nodes %s later", linkDelay), base: nodesAhead, ahead: nodesFar, part: 4, // at half load, requests wait for the CPU
	cells: cellsOf([]int{1, 16}, hotEverywhere),
	servers: func(e Env) []Server {
		return []Server{aheadServer(e, "stint-ahead", "Stint, three nodes,", nodeSetup{}), aheadServer(e, "stint-far", "Stint, three nodes far apart,", nodeSetup{delay: linkDelay})}
	},
}

// measure measures throughput side by side, and the latency of one hot key at a part of the load, at the same rate for
// all.
func (c comparison) measure(ctx context.Context, e Env, f Figures) error {
	s, stop, err := startSideBySide(ctx, e, c.servers(e), c.title, c.cells, f)
	if err != nil {
		return err
	}
	defer stop()
	s.before = s.warmUp
	if err := s.run(ctx); err != nil {
		return err
	}
	load := pace{connections, 1, randomKeys, 0, e.Cell}
	steady := func(series Series, round int) (Sample, error) {
		inst := s.instances[series.Server.Name]
		command := expand(series.Command.Template, series.Command.Tag+":"+hotEverywhere.KeySuffix(round, 1), hotEverywhere.Limit)
		return load.grantedAt(ctx, inst, inst.entrances(), respSenders(keyed(command...), series.Command.Answer == answerThrottle))
	}
	for _, series := range s.series {
		if series.ID() != c.ahead {
			continue
		}
		most, err := steady(series, 1) // by the load of the latencies, which takes more of the CPU than redis-benchmark
		if err != nil {
			return err
		}
		load.perSecond = most.PerSecond / float64(c.part)
		f.add("", "", partLoad, load.perSecond)
	}
	return e.rounds(1, fmt.Sprintf("one hot key, %.0f requests a second", load.perSecond), func(round int) error {
		for _, series := range s.series {
			if series.Server.Name == "redis" {
				continue // it does not keep up
			}
			if err := s.warmUp(ctx, s.instances[series.Server.Name], series.Command, Cell{hotEverywhere, 1}, round); err != nil {
				return err
			}
			sample, err := steady(series, round)
			if err != nil {
				return err
			}
			f.addSample(series.ID(), atPart, sample)
		}
		return nil
	})
}

// warmUp finds the leader and lets nodes take tokens of a new key, because the cell measures a load that lasts.
func (s *sideBySide) warmUp(ctx context.Context, inst *Instance, c Command, cell Cell, round int) error {
	if err := findLeader(ctx, inst); err != nil || !cell.Everywhere {
		return err
	}
	const perSecond = 20_000 // with this all servers keep up
	args := expand(c.Template, c.Tag+":"+cell.KeySuffix(round, cell.pipeline), cell.Limit)
	_, err := driveAt(ctx, inst, inst.entrances(), connections, 1, requestsFor(perSecond, s.Cell/4, connections, 1), args)
	return err
}

// tables compare each figure with the figure of the base.
func (c comparison) tables(e Env, f Figures) []Table {
	series := seriesOf(c.servers(e))
	var latencies []line
	for _, s := range series {
		latencies = append(latencies, line{[]string{s.Title()}, s.ID(), atPart})
	}
	return []Table{
		f.table(c.title, "Nodes, the other servers and the load share the machine. One hot key has clients at all nodes, many keys at the leader. "+
			"CPU is that of all nodes together.", []string{"workload", "server and command"}, linesOf(c.cells, series),
			figure(throughput, formatCount), versus(throughput, c.base, c.base), figure(cpu, formatFigure), versus(cpu, c.base, c.base), figure(slept, formatFigure)),
		f.table(fmt.Sprintf("%s: latency at %s requests/s, ms", c.title, formatCount(median(f[Key{"", "", partLoad}]))),
			fmt.Sprintf("One hot key at all nodes, P=1, at 1/%d of the most that the three nodes answer to this generator; that of the slowest of the three loads.", c.part),
			[]string{"server and command"}, latencies, figure(p50, formatFigure), versus(p50, c.base, c.base), figure(p99, formatFigure), versus(p99, c.base, c.base)),
	}
}

const moreProcesses = "three servers and three loads take turns on two cores"

func besideOneTargets(Env) []Target {
	latency := func(name, metric string) Target {
		return Target{Name: "three nodes ahead, one hot key at half load, " + name + " vs one Stint", Unit: "x", Bound: 1.2, AtMost: true, Why: moreProcesses,
			Figure: Key{nodesAhead, atPart, metric}, Versus: Key{throttle, atPart, metric}}
	}
	var all []Target
	for i, bound := range []float64{0.95, 0.85, 0.85, 0.85} {
		c := besideOne.cells[i]
		all = append(all, compared(fmt.Sprintf("three nodes ahead, %s, vs one Stint", c.Workload.Title), throughput, c, nodesAhead, throttle, bound, false).because(moreProcesses))
	}
	return append(all, latency("p50", p50), latency("p99", p99))
}

func slowLinkTargets(Env) []Target {
	name := fmt.Sprintf("messages between nodes %s later, one hot key, ", linkDelay)
	return []Target{
		{Name: name + "p50 at a quarter of the load", Unit: "ms", Bound: 0.5, AtMost: true, Figure: Key{nodesFar, atPart, p50}},
		compared(name+"throughput vs without", throughput, overSlowLinks.cells[1], nodesFar, nodesAhead, 0.9, false),
	}
}
