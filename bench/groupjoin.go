package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

const (
	joinGroups     = 12
	joinPipeline   = 16
	joinedAfter    = time.Second // of the load
	joinAtLeast    = 3 * time.Second
	joinTurns      = 5 // duration of the loads in units of -cell
	restartSeconds = "seconds until a node started again has all keys"
	joinSeconds    = "seconds until a node that joins has all groups"

	withoutJoin = "without a node that joins" // loads
	whileJoins  = "while a node joins"
	// As near as one machine comes to a node on another machine.
	whileIdleJoins = "while a node joins that has only the CPU which nothing else uses"
)

// measureJoin loads keys into a cluster with several groups and one with one, restarts a node of each by turns, and
// then has a node join the first under load.
func measureJoin(ctx context.Context, e Env, f Figures) error {
	clusters := map[int]*Instance{}
	defer func() {
		for _, inst := range clusters {
			inst.Stop()
		}
	}()
	counts := []int{1, joinGroups}
	for _, groups := range counts {
		inst, err := startNodes(e.binary, nodeSetup{options: append(patient(e), "--groups", fmt.Sprint(groups))})(ctx, fmt.Sprint("stint-join-", groups), nil)
		if err != nil {
			return err
		}
		clusters[groups] = inst
		if _, _, err := awaitSpread(ctx, inst, groups, groups); err != nil {
			return diagnose(inst, err)
		}
		if err := load(ctx, inst.Addr, serverTable(e.binary)[1].Commands[0], oncePerDay, firstKey(), e.Keys); err != nil {
			return diagnose(inst, err)
		}
	}
	if err := e.rounds(1, fmt.Sprintf("a node with %d keys restarted", e.Keys), func(round int) error {
		for _, groups := range counts {
			took, err := restartNode(ctx, clusters[groups], round%nodes)
			if err != nil {
				return err
			}
			f.add(groupSeries(groups), "", restartSeconds, took.Seconds())
		}
		return nil
	}); err != nil {
		return err
	}
	clusters[1].Stop()
	delete(clusters, 1)
	return joinUnderLoad(ctx, e, clusters[joinGroups], f)
}

// restartNode ends a node and starts it again. The time is until it has everything.
func restartNode(ctx context.Context, inst *Instance, number int) (time.Duration, error) {
	inst.processes[number].stop()
	began := time.Now()
	if err := inst.startNode(ctx, number); err != nil {
		return 0, err
	}
	err := awaitHealthy(ctx, inst.Nodes[number])
	return time.Since(began), err
}

// joinUnderLoad sends half as many requests as the nodes answer at most, first to these and then while another one
// joins.
func joinUnderLoad(ctx context.Context, e Env, inst *Instance, f Figures) error {
	founders := inst.Nodes[:nodes:nodes]
	send := respSenders(keyed(expand(throttleTemplate, "joi:{key}", manyKeys.Limit)...), true)
	p := pace{connections, joinPipeline, randomKeys, 0, max(joinAtLeast, joinTurns*e.Cell)}
	peakLoad := p
	peakLoad.duration = joinAtLeast
	top, err := peakLoad.at(ctx, inst, founders, send)
	if err != nil {
		return err
	}
	p.perSecond = top.PerSecond / 2
	return e.rounds(1, fmt.Sprintf("a node joins at %.0f requests a second", p.perSecond), func(round int) error {
		before, err := p.at(ctx, &Instance{}, founders, send) // whose processes may have ended
		if err != nil {
			return err
		}
		f.addJoin(withoutJoin, before)
		for _, load := range []string{whileJoins, whileIdleJoins} {
			joined := make(chan error, 1)
			number := len(inst.Nodes)
			go func() { joined <- joinLater(ctx, inst, number, load, f) }()
			during, err := p.at(ctx, &Instance{}, founders, send)
			if err := errors.Join(err, <-joined); err != nil {
				return diagnose(inst, err)
			}
			f.addJoin(load, during)
			if err := leave(ctx, inst, number); err != nil {
				return err
			}
		}
		return nil
	})
}

// joinLater has a node join while the load runs.
func joinLater(ctx context.Context, inst *Instance, number int, load string, f Figures) error {
	if err := pause(ctx, joinedAfter); err != nil {
		return err
	}
	began := time.Now()
	if err := inst.startNode(ctx, number); err != nil {
		return err
	}
	joiner := inst.processes[number]
	if load == whileIdleJoins {
		if err := schedule(joiner, "--idle"); err != nil {
			return err
		}
	}
	err := errors.Join(awaitHealthy(ctx, inst.Nodes[number]), schedule(joiner, "--other"))
	f.add(groupSeries(joinGroups), load, joinSeconds, time.Since(began).Seconds())
	return err
}

// schedule changes the policy by which a process is given the CPU. With --idle it has only the time that no other
// process uses.
func schedule(p *process, policy string) error {
	out, err := exec.Command("chrt", "--all-tasks", policy, "--pid", "0", fmt.Sprint(p.cmd.Process.Pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chrt %s: %w: %s", policy, err, out)
	}
	return nil
}

func (f Figures) addJoin(load string, s Sample) {
	f.add(groupSeries(joinGroups), load, p50, s.P50ms)
	f.add(groupSeries(joinGroups), load, p99, s.P99ms)
	f.add(groupSeries(joinGroups), load, errorsSeen, float64(s.Errors))
	f.add(groupSeries(joinGroups), load, notSent, float64(s.NotSent))
}

// leave removes the last node, so that another can join.
func leave(ctx context.Context, inst *Instance, number int) error {
	if _, err := ask(inst.Nodes[0], "RAFT", "REMOVE", nodeName(number)); err != nil {
		return err
	}
	inst.processes[number].stop()
	_, _, err := awaitSpread(ctx, inst, joinGroups, joinGroups)
	return err
}

func joinTables(e Env, f Figures) []Table {
	series := groupSeries(joinGroups)
	restart := f.table(fmt.Sprintf("A node with %s keys, started again", formatCount(float64(e.Keys))), "From SIGTERM's end until it is healthy.", []string{"groups"},
		[]line{{[]string{"1"}, groupSeries(1), ""}, {[]string{fmt.Sprint(joinGroups)}, series, ""}},
		figure(restartSeconds, formatFigure), versus(restartSeconds, groupSeries(1), "1 group"))
	return []Table{restart, f.table("A node joins three with 12 groups", "At half of the most that the three answer. Any node answers any key, so there are no MOVED.", []string{""},
		[]line{{[]string{withoutJoin}, series, withoutJoin}, {[]string{whileJoins}, series, whileJoins}, {[]string{whileIdleJoins}, series, whileIdleJoins}},
		figure(p50, formatFigure), figure(p99, formatFigure), summary(errorsSeen, errorsSeen, formatCount, sum), summary(notSent, notSent, formatCount, sum), figure(joinSeconds, formatFigure))}
}

func joinTargets(Env) []Target {
	series := groupSeries(joinGroups)
	const coresAreBusy = "the three use 1.5 of two cores at that rate, and the new one needs the rest: the next row is without that"
	return []Target{
		{Name: "a node joins three with 12 groups, errors", AtMost: true, Figure: Key{series, whileJoins, errorsSeen}, of: sum},
		{Name: "a node joins three with 12 groups, p99 vs without", Unit: "x", AtMost: true, Bound: 2, Why: coresAreBusy, Figure: Key{series, whileJoins, p99}, Versus: Key{series, withoutJoin, p99}},
		{Name: "a node joins with the CPU that nothing else uses, p99 vs without", Unit: "x", AtMost: true, Bound: 2, Figure: Key{series, whileIdleJoins, p99}, Versus: Key{series, withoutJoin, p99}},
		{Name: "a node started again, 12 groups vs one", Unit: "x", AtMost: true, Bound: 1.2, Figure: Key{series, "", restartSeconds}, Versus: Key{groupSeries(1), "", restartSeconds}},
	}
}
