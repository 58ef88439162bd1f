package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stintdb/stint/engine/slot"
)

// groupCounts are the numbers of groups of keys that are compared, each on three nodes.
var groupCounts = []int{1, 3, 12}

// idleGroups are the most that a cluster may have; only idle.
const idleGroups = 64

func groupSeries(groups int) string { return fmt.Sprint(groups, " groups") }

// A groupLoad is sent to all nodes alike, or each request to the leader of its key.
type groupLoad struct {
	name        string
	connections int
	pipeline    int
	limit       Limit
	keys        int
	toLeaders   bool
}

func (l groupLoad) args() []string { return l.argsOf("", l.keys) }

// argsOf are arguments of redis-benchmark for keys with one tag.
func (l groupLoad) argsOf(tag string, keys int) []string {
	return append([]string{"-r", fmt.Sprint(keys)}, expand(throttleTemplate, "grp"+fmt.Sprint(l.keys)+":"+tag+randomSuffix, l.limit)...)
}

// Those of 150 connections have three times the clients: as many for each leader, where three lead.
var groupLoads = []groupLoad{
	{"strict, 50 connections, P=16", 51, 16, manyKeys.Limit, 100_000, false},
	{"strict, 200 connections, P=1", 201, 1, manyKeys.Limit, 100_000, false},
	{"denied, 50 connections, P=16", 51, 16, oncePerDay, 1000, false},
	{"strict, 150 connections, P=16", 153, 16, manyKeys.Limit, 100_000, false},
	{"strict, 50 connections, P=16, to leaders", 51, 16, manyKeys.Limit, 6 * slot.Count, true},
	{"denied, 50 connections, P=16, to leaders", 51, 16, oncePerDay, slot.Count, true},
	{"strict, 150 connections, P=16, to leaders", 153, 16, manyKeys.Limit, 6 * slot.Count, true},
}

// send sends n requests. With several leaders, redis-benchmark finds them as a client for Redis Cluster does. It
// replaces {tag} in a pipeline's keys by the tag of one slot, so each slot has its share of the keys.
func (l groupLoad) send(ctx context.Context, inst *Instance, groups, n int) (Sample, error) {
	switch {
	case !l.toLeaders:
		return driveAt(ctx, inst, inst.Nodes, l.connections, l.pipeline, n, l.args())
	case groups > 1:
		return drive(ctx, inst, l.connections, l.pipeline, n, append([]string{"--cluster"}, l.argsOf("{tag}:", l.keys/slot.Count)...))
	}
	if err := findLeader(ctx, inst); err != nil {
		return Sample{}, err
	}
	return driveAt(ctx, inst, slices.Repeat([]string{inst.Addr}, nodes), l.connections, l.pipeline, n, l.args())
}

const (
	ledSpread  = "groups led, most less fewest"
	switches   = "context switches"
	reads      = "calls of read"
	writes     = "calls of write"
	shareOfCPU = "CPU of the busiest node, of a third"

	syncsPerRound = "syncs of a node in a round"
)

// measureGroups compares clusters with several groups and with one, which take turns in every round.
func measureGroups(ctx context.Context, e Env, f Figures) error {
	var clusters []*Instance
	defer func() {
		for _, inst := range clusters {
			inst.Stop()
		}
	}()
	for _, groups := range slices.Concat(groupCounts, []int{idleGroups}) {
		inst, err := startNodes(e.binary, nodeSetup{options: append(patient(e), "--groups", fmt.Sprint(groups))})(ctx, fmt.Sprint("stint-groups-", groups), nil)
		if err != nil {
			return err
		}
		clusters = append(clusters, inst)
		if groups > 1 && groups != idleGroups {
			spread, _, err := awaitSpread(ctx, inst, groups, 1)
			if err != nil {
				return diagnose(inst, err)
			}
			f.add(groupSeries(groups), "", ledSpread, float64(spread))
		}
	}
	speeds := map[string]float64{}
	return e.rounds(0, "groups of keys", func(round int) error { // 0 only measures the speed
		if _, _, err := measureIdle(e, clusters[len(groupCounts)], groupSeries(idleGroups), f, round); err != nil {
			return err
		}
		for i, groups := range groupCounts {
			if err := measureGroupsOnce(ctx, e, clusters[i], groups, speeds, f, round); err != nil {
				return diagnose(clusters[i], err)
			}
		}
		idle := f.last(Key{groupSeries(1), "", idleCPU})
		if err := measureRoles(ctx, e, clusters[0], idle, speeds, f, round); err != nil {
			return diagnose(clusters[0], err)
		}
		return nil
	})
}

func measureGroupsOnce(ctx context.Context, e Env, inst *Instance, groups int, speeds map[string]float64, f Figures, round int) error {
	series := groupSeries(groups)
	idle, idleActivity, err := measureIdle(e, inst, series, f, round)
	if err != nil {
		return err
	}
	for _, l := range groupLoads {
		before, err := cpuOfEach(inst)
		if err != nil {
			return err
		}
		was, err := activityOf(inst.PIDs())
		if err != nil {
			return err
		}
		id := series + l.name
		logged, err := logOf(inst)
		if err != nil {
			return err
		}
		sample, err := l.send(ctx, inst, groups, requestsFor(max(5000, speeds[id]), e.Cell, l.connections, l.pipeline))
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
		is, err := activityOf(inst.PIDs())
		if err != nil {
			return err
		}
		f.addActivity(series, l.name, is.since(was, idleActivity, float64(sample.Requests)/sample.PerSecond, float64(sample.Requests)/1000))
		sample.CPUMicros -= idle / sample.PerSecond
		f.addSample(series, l.name, sample)
		f.add(series, l.name, shareOfCPU, busiest(before, after))
		log, err := logOf(inst)
		if err != nil {
			return err
		}
		if l.limit != oncePerDay {
			f.add(series, l.name, syncsPerRound, (log.syncs-logged.syncs)/nodes/(log.rounds-logged.rounds))
		}
	}
	return nil
}

// A groupLog counts the syncs and rounds of all nodes.
type groupLog struct{ syncs, rounds float64 }

func logOf(inst *Instance) (l groupLog, err error) {
	for _, address := range inst.Nodes {
		syncs, err := infoNumber(address, "cluster", "raft_log_syncs")
		if err != nil {
			return l, err
		}
		rounds, err := infoNumber(address, "cluster", "raft_rounds")
		if err != nil {
			return l, err
		}
		l.syncs, l.rounds = l.syncs+syncs, l.rounds+rounds
	}
	return l, nil
}

// measureIdle measures what nodes do in a second without requests.
func measureIdle(e Env, inst *Instance, series string, f Figures, round int) (micros float64, did activity, err error) {
	before, err := activityOf(inst.PIDs())
	if err != nil {
		return 0, did, err
	}
	if micros, err = idleMicros(inst, e.Cell); err != nil {
		return 0, did, err
	}
	after, err := activityOf(inst.PIDs())
	if did = after.since(before, activity{}, 0, e.Cell.Seconds()); err == nil && round > 0 {
		f.add(series, "", idleCPU, micros)
		f.addActivity(series, "", did)
	}
	return micros, did, err
}

func (f Figures) addActivity(series, load string, did activity) {
	f.add(series, load, switches, did.switches)
	f.add(series, load, reads, did.reads)
	f.add(series, load, writes, did.writes)
}

// cpuOfEach is the CPU time of each node.
func cpuOfEach(inst *Instance) (all []time.Duration, err error) {
	for _, pid := range inst.PIDs() {
		spent, err := cpuTime([]int{pid})
		if err != nil {
			return nil, err
		}
		all = append(all, spent)
	}
	return all, nil
}

// busiest is the CPU of the node that used most, in multiples of an equal share.
func busiest(before, after []time.Duration) float64 {
	most, sum := time.Duration(0), time.Duration(0)
	for i := range after {
		spent := after[i] - before[i]
		most, sum = max(most, spent), sum+spent
	}
	return float64(most) * float64(len(after)) / float64(sum)
}

func groupTables(_ Env, f Figures) []Table {
	t := Table{Title: "Three nodes with groups of keys", Words: 2, Header: []string{"load, to all nodes if not to leaders", "groups", "requests/s", "µs CPU", "ratio", "busiest node", switches, reads, writes, syncsPerRound},
		Note: "CPU is that of all nodes for a request, without that of idle nodes, and its ratio that to one group in the same round; the busiest node's CPU is a multiple of a third. Switches, reads and writes are for 1,000 requests, those of idle nodes left out. " +
			"150 connections with three groups are as many for each leader as 50 with one. A round is one entry, or those that the groups of a node propose together; each node has the entries of the rounds of all nodes, so with one sync for each round it is 1. " +
			"To leaders: each request to the leader of its key, as clients for Redis Cluster send it; keys of a pipeline have one slot."}
	figure := func(groups int, load, metric string) string {
		return formatFigure(median(f[Key{groupSeries(groups), load, metric}]))
	}
	for _, l := range groupLoads {
		for _, groups := range groupCounts {
			own, one := Key{groupSeries(groups), l.name, cpu}, Key{groupSeries(1), l.name, cpu}
			t.Rows = append(t.Rows, []string{l.name, fmt.Sprint(groups), formatCount(median(f[Key{groupSeries(groups), l.name, throughput}])), figure(groups, l.name, cpu),
				formatFigure(f.ratio(own, one)), figure(groups, l.name, shareOfCPU), figure(groups, l.name, switches), figure(groups, l.name, reads), figure(groups, l.name, writes), figure(groups, l.name, syncsPerRound)})
		}
	}
	idle := Table{Title: "Three nodes with groups of keys, idle", Words: 1, Header: []string{"groups", idleCPU, switches, reads, writes, ledSpread}, Note: "All of three nodes, in a second."}
	for _, groups := range slices.Concat(groupCounts, []int{idleGroups}) {
		led := "0"
		if groups > 1 && groups != idleGroups {
			led = figure(groups, "", ledSpread)
		}
		idle.Rows = append(idle.Rows, []string{fmt.Sprint(groups), figure(groups, "", idleCPU), figure(groups, "", switches), figure(groups, "", reads), figure(groups, "", writes), led})
	}
	return []Table{t, idle, modelTable(f)}
}

// groupTargets are what several groups may cost beside one.
func groupTargets(Env) []Target {
	against := func(name string, groups int, load, other string, bound float64) Target {
		return Target{Name: name, Unit: "x", AtMost: true, Bound: bound, Why: "a pipeline is a call for each group, most of them to other nodes", Figure: Key{groupSeries(groups), load, cpu}, Versus: Key{groupSeries(1), other, cpu}}
	}
	total, denied, each := groupLoads[0].name, groupLoads[2].name, groupLoads[3].name
	led, deniedLed, eachLed := groupLoads[4].name, groupLoads[5].name, groupLoads[6].name
	syncs := func(name string, groups int) Target {
		return Target{Name: name + " groups, syncs of a node in a round", AtMost: true, Bound: 1.2, Figure: Key{groupSeries(groups), total, syncsPerRound}}
	}
	return []Target{
		syncs("three", 3), syncs("twelve", 12),
		against("three groups, equal load for each leader, CPU per grant vs one group", 3, each, total, 1.15),
		against("three groups, equal load, CPU per grant vs one group", 3, total, total, 1.3),
		against("twelve groups, equal load, CPU per grant vs one group", 12, total, total, 1.6),
		against("twelve groups, denials, CPU vs one group", 12, denied, denied, 1.15),
		against("to leaders: three groups, equal load for each leader, CPU per grant vs one group", 3, eachLed, led, 1.15),
		against("to leaders: three groups, equal load, CPU per grant vs one group", 3, led, led, 1.3),
		against("to leaders: twelve groups, equal load, CPU per grant vs one group", 12, led, led, 1.6),
		against("to leaders: twelve groups, denials, CPU vs one group", 12, deniedLed, deniedLed, 1.15),
		{Name: "three groups, CPU of the busiest node, of a third", Unit: "x", AtMost: true, Bound: 1.1, Why: nodesShareCores, Figure: Key{groupSeries(3), total, shareOfCPU}},
	}
}
