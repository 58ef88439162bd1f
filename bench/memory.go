package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// A MemorySample is the result of loading new keys into one server once.
type MemorySample struct {
	BytesPerKey float64
	GC          *gcPauses // nil when the server is not a Go program of ours
}

// gcPauses sums up the collections from start-up to the last key loaded.
type gcPauses struct {
	Cycles     int
	Longest    time.Duration // the longest single stop-the-world phase
	LiveHeapMB int64         // the largest heap marked live
}

const (
	warmUpKeys = 1000                   // so that buffers allocated once do not count
	settleFor  = 500 * time.Millisecond // before memory is read
)

// A server given with -other keeps the keys of earlier rounds and runs, so
// every run numbers its keys from somewhere else. The bounds leave the
// numbers below to the load of rounds.go and stay within 12 digits.
func firstKey() int { return 100_000_000_000 + rand.IntN(700_000_000_000) }

// A weigher measures memory per key, server after server in every round,
// each round in a fresh process where the server is ours.
type weigher struct {
	series   []Series
	keys     int
	first    int // number of the first key
	rounds   int
	progress io.Writer
	results  map[string][]MemorySample // by Series.ID
}

func (m *weigher) run(ctx context.Context) error {
	for round := range m.rounds {
		for _, s := range m.series {
			if !s.Command.Memory {
				continue
			}
			fmt.Fprintf(m.progress, "round %d/%d: memory of %d keys, %s\n", round+1, m.rounds, m.keys, s.Title())
			sample, err := m.weigh(ctx, s, round)
			if err != nil {
				return fmt.Errorf("%s, loading %d keys: %w", s.Title(), m.keys, err)
			}
			if !math.IsNaN(sample.BytesPerKey) {
				m.results[s.ID()] = append(m.results[s.ID()], sample)
			}
		}
	}
	return nil
}

func (m *weigher) weigh(ctx context.Context, s Series, round int) (MemorySample, error) {
	var env []string
	if s.Server.GoRuntime {
		env = []string{"GODEBUG=gctrace=1"}
	}
	inst, err := s.Server.Start(ctx, s.Server.Name+"-memory", env)
	if err != nil {
		return MemorySample{}, err
	}
	defer inst.Stop()
	if len(inst.PIDs()) == 0 {
		return MemorySample{BytesPerKey: math.NaN()}, nil
	}

	fill := func(first, n int) (int64, error) {
		if err := load(ctx, inst.Addr, s.Command, oncePerDay, first, n); err != nil {
			return 0, diagnose(inst, err)
		}
		time.Sleep(settleFor)
		return residentBytes(inst.PIDs())
	}
	first := m.first + round*(warmUpKeys+m.keys)
	before, err := fill(first, warmUpKeys)
	if err != nil {
		return MemorySample{}, err
	}
	after, err := fill(first+warmUpKeys, m.keys)
	if err != nil {
		return MemorySample{}, err
	}
	sample := MemorySample{BytesPerKey: float64(after-before) / float64(m.keys)}
	if s.Server.GoRuntime {
		sample.GC = sumUpGC(inst)
	}
	return sample, nil
}

func sumUpGC(inst *Instance) *gcPauses {
	sum := &gcPauses{}
	for _, p := range inst.processes {
		for _, c := range p.log.gcCycles() {
			sum.Cycles++
			sum.Longest = max(sum.Longest, c.longest())
			sum.LiveHeapMB = max(sum.LiveHeapMB, c.LiveHeapMB)
		}
	}
	return sum
}

// longestPause is the longest of all rounds, in milliseconds (a median would
// not be the longest); NaN when no collection was seen.
func longestPause(samples []MemorySample) float64 {
	longest := math.NaN()
	for _, s := range samples {
		if s.GC != nil && s.GC.Cycles > 0 {
			longest = math.Max(s.GC.Longest.Seconds()*1000, orZero(longest))
		}
	}
	return longest
}

func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// bytesPerKey is the median over the rounds.
func bytesPerKey(samples []MemorySample) float64 {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, s.BytesPerKey)
	}
	return median(values)
}
