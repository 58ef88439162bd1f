package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// clusterCells are the workloads and pipelines measured.
var clusterCells = []Cell{{manyKeys, 1}, {manyKeys, 16}, {crowd, 1}, {deniedKey, 16}}

// The series and loads that targets about the cluster compare.
const (
	clusterThrottle = "stint-cluster CL.THROTTLE"
	atHalf          = "half of the load of many keys P=1"
	slowDisk        = "every fsync longer"
	slowFsync       = 5 * time.Millisecond
	slowConnections = 200
	slowPipeline    = 16
)

// clusterServers is the table of servers: three nodes, and one Redis and one Stint in memory to compare them with.
func clusterServers(e Env) []Server {
	all := besideCluster(e.binary)
	return append(all, Server{
		Name: "stint-cluster", Title: "Stint, three nodes,", Start: startNodes(e.binary, nodeSetup{options: patient(e)}),
		Commands: all[1].Commands,
	}, Server{
		Name: "stint-boltdb", Title: "Stint, three nodes, --cluster-log boltdb,", Start: startNodes(e.binary, nodeSetup{options: append(patient(e), "--cluster-log", "boltdb")}),
		Commands: all[1].Commands,
	})
}

// measureCluster measures throughput side by side, then the cluster's latency at half of its throughput, the cost of an
// entry, and the throughput on a slow disk.
func measureCluster(ctx context.Context, e Env, f Figures) error {
	s, stop, err := startSideBySide(ctx, e, clusterServers(e), "three nodes", clusterCells, f)
	if err != nil {
		return err
	}
	defer stop()
	if err := s.run(ctx); err != nil {
		return err
	}
	half := pace{connections, 1, randomKeys, median(f[Key{clusterThrottle, clusterCells[0].ID(), throughput}]) / 2, e.Cell}
	send := respSenders(keyed(expand(throttleTemplate, "sty:{key}", manyKeys.Limit)...), true)
	err = e.rounds(1, fmt.Sprintf("three nodes at %.0f requests a second", half.perSecond), func(int) error {
		inst := s.instances["stint-cluster"]
		sample, err := half.grantedAt(ctx, inst, []string{inst.Addr}, send)
		f.addSample(clusterThrottle, atHalf, sample)
		return err
	})
	if err == nil {
		err = measureEntries(ctx, e, s.instances["stint-cluster"], f)
	}
	if err != nil {
		return err
	}
	stop()
	return measureSlow(ctx, e, f)
}

// measureSlow has strace delay every fsync of all nodes, like a slow disk.
func measureSlow(ctx context.Context, e Env, f Figures) error {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Fprintln(os.Stderr, "slow disk: not measured, because strace is not installed")
		return nil
	}
	delay := fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", slowFsync.Microseconds())
	trace := []string{"strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", delay}
	inst, err := startNodes(e.binary, nodeSetup{before: trace, options: patient(e)})(ctx, "stint-slow", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	args := expand(throttleTemplate, "slw:"+randomSuffix, manyKeys.Limit)
	perSecond := 20_000.0
	return e.rounds(0, fmt.Sprintf("three nodes, every fsync takes %s longer", slowFsync), func(round int) error { // 0 only measures the speed
		sample, err := drive(ctx, inst, slowConnections, slowPipeline, requestsFor(perSecond, e.Cell, slowConnections, slowPipeline), args)
		if err != nil {
			return diagnose(inst, err)
		}
		if perSecond = sample.PerSecond; round > 0 {
			f.addSample(clusterThrottle, slowDisk, sample)
		}
		return nil
	})
}

func clusterTables(e Env, f Figures) []Table {
	return []Table{f.table("Three nodes with the log on disk: throughput, requests per second",
		"All nodes, the other servers and the load share the machine; the load goes to the leader. CPU is that of all nodes together.",
		[]string{"workload", "server and command"}, linesOf(clusterCells, seriesOf(clusterServers(e))),
		figure(throughput, formatCount), figure(p50, formatFigure), figure(p99, formatFigure), figure(cpu, formatFigure)), entryTable(f)}
}

// The causes of goals that are missed.
const (
	nodesShareCores = "a third of the CPU is for the clients' connections, a quarter to apply each grant three times; the load has the same cores"
	entriesAreDear  = "an entry has some 40 switches of threads on three nodes, beside its messages and syncs"
)

func clusterTargets(Env) []Target {
	compare := func(name, metric string, c Cell, other string, bound float64, atMost bool) Target {
		return compared(fmt.Sprintf("three nodes, %s, %d connections", name, c.connections()), metric, c, clusterThrottle, other, bound, atMost)
	}
	latency := func(metric, name string, bound float64) Target {
		return Target{Name: "three nodes at half of their P=1 throughput, " + name, Unit: "ms", Bound: bound, AtMost: true, Why: entriesAreDear,
			Figure: Key{clusterThrottle, atHalf, metric}}
	}
	pipelined, many := clusterCells[1], clusterCells[2]
	return []Target{
		compare("throughput vs one Redis + Lua in memory", throughput, many, lua, 1, false).because(nodesShareCores),
		compare("throughput vs one Redis + Lua in memory", throughput, pipelined, lua, 2.5, false).because(nodesShareCores),
		compare("CPU per grant vs one Stint in memory", cpu, many, throttle, 2.5, true).because(entriesAreDear),
		compare("CPU per grant vs one Stint in memory", cpu, pipelined, throttle, 4.8, true).because(entriesAreDear),
		compare("all denied, throughput vs one Stint in memory", throughput, clusterCells[3], throttle, 0.8, false),
		latency(p50, "p50", 2),
		latency(p99, "p99", 10),
		{Name: "three nodes, CPU of an entry of the log", Unit: "µs", Bound: 150, AtMost: true, Why: entriesAreDear, Figure: Key{clusterThrottle, "", entryCPU}},
		{Name: fmt.Sprintf("three nodes, every fsync %s longer, %d connections, P=%d", slowFsync, slowConnections, slowPipeline), Unit: "/s", Bound: 150_000,
			Why: nodesShareCores, Figure: Key{clusterThrottle, slowDisk, throughput}},
	}
}
