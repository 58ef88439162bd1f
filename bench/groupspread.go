package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
)

// A spreadCluster has its leaders spread again after each of the spreadEvents.
type spreadCluster struct{ nodes, replicas int }

// spreadClusters run at the same time. The largest, of 108 replicas on each machine's cores if all nodes had each
// group, has three of each.
func spreadClusters(e Env) []spreadCluster {
	all := []spreadCluster{{3, 0}, {5, 3}, {9, 3}}
	if e.Quick {
		return all[:2]
	}
	return all
}

func (c spreadCluster) series() string { return fmt.Sprintf("%d nodes", c.nodes) }

const (
	spreadGroups = 12
	spreadTook   = "seconds"

	formed     = "forming"
	nodeKilled = "a node killed"
	nodeJoined = "a node joined"
)

var spreadEvents = []string{formed, nodeKilled, nodeJoined}

// measureSpread forms clusters, kills a node of each, which RAFT REMOVE then removes, and has another one join.
func measureSpread(ctx context.Context, e Env, f Figures) error {
	fmt.Fprintf(os.Stderr, "leaders of %d groups spread over nodes\n", spreadGroups)
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		found error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, c := range spreadClusters(e) {
		all.Go(func() {
			own := Figures{}
			err := c.measure(ctx, e, own)
			mu.Lock()
			defer mu.Unlock()
			for k, values := range own {
				f[k] = append(f[k], values...)
			}
			if err != nil && found == nil {
				found = fmt.Errorf("%s: %w", c.series(), err)
				cancel()
			}
		})
	}
	all.Wait()
	return found
}

func (c spreadCluster) measure(ctx context.Context, e Env, f Figures) error {
	options := append(patient(e), "--groups", fmt.Sprint(spreadGroups), "--cluster-replicas", fmt.Sprint(c.replicas))
	inst, err := startNodes(e.binary, nodeSetup{nodes: c.nodes, options: options})(ctx, fmt.Sprint("stint-spread-", c.nodes), nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	victim := c.nodes / 2
	for _, event := range spreadEvents {
		switch event {
		case nodeKilled:
			inst.processes[victim].kill()
		case nodeJoined:
			if _, err := ask(inst.living(), "RAFT", "REMOVE", nodeName(victim)); err != nil {
				return err
			}
			if err := inst.startNode(ctx, c.nodes); err != nil {
				return err
			}
		}
		spread, took, err := awaitSpread(ctx, inst, spreadGroups, 1)
		if err != nil {
			return fmt.Errorf("after %s: %w", event, err)
		}
		f.add(c.series(), event, ledSpread, float64(spread))
		f.add(c.series(), event, spreadTook, took.Seconds())
	}
	return nil
}

func (f Figures) spreadLines(e Env) (lines []line) {
	for _, c := range spreadClusters(e) {
		for _, event := range spreadEvents {
			replicas := "all"
			if c.replicas > 0 {
				replicas = fmt.Sprint(c.replicas)
			}
			lines = append(lines, line{[]string{fmt.Sprint(c.nodes), replicas, event}, c.series(), event})
		}
	}
	return lines
}

func spreadTables(e Env, f Figures) []Table {
	return []Table{f.table(fmt.Sprintf("Leaders of %d groups", spreadGroups),
		fmt.Sprintf("Of the nodes that run, and the time until the difference was at most one, %.0f s at most. A leader is moved where groups were uneven for 30 s, one each 2 s. The clusters run at the same time.", spreadWithin.Seconds()),
		[]string{"nodes", "replicas", "after"}, f.spreadLines(e), figure(ledSpread, formatCount), figure(spreadTook, formatFigure))}
}

func spreadTargets(e Env) (all []Target) {
	for _, l := range (Figures{}).spreadLines(e) {
		all = append(all, Target{Name: fmt.Sprintf("%s nodes, %d groups, %s after %s", l.words[0], spreadGroups, strings.ReplaceAll(ledSpread, ",", ""), l.load), AtMost: true, Bound: 1,
			Figure: Key{l.series, l.load, ledSpread}})
	}
	return all
}
