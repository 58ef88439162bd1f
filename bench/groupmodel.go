package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// The CPU of one decision by role, of a cluster with one group whose load goes to the leader.
const (
	leaderCPU   = "L: CPU of a strict grant at its leader, µs"
	followerCPU = "F: CPU of a strict grant at each follower, µs"
	memoryCPU   = "M: CPU of a decision from memory at its leader, µs"
)

// measureRoles sends a strict load and one that is denied to the leader of a cluster with one group, whose idle nodes
// have used so much in a second.
func measureRoles(ctx context.Context, e Env, inst *Instance, idle float64, speeds map[string]float64, f Figures, round int) error {
	if err := findLeader(ctx, inst); err != nil {
		return err
	}
	for _, l := range []groupLoad{groupLoads[0], groupLoads[2]} {
		id := "roles" + l.name
		before, err := cpuOfEach(inst)
		if err != nil {
			return err
		}
		sample, err := drive(ctx, inst, l.connections, l.pipeline, requestsFor(max(5000, speeds[id]), e.Cell, l.connections, l.pipeline), l.args())
		if err != nil {
			return err
		}
		if speeds[id] = sample.PerSecond; round == 0 {
			continue
		}
		after, err := cpuOfEach(inst)
		if err != nil {
			return err
		}
		lead, follow := 0.0, 0.0
		for i := range after {
			micros := float64((after[i]-before[i])/time.Microsecond)/float64(sample.Requests) - idle/nodes/sample.PerSecond
			if inst.Nodes[i] == inst.Addr {
				lead = micros
			} else {
				follow += micros / (nodes - 1)
			}
		}
		if l.limit == oncePerDay {
			f.add(groupSeries(1), "", memoryCPU, lead)
			continue
		}
		f.add(groupSeries(1), "", leaderCPU, lead)
		f.add(groupSeries(1), "", followerCPU, follow)
	}
	return nil
}

// modelTable has what three nodes could decide whose leaders are spread, by the costs of this run.
func modelTable(f Figures) Table {
	t := Table{Title: "Three nodes with groups of keys, by the cost of a decision", Words: 1, Header: []string{"what", "measured or derived"}, InDocs: func([]string) bool { return true },
		Note: "P=16, to the leader of one group; idle nodes' CPU is left out. A model, not a measurement: every node leads a third, follows two, and does nothing else."}
	cores := float64(nodes * runtime.NumCPU())
	cost := func(metric string) float64 { return median(f[Key{groupSeries(1), "", metric}]) }
	for _, metric := range []string{leaderCPU, followerCPU, memoryCPU} {
		t.Rows = append(t.Rows, []string{metric, formatFigure(cost(metric))})
	}
	t.Rows = append(t.Rows,
		[]string{fmt.Sprintf("3·%d cores / (L + 2F): strict grants a second", runtime.NumCPU()), formatCount(1e6 * cores / (cost(leaderCPU) + 2*cost(followerCPU)))},
		[]string{fmt.Sprintf("3·%d cores / M: decisions from memory a second", runtime.NumCPU()), formatCount(1e6 * cores / cost(memoryCPU))})
	return t
}
