package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stintdb/stint/engine/slot"
)

// A model of machines on this one: each node may use machineShare of a core, by a quota of a control group, so that more
// nodes have more CPU, as more machines would have. The load has the rest of this machine.

// machineCounts are the sizes of the clusters that are compared.
var machineCounts = []int{3, 5, 9}

const (
	machineGroups   = 12
	machineReplicas = 3
	machineShare    = 0.15 // of a core
	machinePeriodMs = 10   // in which a node may use its share; when that is used up, it stands still until the next

	followedCalls = "strict, P=16, to leaders"
)

// machineLoads are sent to each cluster with connections for each of its nodes.
var machineLoads = []groupLoad{
	{followedCalls, 12, 16, manyKeys.Limit, 6 * slot.Count, true},
	{"strict, P=16, to all nodes", 12, 16, manyKeys.Limit, 100_000, false},
	{"strict, P=1, to all nodes", 24, 1, manyKeys.Limit, 100_000, false},
	{"denied, P=16, to leaders", 12, 16, oncePerDay, slot.Count, true},
	{"denied, P=16, to all nodes", 12, 16, oncePerDay, 1000, false},
}

func machineSeries(count int) string { return fmt.Sprint(count, " machines") }

// quotaRoot is where the control groups of CPU are, in the first or second version; "" if they cannot be had.
func quotaRoot() string {
	for _, root := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
		try, err := os.MkdirTemp(root, "stint-bench-")
		if err != nil {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(try, "cpu.[cm][fa][sx]*"))
		if err := os.Remove(try); err == nil && len(found) > 0 {
			return root
		}
	}
	return ""
}

// withQuota is the prefix of a command line that puts the process into a control group of its own, named by its id.
func withQuota(root string) []string {
	quota := int(machineShare * machinePeriodMs * 1000)
	return []string{"sh", "-c", fmt.Sprintf(`set -e
group=%s/stint-bench-$$
mkdir "$group"
if [ -e "$group/cpu.max" ]; then echo "%[2]d %[3]d" > "$group/cpu.max"
else echo %[3]d > "$group/cpu.cfs_period_us"; echo %[2]d > "$group/cpu.cfs_quota_us"; fi
echo $$ > "$group/cgroup.procs"
exec "$@"`, root, quota, machinePeriodMs*1000), "sh"}
}

// measureMachines measures clusters of several sizes in turns.
func measureMachines(ctx context.Context, e Env, f Figures) (err error) {
	root := quotaRoot()
	if root == "" {
		fmt.Fprintln(os.Stderr, "machines: not measured, because quotas of CPU need root and control groups")
		return nil
	}
	clusters := make([]*Instance, len(machineCounts))
	defer func() {
		for _, inst := range clusters {
			if inst == nil {
				continue
			}
			pids := inst.PIDs()
			inst.Stop()
			for _, pid := range pids {
				err = errors.Join(err, os.Remove(filepath.Join(root, fmt.Sprint("stint-bench-", pid))))
			}
		}
	}()
	// with so little CPU a node is often late
	options := []string{"--groups", fmt.Sprint(machineGroups), "--cluster-replicas", fmt.Sprint(machineReplicas), "--cluster-heartbeat", "2s", "--decide-timeout", "20s"}
	for i, count := range machineCounts {
		setup := nodeSetup{nodes: count, before: withQuota(root), options: options}
		if clusters[i], err = startNodes(e.binary, setup)(ctx, fmt.Sprint("stint-machines-", count), nil); err != nil {
			return err
		}
		if _, _, err := awaitSpread(ctx, clusters[i], machineGroups, 1); err != nil {
			return diagnose(clusters[i], err)
		}
	}
	speeds := map[string]float64{}
	return e.rounds(0, "a machine each", func(round int) error { // 0 only measures the speed
		for i, count := range machineCounts {
			if err := measureMachinesOnce(ctx, e, clusters[i], count, speeds, f, round); err != nil {
				return diagnose(clusters[i], err)
			}
		}
		return nil
	})
}

func measureMachinesOnce(ctx context.Context, e Env, inst *Instance, count int, speeds map[string]float64, f Figures, round int) error {
	for _, l := range machineLoads {
		l.connections *= count
		id := machineSeries(count) + l.name
		sample, err := l.send(ctx, inst, machineGroups, requestsFor(max(5000, speeds[id]), e.Cell, l.connections, l.pipeline))
		if err != nil {
			return err
		}
		if speeds[id] = sample.PerSecond; round > 0 {
			f.addSample(machineSeries(count), l.name, sample)
		}
	}
	return nil
}

func machineTables(_ Env, f Figures) []Table {
	var lines []line
	for _, l := range machineLoads {
		for _, count := range machineCounts {
			lines = append(lines, line{[]string{l.name, fmt.Sprint(count)}, machineSeries(count), l.name})
		}
	}
	return []Table{f.table("A machine for each node",
		fmt.Sprintf("A model: each node may use %.0f %% of a core, in periods of %d ms, so a request may wait as long for its node's next period. %d groups of keys, each on %d nodes. "+
			"To scale it to machines with a core each, multiply requests/s by %.1f; what idle replicas use counts less there.", machineShare*100, machinePeriodMs, machineGroups, machineReplicas, 1/machineShare),
		[]string{"load", "nodes"}, lines, figure(throughput, formatCount), figure(cpu, formatFigure), figure(p50, formatFigure), figure(p99, formatFigure))}
}

func machineTargets(Env) []Target {
	most := slices.Max(machineCounts)
	return []Target{{Name: fmt.Sprintf("%d machines, strict grants to leaders vs %d machines", most, machineCounts[0]), Unit: "x", Bound: 2.5,
		Figure: Key{machineSeries(most), followedCalls, throughput}, Versus: Key{machineSeries(machineCounts[0]), followedCalls, throughput}}}
}
