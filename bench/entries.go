package main

import (
	"context"
	"time"
)

// The figures of the log's entries, of all nodes together, which are the rows of a table.
const (
	entryCPU       = "µs CPU of an entry, without its grants"
	grantsPerEntry = "grants in an entry, 200 connections, P=1"
	idleCPU        = "µs CPU in a second without requests"
)

// An entryLoad is what clients that send one request at a time cause.
type entryLoad struct {
	micros  float64 // CPU of all nodes per grant, without the CPU of idle nodes
	entries float64 // per grant
}

// addEntries adds the cost of an entry. A grant costs the same in both loads, beside its part of an entry.
func (f Figures) addEntries(idle float64, one, crowd entryLoad) {
	f.add(clusterThrottle, "", idleCPU, idle)
	f.add(clusterThrottle, "", grantsPerEntry, 1/crowd.entries)
	f.add(clusterThrottle, "", entryCPU, (one.micros-crowd.micros)/(one.entries-crowd.entries))
}

// measureEntries has one connection, which gives each grant an entry, and then many, which share entries.
func measureEntries(ctx context.Context, e Env, inst *Instance, f Figures) error {
	crowdPerSecond, onePerSecond := median(f[Key{clusterThrottle, clusterCells[2].ID(), throughput}]), 1000.0
	return e.rounds(0, "an entry of the log", func(round int) error { // 0 only measures the speed
		if err := findLeader(ctx, inst); err != nil {
			return err
		}
		idle, err := idleMicros(inst, e.Cell)
		if err != nil {
			return err
		}
		one, err := driveEntries(ctx, e, inst, 1, &onePerSecond, idle)
		if err != nil {
			return err
		}
		crowd, err := driveEntries(ctx, e, inst, slowConnections, &crowdPerSecond, idle)
		if err == nil && round > 0 {
			f.addEntries(idle, one, crowd)
		}
		return err
	})
}

// idleMicros is the CPU time that all nodes use in a second without requests.
func idleMicros(inst *Instance, d time.Duration) (float64, error) {
	before, err := cpuTime(inst.PIDs())
	if err != nil {
		return 0, err
	}
	time.Sleep(d)
	after, err := cpuTime(inst.PIDs())
	return float64((after - before).Microseconds()) / d.Seconds(), err
}

// driveEntries sends one request at a time over each connection, and notes its speed for the next round.
func driveEntries(ctx context.Context, e Env, inst *Instance, connections int, perSecond *float64, idle float64) (l entryLoad, err error) {
	before, err := infoNumber(inst.Addr, "cluster", "raft_entries")
	if err != nil {
		return l, err
	}
	args := expand(throttleTemplate, "ent:"+randomSuffix, manyKeys.Limit)
	s, err := drive(ctx, inst, connections, 1, requestsFor(*perSecond, e.Cell, connections, 1), args)
	if err != nil {
		return l, diagnose(inst, err)
	}
	after, err := infoNumber(inst.Addr, "cluster", "raft_entries")
	*perSecond = s.PerSecond
	return entryLoad{s.CPUMicros - idle/s.PerSecond, (after - before) / float64(s.Requests)}, err
}

// entryTable shows them.
func entryTable(f Figures) Table {
	t := Table{Title: "Three nodes: entries of the log", Words: 1, Header: []string{"what", "measured"},
		Note: "The cost of an entry is that of a request on one connection, which has an entry to itself, less that of a request on 200 connections, which share entries."}
	for _, metric := range []string{entryCPU, grantsPerEntry, idleCPU} {
		t.Rows = append(t.Rows, []string{metric, formatFigure(median(f[Key{clusterThrottle, "", metric}]))})
	}
	return t
}
