package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// An AheadReport has the figures of nodes that decide ahead of the log (--cluster-ahead), beside those of another server.
type AheadReport struct {
	comparison
	Series  []Series
	Results Results
	Rate    float64                    // requests per second of Steady: a part of the most that the nodes answer to that generator
	Steady  map[string][]steadyLatency // by Series.ID, one a round
}

// A comparison is the servers and cells of an AheadReport.
type comparison struct {
	title string
	base  string // the Series.ID that others are compared with
	ahead string // the one of whose most a part is the load for latencies
	part  int    // the second, third, ... part
	cells []cellKind
}

// A cellKind is a workload with a pipeline.
type cellKind struct {
	Workload
	pipeline int
}

// hotEverywhere is one hot key, from clients at all nodes.
var hotEverywhere = Workload{
	Name: "everywhere", Title: "one hot key at all nodes, granted", Limit: workloads[1].Limit, KeySuffix: workloads[1].KeySuffix, Granted: true, Everywhere: true,
}

// underQuarter is many keys that stay under a quarter of their limits, and the limits are full again within 10 s.
var underQuarter = Workload{
	Name: "quarter", Title: "100k random keys under a quarter of their limits", Limit: Limit{Burst: 4_999, Count: 1_000, PeriodSeconds: 1},
	KeySuffix: workloads[0].KeySuffix, Granted: true,
}

// aheadOptions are those of all these nodes. With -quick, which is for busy machines too, a wait for the CPU causes no elections.
func aheadOptions(quick bool) []string {
	options := []string{"--cluster-ahead", "1s"}
	if quick {
		options = append(options, "--cluster-heartbeat", "1s", "--decide-timeout", "20s")
	}
	return options
}

const (
	nodesAhead = "stint-ahead CL.THROTTLE"
	nodesFar   = "stint-far CL.THROTTLE"
	linkDelay  = 10 * time.Millisecond
)

// besideOne compares three nodes with one Stint, and one Redis, in memory.
var besideOne = comparison{
	title: "Three nodes with --cluster-ahead", base: throttle, ahead: nodesAhead, part: 2,
	cells: []cellKind{{hotEverywhere, 1}, {hotEverywhere, 16}, {underQuarter, 1}, {underQuarter, 16}},
}

// overSlowLinks compares nodes far from each other with nodes side by side.
var overSlowLinks = comparison{
	title: fmt.Sprintf("Three nodes with --cluster-ahead, every message between nodes %s later", linkDelay), base: nodesAhead, ahead: nodesFar, part: 4, // at half load, requests wait for the CPU
	cells: []cellKind{{hotEverywhere, 1}, {hotEverywhere, 16}},
}

func aheadServer(binary string, quick bool) Server {
	return Server{Name: "stint-ahead", Title: "Stint, three nodes,", Start: startNodes(binary, nodeSetup{options: aheadOptions(quick)}),
		Commands: serverTable(binary)[1].Commands[:1]}
}

func besideOneServers(binary string, quick bool) []Server {
	return append(besideCluster(binary), aheadServer(binary, quick))
}

func slowLinkServers(binary string, quick bool) []Server {
	near := aheadServer(binary, quick)
	far := near
	far.Name, far.Title, far.Start = "stint-far", "Stint, three nodes far apart,", startNodes(binary, nodeSetup{options: aheadOptions(quick), delay: linkDelay})
	return []Server{near, far}
}

// measure measures throughput side by side, and the latency of one hot key at a part of the load, at the same rate for all.
func (c comparison) measure(ctx context.Context, binary string, servers []Server, settings Settings) (*AheadReport, error) {
	a := &AheadReport{comparison: c, Series: seriesOf(servers), Results: Results{}, Steady: map[string][]steadyLatency{}}
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer stop()
	r := rounder{instances: instances, cell: settings.Cell, results: a.Results}
	for round := range settings.Rounds {
		for _, cell := range c.cells {
			fmt.Fprintf(os.Stderr, "round %d/%d: %s, %s, pipeline %d\n", round+1, settings.Rounds, c.title, cell.Title, cell.pipeline)
			for _, s := range a.Series {
				if err := findLeader(ctx, instances[s.Server.Name]); err != nil {
					return nil, err
				}
				err := warmUp(ctx, instances[s.Server.Name], s.Command, cell, round, settings.Cell)
				if err == nil {
					err = r.measure(ctx, s, cell.Workload, cell.pipeline, round)
				}
				if err != nil {
					return nil, fmt.Errorf("%s, %s, pipeline %d: %w", s.Title(), cell.Title, cell.pipeline, err)
				}
			}
		}
	}
	return a, a.measureLatency(ctx, binary, instances, settings)
}

// findLeader notes the leader of a cluster, which may be another one than at the start.
func findLeader(ctx context.Context, inst *Instance) (err error) {
	if len(inst.Nodes) > 0 {
		inst.Addr, err = leaderOf(ctx, inst.Nodes)
	}
	return err
}

// warmUp lets nodes take tokens of a new key, because the cell measures a load that lasts.
func warmUp(ctx context.Context, inst *Instance, c Command, cell cellKind, round int, d time.Duration) error {
	if !cell.Everywhere {
		return nil
	}
	const perSecond = 20_000 // with this all servers keep up
	args := expand(c.Template, c.Tag+":"+cell.KeySuffix(round, cell.pipeline), cell.Limit)
	_, err := driveAt(ctx, inst, inst.entrances(), connections, 1, requestsFor(perSecond, d/4, connections, 1), args)
	return err
}

// measureLatency first measures the most that the nodes answer to the generator of the latencies: it takes more of the CPU than that of
// the throughput.
func (a *AheadReport) measureLatency(ctx context.Context, binary string, instances map[string]*Instance, settings Settings) error {
	for _, s := range a.Series {
		if s.ID() != a.ahead {
			continue
		}
		most, err := a.plan(s, instances, 0, 0, settings.Cell).run(ctx, nil)
		if err != nil {
			return diagnose(instances[s.Server.Name], err)
		}
		a.Rate = most.PerSecond / float64(a.part)
	}
	for round := range settings.Rounds {
		fmt.Fprintf(os.Stderr, "round %d/%d: one hot key, %.0f requests a second\n", round+1, settings.Rounds, a.Rate)
		for _, s := range a.Series {
			cell := cellKind{hotEverywhere, 1}
			inst := instances[s.Server.Name]
			if s.ID() == lua {
				continue // a reply of the script would count as a denial
			}
			if err := warmUp(ctx, inst, s.Command, cell, round, settings.Cell); err != nil {
				return err
			}
			sample, err := a.plan(s, instances, round, a.Rate, settings.Cell).latency(ctx)
			if err != nil {
				return diagnose(inst, err)
			}
			a.Steady[s.ID()] = append(a.Steady[s.ID()], sample)
		}
	}
	return nil
}

// plan is a load on one hot key, from clients at all nodes.
func (a *AheadReport) plan(s Series, instances map[string]*Instance, round int, perSecond float64, d time.Duration) steadyPlan {
	command := expand(s.Command.Template, s.Command.Tag+":"+hotEverywhere.KeySuffix(round, 1), hotEverywhere.Limit)
	return steadyPlan{instances[s.Server.Name].entrances(), connections, 1, randomKeys, perSecond, d, command}
}
