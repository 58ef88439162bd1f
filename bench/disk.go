package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// diskCells have targets.
var diskCells = cellsOf([]int{1, 16}, manyKeys)

// The series that targets about persistence compare, by Series.ID; onDisk has the figures of Stint beside the loads.
const (
	memoryOnly     = "stint-memory CL.THROTTLE"
	keepInterval   = "stint-interval CL.THROTTLE"
	keepAlways     = "stint-always CL.THROTTLE"
	redisSyncsEach = "redis-always Lua GCRA"
	onDisk         = "stint on disk"
)

// diskServers is the table of servers with state on disk, and one without to compare them with.
func diskServers(binary string) []Server {
	throttle := []Command{{Name: "CL.THROTTLE", Tag: "clt", Template: throttleTemplate, Answer: answerThrottle}}
	script := []Command{scripts[0].evalsha()}
	all := []Server{{Name: "stint-memory", Title: "Stint in memory only", Commands: throttle, Start: startStint(binary)}}
	for _, mode := range []string{"interval", "snapshot", "always"} {
		start := inDataDir(func(ctx context.Context, name, dir string, env []string) (*Instance, error) {
			return startStint(binary, "--dir", dir, "--durability", mode)(ctx, name, env)
		})
		all = append(all, Server{Name: "stint-" + mode, Title: "Stint --durability " + mode, Commands: throttle, Start: start})
	}
	for _, fsync := range []string{"everysec", "always"} {
		// The append-only file is never rewritten, so that its growth can be read.
		start := inDataDir(func(ctx context.Context, name, dir string, env []string) (*Instance, error) {
			return startRedisWith(ctx, name, env, "--dir", dir, "--appendonly", "yes", "--appendfsync", fsync, "--auto-aof-rewrite-percentage", "0")
		})
		all = append(all, Server{Name: "redis-" + fsync, Title: "Redis appendfsync " + fsync + " +", Commands: script, Start: start})
	}
	return all
}

// dataDir makes a directory for a server's state on the disk of the checkout.
func dataDir(name string) (string, error) {
	dir, err := os.MkdirTemp(outDir, name+"-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// inDataDir starts a server in a separate directory, which is removed when it stops.
func inDataDir(start func(ctx context.Context, name, dir string, env []string) (*Instance, error)) func(context.Context, string, []string) (*Instance, error) {
	return func(ctx context.Context, name string, env []string) (*Instance, error) {
		dir, err := dataDir(name)
		if err != nil {
			return nil, err
		}
		inst, err := start(ctx, name, dir, env)
		if err != nil {
			_ = os.RemoveAll(dir)
			return nil, err
		}
		inst.dir = dir
		return inst, nil
	}
}

// measureDisk measures throughput in each mode, the volume of the journal, recovery, and the latency of decisions while
// a snapshot is written.
func measureDisk(ctx context.Context, e Env, f Figures) error {
	s, stop, err := startSideBySide(ctx, e, diskServers(e.binary), "state on disk", diskCells, f)
	if err != nil {
		return err
	}
	defer stop()
	s.after = s.measureHot
	if err := s.run(ctx); err != nil {
		return err
	}
	stop()
	return e.rounds(1, fmt.Sprintf("recovery of %d keys, and decisions while they are written", e.Kept), func(int) error {
		return measureRecovery(ctx, e, f)
	})
}

// hotPipeline gives the highest rate.
const hotPipeline = 64

// measureHot drives one key on Stint in the mode interval and on Redis, and reads the bytes that each wrote. The calls
// are the same, so bytes per request can be compared although Redis executes fewer of them in the time.
func (s *sideBySide) measureHot(ctx context.Context, round int) error {
	written := func(server, template, field string, perSecond float64) (bytes float64, sample Sample, err error) {
		inst := s.instances[server]
		args := expand(template, "clt:"+hotKey.KeySuffix(round, hotPipeline), hotKey.Limit)
		before, err := infoNumber(inst.Addr, "persistence", field)
		if err != nil {
			return 0, sample, err
		}
		if sample, err = drive(ctx, inst, connections, hotPipeline, requestsFor(perSecond, s.Cell, connections, hotPipeline), args); err != nil {
			return 0, sample, diagnose(inst, err)
		}
		time.Sleep(settleFor) // until the last bytes are written
		after, err := infoNumber(inst.Addr, "persistence", field)
		return (after - before) / float64(sample.Requests), sample, err
	}
	journal, sample, err := written("stint-interval", throttleTemplate, "journal_written_bytes", 2_000_000)
	if err != nil {
		return err
	}
	aof, _, err := written("redis-everysec", scripts[0].evalsha().Template, "aof_current_size", 100_000)
	s.figures.add(onDisk, "", hotRate, sample.PerSecond)
	s.figures.add(onDisk, "", hotJournal, journal)
	s.figures.add(onDisk, "", hotAOF, aof)
	return err
}

// The figures of onDisk, which are the rows of the second table.
const (
	hotRate       = "requests per second on one hot key, interval, P=64"
	hotJournal    = "journal bytes per request at that rate"
	hotAOF        = "bytes per request of Redis's append-only file, the same calls"
	recoveryRate  = "recovery, keys per second"
	snapshotBytes = "snapshot, bytes per key"
	saveSeconds   = "writing the snapshot, seconds"
	quietP99      = "decisions at a steady rate, p99, ms"
	savingP99     = "the same while a snapshot is written, ms"
	addedP99      = "the difference, ms" // not shown
)

func diskTables(e Env, f Figures) []Table {
	var lines []line
	for _, s := range seriesOf(diskServers("")) {
		lines = append(lines, line{[]string{s.Title()}, s.ID(), ""})
	}
	var columns []column
	for _, c := range diskCells {
		columns = append(columns,
			column{header: fmt.Sprintf("P=%d", c.pipeline), metrics: []string{throughput}, format: formatCount, load: c.ID()},
			column{header: p99, metrics: []string{p99}, format: formatFigure, load: c.ID()},
			column{header: cpu, metrics: []string{cpu}, format: formatFigure, load: c.ID()})
	}
	rest := Table{
		Title: fmt.Sprintf("State on disk: volume, recovery and snapshots, %s keys of 16 bytes", formatCount(float64(e.Kept))),
		Words: 1, Header: []string{"what", "measured"},
	}
	for _, row := range []struct {
		metric string
		format func(float64) string
	}{
		{hotRate, formatCount}, {hotJournal, formatTiny}, {hotAOF, formatFigure}, {recoveryRate, formatCount},
		{snapshotBytes, formatFigure}, {saveSeconds, formatFigure}, {quietP99, formatFigure}, {savingP99, formatFigure},
	} {
		rest.Rows = append(rest.Rows, []string{row.metric, row.format(median(f[Key{onDisk, "", row.metric}]))})
	}
	return []Table{f.table("State on disk: throughput, requests per second, "+manyKeys.Title,
		"Redis logs the writes of its script, Stint the latest states of its limits. All on the disk of the checkout.",
		[]string{"server and command"}, lines, columns...), rest}
}

func diskTargets(Env) []Target {
	figure := func(name, unit, metric string, bound float64, atMost bool) Target {
		return Target{Name: name, Unit: unit, Bound: bound, AtMost: atMost, Figure: Key{onDisk, "", metric}}
	}
	journal := figure("journal vs Redis's append-only file, bytes per request on one hot key", "/ 1000", hotJournal, 1, true)
	journal.Versus, journal.Scale = Key{onDisk, "", hotAOF}, 1000
	recovery := figure("recovery, million keys per second", "M/s", recoveryRate, 3, false)
	recovery.Scale, recovery.Why = 1e-6, "six tenths of its CPU are the insertion of keys into their tables"
	const written = "of 100k random keys the state behind nearly every request is written to the journal"
	return []Target{
		compared("interval vs memory only, throughput", throughput, diskCells[0], keepInterval, memoryOnly, 0.95, false).because(written),
		compared("interval vs memory only, throughput", throughput, diskCells[1], keepInterval, memoryOnly, 0.95, false).because(written),
		compared("always vs Redis + Lua with appendfsync always, throughput", throughput, diskCells[0], keepAlways, redisSyncsEach, 2, false).
			because("both sync once for all connections that are ready"),
		journal, recovery,
		figure("snapshot per 16-byte key", "B", snapshotBytes, 40, true),
		figure("p99 of decisions added while a snapshot is written", "ms", addedP99, 2, true),
	}
}
