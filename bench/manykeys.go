package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// A ManyKeysReport compares a server with very many keys with one that has randomKeys.
type ManyKeysReport struct {
	Keys   int
	Memory MemorySample         // of the one with many
	CPU    map[string][]float64 // by name of the server, per request, one a round, in microseconds
}

// manyKeysLimit keeps every key for years after one request, and grants all of the load.
var manyKeysLimit = Limit{Burst: 10_000, Count: 1, PeriodSeconds: 86_400}

const manyKeysPipeline = 16

// manyKeysServers are their names, in the order of a round.
var manyKeysServers = []string{"few keys", "many keys"}

func measureManyKeys(ctx context.Context, binary string, settings Settings) (*ManyKeysReport, error) {
	r := &ManyKeysReport{Keys: settings.ManyKeys, CPU: map[string][]float64{}}
	command := serverTable(binary)[1].Commands[0]
	keys := map[string]int{manyKeysServers[0]: randomKeys, manyKeysServers[1]: settings.ManyKeys}
	instances := map[string]*Instance{}
	for i, name := range manyKeysServers {
		inst, err := startStint(binary)(ctx, fmt.Sprintf("stint-many-keys-%d", i), []string{"GODEBUG=gctrace=1"})
		if err != nil {
			return nil, err
		}
		defer inst.Stop()
		instances[name] = inst
		fmt.Fprintf(os.Stderr, "%s: loading %d\n", name, keys[name])
		before, err := residentBytes(inst.PIDs())
		if err != nil {
			return nil, err
		}
		if err := load(ctx, inst.Addr, command, manyKeysLimit, 0, keys[name]); err != nil {
			return nil, diagnose(inst, err)
		}
		time.Sleep(settleFor)
		after, err := residentBytes(inst.PIDs())
		if err != nil {
			return nil, err
		}
		r.Memory = MemorySample{BytesPerKey: float64(after-before) / float64(keys[name])} // in the end that of the last
	}
	requests := map[string]int{}
	for round := range settings.Rounds + 1 { // the first tells the speed
		fmt.Fprintf(os.Stderr, "round %d/%d: many keys, pipeline %d\n", round, settings.Rounds, manyKeysPipeline)
		for _, name := range manyKeysServers {
			inst := instances[name]
			args := append([]string{"-r", fmt.Sprint(keys[name])}, expand(command.Template, command.Tag+":"+randomSuffix, manyKeysLimit)...)
			if round == 0 {
				requests[name] = probeTurns * connections * manyKeysPipeline
			}
			sample, err := drive(ctx, inst, connections, manyKeysPipeline, requests[name], args)
			if err != nil {
				return nil, diagnose(inst, err)
			}
			if round > 0 {
				r.CPU[name] = append(r.CPU[name], sample.CPUMicros)
			}
			requests[name] = requestsFor(sample.PerSecond, settings.Cell, connections, manyKeysPipeline)
		}
	}
	many := instances[manyKeysServers[1]]
	if n, err := askInteger(many.Addr, "DBSIZE"); err != nil || n != int64(settings.ManyKeys) {
		return nil, fmt.Errorf("the server has %d keys in place of %d: %w", n, settings.ManyKeys, err)
	}
	r.Memory.GC = sumUpGC(many)
	return r, nil
}

// askInteger asks for an integer.
func askInteger(addr string, args ...string) (int64, error) {
	r, err := ask(addr, args...)
	if err != nil {
		return 0, err
	}
	if len(r.integers) != 1 {
		return 0, fmt.Errorf("%v is answered %+v", args, r)
	}
	return r.integers[0], nil
}

// manyKeysSections is the table.
func manyKeysSections(m *ManyKeysReport) []Section {
	s := Section{
		Title:  fmt.Sprintf("Many keys: %s of 16 bytes beside %s, P=%d", formatCount(float64(m.Keys)), formatCount(randomKeys), manyKeysPipeline),
		Note:   "CPU of the server per CL.THROTTLE on random keys, the sweep for expired keys included.",
		Words:  1,
		Header: []string{"server", "µs CPU", "vs few keys", "bytes per key", "longest GC pause, ms", "GC cycles"},
	}
	for _, name := range manyKeysServers {
		row := []string{name, formatFigure(median(m.CPU[name])), formatUnit(ratioOf(m.CPU[name], m.CPU[manyKeysServers[0]]), "x"), "–", "–", "–"}
		if name == manyKeysServers[1] {
			row = append(row[:3], formatFigure(m.Memory.BytesPerKey), formatFigure(longestPause([]MemorySample{m.Memory})), fmt.Sprint(m.Memory.GC.Cycles))
		}
		s.Rows = append(s.Rows, row)
	}
	return []Section{s}
}

// manyKeysTargets is the table of targets for many keys.
func manyKeysTargets() []Target {
	return []Target{
		{Name: "CPU per request, many keys vs few, P=16", Unit: "x", Bound: 1.25, AtMost: true,
			measure: func(r *Report) float64 {
				return ratioOf(r.ManyKeys.CPU[manyKeysServers[1]], r.ManyKeys.CPU[manyKeysServers[0]])
			}},
		{Name: "memory per 16-byte key, many keys", Unit: "B", Bound: 64, AtMost: true,
			measure: func(r *Report) float64 { return r.ManyKeys.Memory.BytesPerKey }},
		{Name: "longest GC pause, many keys", Unit: "ms", Bound: 1, AtMost: true,
			measure: func(r *Report) float64 { return longestPause([]MemorySample{r.ManyKeys.Memory}) }},
	}
}
