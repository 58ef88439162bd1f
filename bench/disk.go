package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// A DiskReport has the costs of state on disk.
type DiskReport struct {
	Series    []Series
	Results   Results
	Hot       []hotSample
	Recovered []recoverySample
	Pauses    []pauseSample
}

// diskPipelines are the pipelines with targets.
var diskPipelines = []int{1, 16}

// The series that targets about persistence compare, by Series.ID.
const (
	memoryOnly     = "stint-memory CL.THROTTLE"
	keepInterval   = "stint-interval CL.THROTTLE"
	keepSnapshot   = "stint-snapshot CL.THROTTLE"
	keepAlways     = "stint-always CL.THROTTLE"
	redisSyncsEach = "redis-always Lua GCRA"
)

// diskServers is the table of servers with state on disk, and one without to compare them with.
func diskServers(binary string) []Server {
	throttle := []Command{{Name: "CL.THROTTLE", Tag: "clt", Template: throttleTemplate, Answer: answerThrottle}}
	script := []Command{{Name: "Lua GCRA", Tag: "lua", Template: scriptTemplate, Answer: answerThrottle}}
	stint := func(mode string) Server {
		return Server{Name: "stint-" + mode, Title: "Stint --durability " + mode, Commands: throttle, Start: startStintKeeping(binary, mode)}
	}
	redis := func(name, fsync string) Server {
		return Server{Name: name, Title: "Redis appendfsync " + fsync + " +", Commands: script, Start: startRedisKeeping(fsync)}
	}
	return []Server{
		{Name: "stint-memory", Title: "Stint in memory only", Commands: throttle, Start: startStint(binary)},
		stint("interval"), stint("snapshot"), stint("always"),
		redis("redis-everysec", "everysec"), redis("redis-always", "always"),
	}
}

// dataDir makes a directory for a server's state on the disk of the checkout.
func dataDir(name string) (string, error) {
	dir, err := os.MkdirTemp(outDir, name+"-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// startStintKeeping runs Stint in a separate directory, which is removed when it stops.
func startStintKeeping(binary, mode string) func(context.Context, string, []string) (*Instance, error) {
	return inDataDir(func(ctx context.Context, name, dir string, env []string) (*Instance, error) {
		return startStint(binary, "--dir", dir, "--durability", mode)(ctx, name, env)
	})
}

// startRedisKeeping runs Redis with an append-only file that is never rewritten, so that its growth can be read.
func startRedisKeeping(fsync string) func(context.Context, string, []string) (*Instance, error) {
	return inDataDir(func(ctx context.Context, name, dir string, env []string) (*Instance, error) {
		return startRedisWith(ctx, name, env, "--dir", dir, "--appendonly", "yes", "--appendfsync", fsync, "--auto-aof-rewrite-percentage", "0")
	})
}

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
func measureDisk(ctx context.Context, binary string, settings Settings) (*DiskReport, error) {
	servers := diskServers(binary)
	d := &DiskReport{Series: seriesOf(servers), Results: Results{}}
	if err := d.measureLoad(ctx, servers, settings); err != nil {
		return nil, err
	}
	for round := range settings.Rounds {
		fmt.Fprintf(os.Stderr, "round %d/%d: recovery of %d keys, and decisions while they are written\n", round+1, settings.Rounds, settings.Kept)
		if err := d.measureRecovery(ctx, binary, settings.Kept); err != nil {
			return nil, fmt.Errorf("recovery of %d keys: %w", settings.Kept, err)
		}
	}
	return d, nil
}

// measureLoad runs the servers side by side, in turns, as rounder does.
func (d *DiskReport) measureLoad(ctx context.Context, servers []Server, settings Settings) error {
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return err
	}
	defer stop()
	r := rounder{instances: instances, cell: settings.Cell, results: d.Results}
	for round := range settings.Rounds {
		for _, p := range diskPipelines {
			fmt.Fprintf(os.Stderr, "round %d/%d: state on disk, pipeline %d\n", round+1, settings.Rounds, p)
			for _, s := range d.Series {
				if err := r.measure(ctx, s, workloads[0], p, round); err != nil {
					return fmt.Errorf("%s, pipeline %d: %w", s.Title(), p, err)
				}
			}
		}
		fmt.Fprintf(os.Stderr, "round %d/%d: bytes written for one hot key\n", round+1, settings.Rounds)
		if err := d.measureHot(ctx, instances, settings.Cell, round); err != nil {
			return err
		}
	}
	return nil
}
