package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A BucketReport has the grants of one token bucket at all nodes, beside those of one server.
type BucketReport struct {
	Samples map[bucketCell][]bucketSample // one a round
}

// A bucketCell is a server and a rate of requests.
type bucketCell struct {
	server string
	asked  int
}

// A bucketSample is a load on a bucket: a new one, or one that is asked already, under its limit.
type bucketSample struct {
	steadyLoad
	Operations float64 // carried out from the log
}

// The bucket, and the rates of requests under and over its limit.
const (
	bucketCapacity  = 10_000
	bucketPerSecond = 10_000
	bucketPipeline  = 16 // requests that are due together are sent together
)

var bucketRates = []int{6_000, 30_000}

// bucketTurns is the duration of a load in units of -cell, so that the beginning of a key counts little.
const bucketTurns = 3

// idealGrants is the number of requests that one bucket with this load grants.
func (s bucketSample) idealGrants() float64 {
	return min(float64(s.Requests), bucketCapacity+bucketPerSecond*s.Seconds)
}

// admitted is the part of the ideal grants.
func (s bucketSample) admitted() float64 { return float64(s.Granted) / s.idealGrants() }

// perThousand is the number of operations in the log for a thousand grants.
func (s bucketSample) perThousand() float64 { return 1000 * s.Operations / float64(max(1, s.Granted)) }

func (s bucketSample) cpuMicros() float64 { return s.CPUMicros }

// bucketServers is one Stint and three nodes.
func bucketServers(binary string, quick bool) []Server {
	return []Server{serverTable(binary)[1], aheadServer(binary, quick)}
}

// measureBucket sends every load to each server, to a new key.
func measureBucket(ctx context.Context, binary string, settings Settings) (*BucketReport, error) {
	b := &BucketReport{Samples: map[bucketCell][]bucketSample{}}
	servers := bucketServers(binary, settings.Quick)
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer stop()
	for round := range settings.Rounds {
		for _, asked := range bucketRates {
			fmt.Fprintf(os.Stderr, "round %d/%d: one bucket, %d requests a second\n", round+1, settings.Rounds, asked)
			for _, s := range servers {
				key := fmt.Sprintf("bucket-%d-%d", asked, round)
				sample, err := fillBucket(ctx, binary, instances[s.Name], key, asked, settings.Cell)
				if err != nil {
					return nil, diagnose(instances[s.Name], err)
				}
				cell := bucketCell{s.Name, asked}
				b.Samples[cell] = append(b.Samples[cell], sample)
			}
		}
	}
	return b, nil
}

func fillBucket(ctx context.Context, binary string, inst *Instance, key string, asked int, d time.Duration) (s bucketSample, err error) {
	plan := steadyPlan{inst.entrances(), connections, bucketPipeline, 1, float64(asked), bucketTurns * d,
		[]string{"TB.ACQUIRE", key, fmt.Sprint(bucketCapacity), fmt.Sprintf("%d/s", bucketPerSecond)}}
	if asked < bucketPerSecond { // every request is granted, so it does not matter that the bucket is not new
		warm := plan
		warm.duration = d
		if _, err := warm.run(ctx, nil); err != nil {
			return s, err
		}
	}
	before, err := operations(inst)
	if err != nil {
		return s, err
	}
	if s.steadyLoad, err = plan.run(ctx, inst); err != nil {
		return s, err
	}
	if s.Errors > 0 {
		return s, fmt.Errorf("%s: %d of %d requests were answered with an error", key, s.Errors, s.Requests)
	}
	after, err := operations(inst)
	s.Operations = after - before
	return s, err
}

// operations is how many operations of the log the leader of a cluster has carried out; 0 without a cluster.
func operations(inst *Instance) (float64, error) {
	if len(inst.Nodes) == 0 {
		return 0, nil
	}
	return infoNumber(inst.Addr, "cluster", "decisions")
}

// infoNumber reads a number from a section of INFO.
func infoNumber(address, section, name string) (float64, error) {
	reply, err := ask(address, "INFO", section)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(reply.text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+":"); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("INFO %s has no %s", section, name)
}
