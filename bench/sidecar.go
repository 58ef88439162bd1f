package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The loads of a sidecar, which are the rows of the table.
const (
	besideAlone     = "one connection, one at a time"
	besidePipelined = "10 connections, pipelines of 16"
	besideAtRest    = "no request yet"
	besideManyKeys  = "10,000 keys"
)

// Figures of a sidecar alone.
const (
	readyAfter   = "ready after, ms"
	residentOwn  = "resident, its own, MB"
	residentFile = "resident, of the program's file, MB"
)

// besideKeys is the number of keys of the loads but the last: all of them are in demand, so that requests are granted
// from lent tokens.
const besideKeys = 10

// measureSidecar measures a new sidecar beside its home in each round. Requests come by a unix socket.
func measureSidecar(ctx context.Context, e Env, f Figures) error {
	home, err := startStint(e.binary)(ctx, "stint-home", nil)
	if err != nil {
		return err
	}
	defer home.Stop()
	return e.rounds(0, "a sidecar", func(round int) error {
		counted := f
		if round == 0 {
			counted = Figures{}
		}
		return besideOneHome(ctx, e, home.Addr, counted)
	})
}

func besideOneHome(ctx context.Context, e Env, home string, f Figures) error {
	folder, err := os.MkdirTemp("", "stint-sidecar")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, err := filepath.Abs(e.binary)
	if err != nil {
		return err
	}
	address, began := "unix:"+filepath.Join(folder, "s"), time.Now()
	p, err := startProcess(ctx, "stint-sidecar", nil, program, "sidecar", "--home", home, "--listen", address)
	if err != nil {
		return err
	}
	inst := &Instance{Addr: address, processes: []*process{p}}
	defer inst.Stop()
	f.add(besideAtRest, "", readyAfter, time.Since(began).Seconds()*1000)
	if err := f.addResident(besideAtRest, inst); err != nil {
		return err
	}
	send := respSenders(keyed("TB.ACQUIRE", "key:{key}", "1000000000", "1000000/1s"), false)
	for _, load := range []struct {
		name string
		pace
	}{
		{besideAlone, pace{1, 1, besideKeys, 0, e.Cell}},
		{besidePipelined, pace{10, 16, besideKeys, 0, e.Cell}},
		{besideManyKeys, pace{10, 16, 10_000, 20_000, e.Cell}},
	} {
		s, err := load.grantedAt(ctx, inst, []string{address}, send)
		if err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
		f.addSample(load.name, "", s)
		if err := f.addResident(load.name, inst); err != nil {
			return err
		}
	}
	return nil
}

// addResident adds the memory of an instance.
func (f Figures) addResident(series string, inst *Instance) error {
	for metric, field := range map[string]string{residentOwn: "RssAnon", residentFile: "RssFile"} {
		bytes, err := statusBytes(inst.PIDs(), field)
		if err != nil {
			return err
		}
		f.add(series, "", metric, float64(bytes)/1e6)
	}
	return nil
}

func sidecarTables(_ Env, f Figures) []Table {
	var lines []line
	for _, name := range []string{besideAtRest, besideAlone, besidePipelined, besideManyKeys} {
		lines = append(lines, line{[]string{name}, name, ""})
	}
	return []Table{f.table("A sidecar over a unix socket",
		fmt.Sprintf("TB.ACQUIRE on %d keys in demand; on 10,000 keys, 20,000 requests a second.", besideKeys),
		[]string{"load"}, lines,
		figure(readyAfter, formatFigure), figure(throughput, formatCount), figure(p50, formatFigure), figure(cpu, formatFigure),
		figure(residentOwn, formatFigure), figure(residentFile, formatFigure))}
}

// manyStacks is the cause of a goal that is missed.
const manyStacks = "half a kilobyte for each key in demand, as much garbage as half of the live memory, and the stacks of 256 operations on loans"

func sidecarTargets(Env) []Target {
	return []Target{
		{Name: "a sidecar's own memory with 10,000 keys", Unit: "MB", Bound: 15, AtMost: true, Figure: Key{besideManyKeys, "", residentOwn}, Why: manyStacks},
	}
}
