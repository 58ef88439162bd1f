package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	warmUpKeys = 1000                   // so that buffers allocated once do not count
	settleFor  = 500 * time.Millisecond // before memory is read
)

// traceGC makes a Go server report its garbage collections.
var traceGC = []string{"GODEBUG=gctrace=1"}

// A server given with -other keeps the keys of earlier rounds and runs, so
// every run numbers its keys from somewhere else. The bounds leave the
// numbers below to the load of rounds.go and stay within 12 digits.
func firstKey() int { return 100_000_000_000 + rand.IntN(700_000_000_000) }

// weighAll measures memory per key, server after server in every round,
// each round in a fresh process where the server is ours.
func weighAll(ctx context.Context, e Env, series []Series, f Figures) error {
	first := firstKey()
	return e.rounds(1, fmt.Sprintf("memory of %d keys", e.Keys), func(round int) error {
		for _, s := range series {
			if !s.Command.Memory {
				continue
			}
			if err := weigh(ctx, s, first+round*(warmUpKeys+e.Keys), e.Keys, f); err != nil {
				return fmt.Errorf("%s, loading %d keys: %w", s.Title(), e.Keys, err)
			}
		}
		return nil
	})
}

func weigh(ctx context.Context, s Series, first, keys int, f Figures) error {
	var env []string
	if s.Server.GoRuntime {
		env = traceGC
	}
	inst, err := s.Server.Start(ctx, s.Server.Name+"-memory", env)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if len(inst.PIDs()) == 0 {
		return nil
	}
	bytes, err := growth(inst, keys, func(from, n int) error { return load(ctx, inst.Addr, s.Command, oncePerDay, first+from, n) })
	if err != nil {
		return err
	}
	f.add(s.ID(), "", bytesEach, bytes)
	if s.Server.GoRuntime {
		f.addGC(s.ID(), inst)
	}
	return nil
}

// growth is the resident memory that a server needs for each of n things, after some to warm it up.
func growth(inst *Instance, n int, fill func(from, n int) error) (bytesEach float64, err error) {
	var resident [2]int64
	for i, part := range [][2]int{{0, warmUpKeys}, {warmUpKeys, n}} {
		if err := fill(part[0], part[1]); err != nil {
			return 0, diagnose(inst, err)
		}
		time.Sleep(settleFor)
		if resident[i], err = residentBytes(inst.PIDs()); err != nil {
			return 0, err
		}
	}
	return float64(resident[1]-resident[0]) / float64(n), nil
}

// addGC adds the collections of a Go server from start-up until now. Of the pauses it has the longest single
// stop-the-world phase.
func (f Figures) addGC(series string, inst *Instance) {
	var cycles []gcCycle
	for _, p := range inst.processes {
		cycles = append(cycles, p.log.gcCycles()...)
	}
	if len(cycles) == 0 {
		return
	}
	var pauses, live []float64
	for _, c := range cycles {
		pauses, live = append(pauses, c.longest().Seconds()*1000), append(live, float64(c.LiveHeapMB))
	}
	f.add(series, "", gcPause, most(pauses))
	f.add(series, "", gcCycles, float64(len(cycles)))
	f.add(series, "", gcLive, most(live))
}
