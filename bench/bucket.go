package main

import (
	"context"
	"fmt"
	"strings"
)

// The bucket, and the rates of requests under and over its limit.
const (
	bucketCapacity  = 10_000
	bucketPerSecond = 10_000
	bucketPipeline  = 16 // requests that are due together are sent together
	bucketTurns     = 3  // the duration of a load in units of -cell, so that the beginning of a key counts little
)

var bucketRates = []int{6_000, 30_000}

// The metrics of one bucket, and of a market.
const (
	admitted   = "admitted, %" // the part of an ideal bucket's grants to the same load
	operations = "log operations per 1,000 grants"
	errorsSeen = "errors"
	notSent    = "not sent"
)

// The servers of a bucket and of a market: one Stint and three nodes.
const (
	oneServer  = "stint"
	threeNodes = "stint-ahead"
)

func bucketServers(e Env) []Server {
	return []Server{serverTable(e.binary)[1], aheadServer(e, threeNodes, "Stint, three nodes,", nodeSetup{})}
}

// askedLoad is a Key.Load.
func askedLoad(perSecond int) string { return fmt.Sprintf("%d/s asked", perSecond) }

// measureBucket sends every load to each server, to a new key.
func measureBucket(ctx context.Context, e Env, f Figures) error {
	servers := bucketServers(e)
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return err
	}
	defer stop()
	return e.rounds(1, "one bucket", func(round int) error {
		for _, asked := range bucketRates {
			for _, s := range servers {
				if err := fillBucket(ctx, e, s.Name, instances[s.Name], round, asked, f); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func fillBucket(ctx context.Context, e Env, server string, inst *Instance, round, asked int, f Figures) error {
	key := fmt.Sprintf("bucket-%d-%d", asked, round)
	send := respSenders(keyed("TB.ACQUIRE", key, fmt.Sprint(bucketCapacity), fmt.Sprintf("%d/s", bucketPerSecond)), false)
	load := pace{connections, bucketPipeline, 1, float64(asked), e.Cell}
	if asked < bucketPerSecond { // every request is granted, so it does not matter that the bucket is not new
		if _, err := load.at(ctx, inst, inst.entrances(), send); err != nil {
			return err
		}
	}
	load.duration *= bucketTurns
	before, err := operationsIn(inst)
	if err != nil {
		return err
	}
	s, err := load.at(ctx, inst, inst.entrances(), send)
	if err != nil {
		return err
	}
	if s.Errors > 0 {
		return fmt.Errorf("%s: %d of %d requests were answered with an error, the first: %w", key, s.Errors, s.Requests, s.FirstError)
	}
	after, err := operationsIn(inst)
	f.addBucket(server, askedLoad(asked), s, after-before)
	return err
}

func (f Figures) addBucket(server, load string, s Sample, inLog float64) {
	ideal := min(float64(s.Requests), bucketCapacity+bucketPerSecond*s.Seconds)
	f.addSample(server, load, s)
	f.add(server, load, admitted, float64(s.Granted)/ideal)
	f.add(server, load, operations, 1000*inLog/float64(max(1, s.Granted)))
}

// operationsIn is how many operations of the log the leader of a cluster has carried out; 0 without a cluster.
func operationsIn(inst *Instance) (float64, error) {
	if len(inst.Nodes) == 0 {
		return 0, nil
	}
	return infoNumber(inst.Addr, "cluster", "decisions")
}

func bucketTables(e Env, f Figures) []Table {
	var lines []line
	for _, asked := range bucketRates {
		for _, s := range bucketServers(e) {
			lines = append(lines, line{[]string{strings.TrimSuffix(s.Title, ","), formatCount(float64(asked))}, s.Name, askedLoad(asked)})
		}
	}
	return []Table{f.table(fmt.Sprintf("One bucket of %s tokens, %s/s, asked at all nodes", formatCount(bucketCapacity), formatCount(bucketPerSecond)),
		"Over the limit counted from the first request on a key, under it after another load. Admitted is the part of an ideal bucket's grants to the same load; the second ratio is to "+
			"one Stint. CPU is that of all nodes together.",
		[]string{"server", "asked/s"}, lines,
		column{header: "sent/s", metrics: []string{throughput}, format: formatCount}, figure(operations, formatFigure), figure(admitted, formatPercent),
		versus(admitted, oneServer, "one Stint"), figure(cpu, formatFigure), versus(cpu, oneServer, "one Stint"))}
}

func bucketTargets(Env) []Target {
	inLog := func(asked int, bound float64) Target {
		return Target{Name: fmt.Sprintf("operations in the log, one bucket of %d/s, %d/s asked", bucketPerSecond, asked), Unit: "per 1,000 grants", Bound: bound, AtMost: true,
			Figure: Key{threeNodes, askedLoad(asked), operations}}
	}
	over := askedLoad(bucketRates[1])
	return []Target{
		inLog(bucketRates[0], 5), inLog(bucketRates[1], 150),
		{Name: fmt.Sprintf("admitted, of the grants of one Stint, %d/s asked", bucketRates[1]), Unit: "%", Bound: 99.5, Scale: 100,
			Figure: Key{threeNodes, over, admitted}, Versus: Key{oneServer, over, admitted}},
	}
}
