package main

import (
	"context"
	"fmt"
	"time"
)

// Each request takes a token of one of many users, which is an entry of the log, and one of a bucket that all groups share.
const (
	sharedGroups  = 12
	sharedUsers   = 10_000
	sharedAtLeast = 3 * time.Second
	sharedSettles = 2 * time.Second // until tokens that nobody uses are back, and all entries applied

	// clocksDiffer is how much more than by the clock here the cluster's time may have allowed: nodes' clocks are followed so fast at most.
	clocksDiffer = 1.0005
)

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
		for _, asked := range bucketRates {
			if err := askShared(ctx, e, inst, round, asked, f); err != nil {
				return diagnose(inst, err)
			}
		}
		return nil
	})
}

func askShared(ctx context.Context, e Env, inst *Instance, round, asked int, f Figures) error {
	send := respSenders(keyed("RL.ALL", "TB", fmt.Sprint("usr:", round, asked, ":{key}"), "1000000", "1000000/d", "TB", fmt.Sprintf("all:%d-%d", asked, round),
		fmt.Sprint(bucketCapacity), fmt.Sprintf("%d/s", bucketPerSecond)), false)
	load := pace{connections, bucketPipeline, sharedUsers, float64(asked), max(sharedAtLeast, bucketTurns*e.Cell)}
	if asked < bucketPerSecond { // as in fillBucket; until nodes know the demand
		first := load
		first.duration = time.Second
		if _, err := first.at(ctx, inst, inst.entrances(), send); err != nil {
			return err
		}
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
	f.addBucket(groupSeries(sharedGroups), askedLoad(asked), s, after-before-float64(s.Granted)) // a grant itself is one
	f.add(groupSeries(sharedGroups), askedLoad(asked), beyond, max(0, float64(s.Granted)-bucketCapacity-bucketPerSecond*s.Seconds*clocksDiffer))
	return nil
}

func sharedTables(_ Env, f Figures) []Table {
	var lines []line
	for _, asked := range bucketRates {
		lines = append(lines, line{[]string{formatCount(float64(asked))}, groupSeries(sharedGroups), askedLoad(asked)})
	}
	return []Table{f.table(fmt.Sprintf("RL.ALL of a user and a bucket of %s tokens, %s/s, that 12 groups share", formatCount(bucketCapacity), formatCount(bucketPerSecond)),
		"At all of three nodes. Log operations are those beside the grants themselves: loans between groups, and what is left of them. Admitted is the part of an ideal bucket's grants to the same load, and beyond what was more. CPU is that of all nodes.",
		[]string{"asked/s"}, lines, column{header: "sent/s", metrics: []string{throughput}, format: formatCount}, figure(operations, formatFigure), figure(admitted, formatPercent),
		summary("beyond", beyond, formatCount, sum), figure(p99, formatFigure), figure(cpu, formatFigure))}
}

func sharedTargets(Env) (all []Target) {
	under, over := askedLoad(bucketRates[0]), askedLoad(bucketRates[1])
	series, name := groupSeries(sharedGroups), "a limit that 12 groups share, "
	for _, load := range []string{under, over} {
		all = append(all, Target{Name: name + load + ", granted beyond it", AtMost: true, Figure: Key{series, load, beyond}, of: sum})
	}
	return append(all,
		Target{Name: name + under + ", operations in the log", Unit: "per 1,000 grants", AtMost: true, Bound: 30, Figure: Key{series, under, operations}},
		Target{Name: name + over + ", admitted", Unit: "%", Bound: 99.5, Scale: 100, Figure: Key{series, over, admitted}})
}
