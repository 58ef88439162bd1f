package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A Series is one row of the tables: a command on a server.
type Series struct {
	Server  *Server
	Command Command
}

// ID names a series in figures and targets: "stint CL.THROTTLE".
func (s Series) ID() string { return s.Server.Name + " " + s.Command.Name }

// Title names it for people: "Redis + Lua GCRA", "Stint PING".
func (s Series) Title() string { return s.Server.Title + " " + s.Command.Name }

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
// without a key or a limit do the same in each, and so run in the first only.
func (s Series) runsIn(w Workload) bool {
	return s.Command.Keyed() && !s.Command.FirstWorkload || w.Name == manyKeys.Name
}

// rounds calls f for each round, and shows its progress.
func (e Env) rounds(first int, what string, f func(round int) error) error {
	for round := first; round <= e.Rounds; round++ {
		fmt.Fprintf(os.Stderr, "round %d/%d: %s\n", round, e.Rounds, what)
		if err := f(round); err != nil {
			return err
		}
	}
	return nil
}

// A sideBySide has servers that all run at the same time, and measures them in turns: in every round, for every cell,
// server after server, so that other load on the machine affects all of them.
type sideBySide struct {
	Env
	title     string
	cells     []Cell
	series    []Series
	instances map[string]*Instance // by Server.Name
	figures   Figures

	generators int                                                                              // redis-benchmarks at a time, 0 is one
	before     func(ctx context.Context, inst *Instance, c Command, cell Cell, round int) error // of each sample; may be nil
	after      func(ctx context.Context, round int) error                                       // of each round; may be nil
}

// startSideBySide starts the servers, which stop ends.
func startSideBySide(ctx context.Context, e Env, servers []Server, title string, cells []Cell, f Figures) (s *sideBySide, stop func(), err error) {
	s = &sideBySide{Env: e, title: title, cells: cells, series: seriesOf(servers), figures: f}
	s.instances, stop, err = startAll(ctx, servers)
	return s, stop, err
}

func (s *sideBySide) run(ctx context.Context) error {
	return s.rounds(1, s.title, func(round int) error {
		for _, cell := range s.cells {
			for _, series := range s.series {
				if !series.runsIn(cell.Workload) {
					continue
				}
				if err := s.measure(ctx, series, cell, round); err != nil {
					return fmt.Errorf("%s, %s: %w", series.Title(), cell.Title(), diagnose(s.instances[series.Server.Name], err))
				}
			}
		}
		if s.after != nil {
			return s.after(ctx, round)
		}
		return nil
	})
}

// measure adds one sample to a cell. The first round starts with a short probe, which also warms the server up; later
// rounds take the number of requests from the last sample.
func (s *sideBySide) measure(ctx context.Context, series Series, cell Cell, round int) error {
	inst := s.instances[series.Server.Name]
	if s.before != nil {
		if err := s.before(ctx, inst, series.Command, cell, round); err != nil {
			return err
		}
	}
	key := series.Command.Tag + ":" + cell.KeySuffix(round, cell.pipeline)
	args := series.Command.load(key, cell.Limit)
	addresses := slices.Repeat([]string{inst.Addr}, max(1, s.generators))
	if cell.Everywhere {
		addresses = inst.entrances()
	}
	perSecond := s.figures.last(Key{series.ID(), cell.ID(), throughput})
	if perSecond == 0 {
		probe, err := driveAt(ctx, inst, addresses, cell.connections(), cell.pipeline, probeTurns*cell.connections()*cell.pipeline, args)
		if err != nil {
			return err
		}
		perSecond = probe.PerSecond
	}
	sample, err := driveAt(ctx, inst, addresses, cell.connections(), cell.pipeline, requestsFor(perSecond, s.Cell, cell.connections(), cell.pipeline), args)
	if err != nil {
		return err
	}
	s.figures.addSample(series.ID(), cell.ID(), sample)
	return verify(inst, series.Command, key, cell.Workload)
}

// verify asks once more, after the load, and looks at the reply.
func verify(inst *Instance, c Command, key string, w Workload) error {
	key = strings.Replace(key, randomSuffix, fmt.Sprintf("%012d", c.keys()/2), 1)
	reply, err := ask(inst.Addr, expand(c.Template, key, w.Limit)...)
	if err != nil {
		return err
	}
	return c.Answer.check(reply, w.Granted && c.FullKeys == 0)
}

// diagnose adds the death of the server, if it died, to the error it caused.
func diagnose(inst *Instance, err error) error {
	time.Sleep(100 * time.Millisecond) // until the end of the process is noticed
	if died := inst.Died(); died != nil {
		return fmt.Errorf("%w\n%w", died, err)
	}
	return err
}
