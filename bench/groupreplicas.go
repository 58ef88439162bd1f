package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// An idleCluster has nodes without requests.
type idleCluster struct {
	title                   string // Key.Series
	nodes, groups, replicas int
}

// Two with many groups, each beside one with none, so that the difference is what the groups' replicas cost.
var (
	idleOne       = idleCluster{"three nodes, one group", 3, 1, 0}
	idleMany      = idleCluster{"three nodes", 3, idleGroups, 0}
	idleFiveOne   = idleCluster{"five nodes, one group", 5, 1, 0}
	idleFiveMany  = idleCluster{"five nodes, three replicas", 5, idleGroups, 3}
	idleClusters  = []idleCluster{idleOne, idleMany, idleFiveOne, idleFiveMany}
	idleMetrics   = []string{cpuOfCore, residentKiB, goroutines}
	ofEachReplica = "of each replica"
	ofOthers      = "of each group without a replica here"
)

const (
	cpuOfCore   = "CPU, % of a core"
	residentKiB = "resident, KiB"
	goroutines  = "goroutines"

	idleAtLeast = 2 * time.Second // CPU time is counted in hundredths of a second
)

// replicasHere is how many replicas of groups of keys all nodes have together.
func (c idleCluster) replicasHere() float64 {
	each := c.replicas
	if each == 0 {
		each = c.nodes
	}
	return float64(c.groups * each)
}

// measureReplicas measures idle clusters side by side, new ones, because memory that a load once took is not given back
// soon.
func measureReplicas(ctx context.Context, e Env, f Figures) error {
	instances := map[string]*Instance{}
	defer func() {
		for _, inst := range instances {
			inst.Stop()
		}
	}()
	for _, c := range idleClusters {
		setup := nodeSetup{nodes: c.nodes, metrics: true, options: append(patient(e), "--groups", fmt.Sprint(c.groups), "--cluster-replicas", fmt.Sprint(c.replicas))}
		if c.groups == 1 {
			setup.options = patient(e)
		}
		inst, err := startNodes(e.binary, setup)(ctx, strings.ReplaceAll("stint-idle-"+c.title, " ", "-"), nil)
		if err != nil {
			return err
		}
		instances[c.title] = inst
		if _, _, err := awaitSpread(ctx, inst, c.groups, c.groups); err != nil && c.groups > 1 {
			return diagnose(inst, err)
		}
	}
	return e.rounds(1, "idle replicas", func(int) error {
		for _, c := range idleClusters {
			if err := c.measure(instances[c.title], max(e.Cell, idleAtLeast), f); err != nil {
				return diagnose(instances[c.title], err)
			}
		}
		r := f.replicaFigures()
		for i, metric := range idleMetrics {
			f.add(ofEachReplica, "", metric, r[i])
		}
		f.add(ofOthers, "", cpuOfCore, f.othersCPU())
		return nil
	})
}

func (c idleCluster) measure(inst *Instance, d time.Duration, f Figures) error {
	micros, err := idleMicros(inst, d)
	if err != nil {
		return err
	}
	bytes, err := residentBytes(inst.PIDs())
	if err != nil {
		return err
	}
	running := 0.0
	for _, p := range inst.processes {
		n, err := metricOf(p.log.admin(), "go_goroutines")
		if err != nil {
			return err
		}
		running += n
	}
	f.add(c.title, "", cpuOfCore, micros/1e4)
	f.add(c.title, "", residentKiB, float64(bytes)/1024)
	f.add(c.title, "", goroutines, running)
	return nil
}

// replicaFigures are the idleMetrics of a replica: of the last round, the difference that many make.
func (f Figures) replicaFigures() (each []float64) {
	for _, metric := range idleMetrics {
		each = append(each, (f.last(Key{idleMany.title, "", metric})-f.last(Key{idleOne.title, "", metric}))/idleMany.replicasHere())
	}
	return each
}

// othersCPU is the CPU of a group at a node without a replica of it: what five nodes use beside the replicas.
func (f Figures) othersCPU() float64 {
	here := idleFiveMany.replicasHere()
	beside := f.last(Key{idleFiveMany.title, "", cpuOfCore}) - f.last(Key{idleFiveOne.title, "", cpuOfCore}) - here*f.last(Key{ofEachReplica, "", cpuOfCore})
	return beside / (float64(idleFiveMany.nodes*idleFiveMany.groups) - here)
}

// metricOf reads a metric without labels from a node's page of metrics.
func metricOf(admin, name string) (float64, error) {
	client := http.Client{Timeout: askTimeout}
	response, err := client.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(response.Body, 16*maxReplyBytes))
	for lines.Scan() {
		if value, is := strings.CutPrefix(lines.Text(), name+" "); is {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s: %v", admin, name, lines.Err())
}

func replicaTables(_ Env, f Figures) []Table {
	lines := []line{{[]string{ofEachReplica, ""}, ofEachReplica, ""}, {[]string{ofOthers, ""}, ofOthers, ""}}
	for _, c := range idleClusters {
		lines = append(lines, line{[]string{c.title, fmt.Sprint(c.groups)}, c.title, ""})
	}
	return []Table{f.table("Idle replicas of groups of keys",
		"Of all nodes. Of a replica: the difference between the two clusters of three nodes, divided by the number of replicas, those that lead and those that follow. Without a replica: what five nodes use beyond one group and the replicas.",
		[]string{"", "groups"}, lines, figure(cpuOfCore, formatFigure), figure(residentKiB, formatCount), figure(goroutines, formatFigure))}
}

const replicaLoops = "each replica has Raft's loops and timers, and its own table of keys"

func replicaTargets(Env) (all []Target) {
	for i, bound := range []float64{0.1, 512, 10} {
		all = append(all, Target{Name: "an idle replica, " + idleMetrics[i], AtMost: true, Bound: bound, Why: replicaLoops, Figure: Key{ofEachReplica, "", idleMetrics[i]}})
	}
	return all
}
