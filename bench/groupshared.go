package main

import (
	"context"
	"fmt"
	"time"
)

// Each request takes a token of one of many users, which is an entry of the log, and one of a bucket that all groups
// share.
const (
	sharedGroups  = 12
	sharedUsers   = 10_000
	sharedAsked   = 6000 // a second
	sharedAtLeast = 3 * time.Second
	sharedLonger  = 4               // times as long over the limit: at the end some tokens are on loan, 80 or so however long it took
	sharedSettles = 2 * time.Second // until tokens that nobody uses are back, and all entries applied

	// clocksDiffer is how much more than by the clock here the cluster's time may have allowed: nodes' clocks are
	// followed so fast at most.
	clocksDiffer = 1.0005
)

// sharedLimits are asked for as often: one is not reached, the other three times over. More requests would be the
// load's limit, not the bucket's.
var sharedLimits = []int{bucketPerSecond, sharedAsked / 3}

// sharedLoad is a Key.Load.
func sharedLoad(limit int) string { return fmt.Sprintf("%d/s of %d/s", sharedAsked, limit) }

// measureShared asks a shared bucket under and over its limit, each time a new one.
func measureShared(ctx context.Context, e Env, f Figures) error {
	options := append(patient(e), "--groups", fmt.Sprint(sharedGroups), "--cluster-shared", "all:*")
	inst, err := startNodes(e.binary, nodeSetup{options: options})(ctx, "stint-shared", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if _, _, err := awaitSpread(ctx, inst, sharedGroups, 1); err != nil {
		return diagnose(inst, err)
	}
	return e.rounds(1, "a limit that 12 groups share", func(round int) error {
		for _, limit := range sharedLimits {
			if err := askShared(ctx, e, inst, round, limit, f); err != nil {
				return diagnose(inst, err)
			}
		}
		return nil
	})
}

func askShared(ctx context.Context, e Env, inst *Instance, round, limit int, f Figures) error {
	send := respSenders(keyed("RL.ALL", "TB", fmt.Sprint("usr:", round, limit, ":{key}"), "1000000", "1000000/d", "TB", fmt.Sprintf("all:%d-%d", limit, round),
		fmt.Sprint(limit), fmt.Sprintf("%d/s", limit)), false)
	load := pace{connections, bucketPipeline, sharedUsers, sharedAsked, max(sharedAtLeast, bucketTurns*e.Cell)}
	if sharedAsked < limit { // as in fillBucket; until nodes know the demand
		first := load
		first.duration = time.Second
		if _, err := first.at(ctx, inst, inst.entrances(), send); err != nil {
			return err
		}
	}
	if sharedAsked > limit {
		load.duration *= sharedLonger
	}
	before, err := operationsIn(inst)
	if err != nil {
		return err
	}
	s, err := load.at(ctx, inst, inst.entrances(), send)
	if err != nil {
		return err
	}
	if s.Errors > 0 {
		return fmt.Errorf("%d of %d requests were answered with an error, the first: %w", s.Errors, s.Requests, s.FirstError)
	}
	if err := pause(ctx, sharedSettles); err != nil {
		return err
	}
	after, err := operationsIn(inst)
	if err != nil {
		return err
	}
	series, ideal := groupSeries(sharedGroups), float64(limit)*(1+s.Seconds)
	f.addSample(series, sharedLoad(limit), s)
	f.add(series, sharedLoad(limit), admitted, float64(s.Granted)/min(ideal, float64(s.Requests)))
	f.add(series, sharedLoad(limit), operations, 1000*(after-before-float64(s.Granted))/float64(max(1, s.Granted))) // a grant itself is one
	f.add(series, sharedLoad(limit), beyond, max(0, float64(s.Granted)-ideal*clocksDiffer))
	return nil
}

func sharedTables(_ Env, f Figures) []Table {
	var lines []line
	for _, limit := range sharedLimits {
		lines = append(lines, line{[]string{sharedLoad(limit)}, groupSeries(sharedGroups), sharedLoad(limit)})
	}
	return []Table{f.table("RL.ALL of a user and a bucket that 12 groups share",
		"At all of three nodes. Log operations are those beside the grants themselves: loans between groups, and what is left of them. Admitted is the part of an ideal bucket's grants to the same load, and beyond what was more. CPU is that of all nodes.",
		[]string{"asked"}, lines, column{header: "sent/s", metrics: []string{throughput}, format: formatCount}, figure(operations, formatFigure), figure(admitted, formatPercent),
		summary("beyond", beyond, formatCount, sum), figure(p99, formatFigure), figure(cpu, formatFigure))}
}

func sharedTargets(Env) (all []Target) {
	under, over := sharedLoad(sharedLimits[0]), sharedLoad(sharedLimits[1])
	series, name := groupSeries(sharedGroups), "a limit that 12 groups share, "
	for _, load := range []string{under, over} {
		all = append(all, Target{Name: name + load + ", granted beyond it", AtMost: true, Figure: Key{series, load, beyond}, of: sum})
	}
	return append(all,
		Target{Name: name + under + ", operations in the log", Unit: "per 1,000 grants", AtMost: true, Bound: 30, Figure: Key{series, under, operations}},
		Target{Name: name + over + ", admitted", Unit: "%", Bound: 99.5, Scale: 100, Figure: Key{series, over, admitted}})
}
