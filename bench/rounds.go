package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Series is one row of the tables: a command on a server.
type Series struct {
	Server  *Server
	Command Command
}

// ID names a series in results, targets and JSON: "stint CL.THROTTLE".
func (s Series) ID() string { return s.Server.Name + " " + s.Command.Name }

// Title names it for people: "Redis + Lua GCRA", "Stint PING".
func (s Series) Title() string { return s.Server.Title + " " + s.Command.Name }

// A Cell is one number to be measured, once per round.
type Cell struct {
	Series   string // Series.ID
	Workload string // Workload.Name
	Pipeline int
}

// Results holds a sample per round for every cell.
type Results map[Cell][]Sample

// seriesOf lists the rows of all servers in table order.
func seriesOf(servers []Server) []Series {
	var all []Series
	for i := range servers {
		for _, c := range servers[i].Commands {
			all = append(all, Series{&servers[i], c})
		}
	}
	return all
}

// runsIn reports whether the series is measured in a workload: commands
// without a key do the same in each, and so run in the first only.
func (s Series) runsIn(w Workload) bool {
	return s.Command.Keyed() || w.Name == workloads[0].Name
}

// A rounder runs the cells, interleaved: in every round, for every workload and pipeline, it measures server after
// server, so that other load on the machine affects all of them.
type rounder struct {
	instances  map[string]*Instance // by Server.Name
	series     []Series
	cell       time.Duration
	rounds     int
	generators int // redis-benchmarks at a time, 0 is one
	progress   io.Writer
	results    Results
}

func (r *rounder) run(ctx context.Context) error {
	for round := range r.rounds {
		for _, w := range workloads {
			for _, p := range pipelines {
				fmt.Fprintf(r.progress, "round %d/%d: %s, pipeline %d\n", round+1, r.rounds, w.Title, p)
				for _, s := range r.series {
					if !s.runsIn(w) {
						continue
					}
					if err := r.measure(ctx, s, w, p, round); err != nil {
						return fmt.Errorf("%s, %s, pipeline %d: %w", s.Title(), w.Title, p, err)
					}
				}
			}
		}
	}
	return nil
}

// measure adds one sample to a cell. The first round starts with a short
// probe, which also warms the server up; later rounds take the number of
// requests from the last sample.
func (r *rounder) measure(ctx context.Context, s Series, w Workload, pipeline, round int) error {
	inst := r.instances[s.Server.Name]
	cell := Cell{s.ID(), w.Name, pipeline}
	key := s.Command.Tag + ":" + w.KeySuffix(round, pipeline)
	args := expand(s.Command.Template, key, w.Limit)

	addresses := slices.Repeat([]string{inst.Addr}, max(1, r.generators))
	if w.Everywhere {
		addresses = inst.entrances()
	}
	perSecond := 0.0
	if earlier := r.results[cell]; len(earlier) > 0 {
		perSecond = earlier[len(earlier)-1].PerSecond
	} else {
		probe, err := driveAt(ctx, inst, addresses, w.connections(), pipeline, probeTurns*w.connections()*pipeline, args)
		if err != nil {
			return diagnose(inst, err)
		}
		perSecond = probe.PerSecond
	}
	sample, err := driveAt(ctx, inst, addresses, w.connections(), pipeline, requestsFor(perSecond, r.cell, w.connections(), pipeline), args)
	if err != nil {
		return diagnose(inst, err)
	}
	if err := verify(inst, s.Command, key, w); err != nil {
		return diagnose(inst, err)
	}
	r.results[cell] = append(r.results[cell], sample)
	return nil
}

// verify asks once more, after the load, and looks at the reply.
func verify(inst *Instance, c Command, key string, w Workload) error {
	key = strings.Replace(key, randomSuffix, fmt.Sprintf("%012d", randomKeys/2), 1)
	reply, err := ask(inst.Addr, expand(c.Template, key, w.Limit)...)
	if err != nil {
		return err
	}
	return c.Answer.check(reply, w.Granted)
}

// diagnose adds the death of the server, if it died, to the error it caused.
func diagnose(inst *Instance, err error) error {
	time.Sleep(100 * time.Millisecond) // until the end of the process is noticed
	if died := inst.Died(); died != nil {
		return fmt.Errorf("%w\n%w", died, err)
	}
	return err
}
