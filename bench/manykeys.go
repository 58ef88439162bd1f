package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// manyKeysLimit keeps every key for years after one request, and grants all of the load.
var manyKeysLimit = Limit{Burst: 10_000, Count: 1, PeriodSeconds: 86_400}

const manyKeysPipeline = 16

// The servers, a row of the table each, in the order of a round: one has randomKeys.
const (
	fewKeys  = "few keys"
	veryMany = "many keys"
)

func measureManyKeys(ctx context.Context, e Env, f Figures) error {
	command := serverTable(e.binary)[1].Commands[0]
	names, keys := []string{fewKeys, veryMany}, []int{randomKeys, e.ManyKeys}
	var instances []*Instance
	for i, name := range names {
		inst, err := startStint(e.binary)(ctx, fmt.Sprintf("stint-many-keys-%d", i), traceGC)
		if err != nil {
			return err
		}
		defer inst.Stop()
		instances = append(instances, inst)
		fmt.Fprintf(os.Stderr, "%s: loading %d\n", name, keys[i])
		before, err := residentBytes(inst.PIDs())
		if err != nil {
			return err
		}
		if err := load(ctx, inst.Addr, command, manyKeysLimit, 0, keys[i]); err != nil {
			return diagnose(inst, err)
		}
		time.Sleep(settleFor)
		after, err := residentBytes(inst.PIDs())
		if err != nil {
			return err
		}
		if name == veryMany {
			f.add(name, "", bytesEach, float64(after-before)/float64(keys[i]))
		}
	}
	requests := []int{probeTurns * connections * manyKeysPipeline, probeTurns * connections * manyKeysPipeline}
	err := e.rounds(0, fmt.Sprintf("many keys, pipeline %d", manyKeysPipeline), func(round int) error { // 0 only measures the speed
		for i, name := range names {
			args := append([]string{"-r", fmt.Sprint(keys[i])}, expand(command.Template, command.Tag+":"+randomSuffix, manyKeysLimit)...)
			sample, err := drive(ctx, instances[i], connections, manyKeysPipeline, requests[i], args)
			if err != nil {
				return diagnose(instances[i], err)
			}
			if round > 0 {
				f.addSample(name, "", sample)
			}
			requests[i] = requestsFor(sample.PerSecond, e.Cell, connections, manyKeysPipeline)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n, err := askInteger(instances[1].Addr, "DBSIZE"); err != nil || n != int64(e.ManyKeys) {
		return fmt.Errorf("the server has %d keys in place of %d: %w", n, e.ManyKeys, err)
	}
	f.addGC(veryMany, instances[1])
	return nil
}

func manyKeysTables(e Env, f Figures) []Table {
	lines := []line{{[]string{fewKeys}, fewKeys, ""}, {[]string{veryMany}, veryMany, ""}}
	return []Table{f.table(fmt.Sprintf("Many keys: %s of 16 bytes beside %s, P=%d", formatCount(float64(e.ManyKeys)), formatCount(randomKeys), manyKeysPipeline),
		"CPU of the server per CL.THROTTLE on random keys, the sweep for expired keys included.",
		[]string{"server"}, lines, append([]column{figure(cpu, formatFigure), versus(cpu, fewKeys, fewKeys)}, memoryColumns...)...)}
}

func manyKeysTargets(Env) []Target {
	return []Target{
		{Name: "CPU per request, many keys vs few, P=16", Unit: "x", Bound: 1.25, AtMost: true, Figure: Key{veryMany, "", cpu}, Versus: Key{fewKeys, "", cpu}},
		{Name: "memory per 16-byte key, many keys", Unit: "B", Bound: 64, AtMost: true, Figure: Key{veryMany, "", bytesEach}},
		{Name: "longest GC pause, many keys", Unit: "ms", Bound: 1, AtMost: true, Figure: Key{veryMany, "", gcPause}},
	}
}
