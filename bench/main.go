// Command bench measures Stint beside Redis with a Lua GCRA script, and
// beside any other server that speaks RESP, in one run on one machine:
// throughput, latency, server CPU per request, memory per key.
//
// The load comes from redis-benchmark; servers take turns within every round (rounds.go), so that ratios hold even
// where absolute figures are noisy. All output is derived from the tables in servers.go and workloads.go; targets.go
// has the targets for the ratios. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// outDir is the directory for all output; git ignores it.
const outDir = "out"

func main() {
	settings, err := parseSettings(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(settings)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(settings Settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := checkPrerequisites(); err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	if err := mkOutDir(); err != nil {
		return err
	}
	binary := filepath.Join(outDir, "stint")
	servers, err := settings.pick(serverTable(binary))
	if err != nil {
		return err
	}
	if includes(servers, "stint") || slices.ContainsFunc(slices.Concat(ownParts, namedParts), settings.measures) {
		if err := buildStint(ctx, root, binary); err != nil {
			return err
		}
	}
	report := &Report{
		Date: time.Now(), Machine: describeMachine(root), Settings: settings,
		Series: seriesOf(servers), Results: Results{}, Memory: map[string][]MemorySample{},
	}
	before, err := readCPUUse(ctx, settings.Others)
	if err != nil {
		return err
	}
	if err := measure(ctx, servers, binary, report); ctx.Err() != nil {
		return errors.New("interrupted")
	} else if err != nil {
		return err
	}
	after, err := readCPUUse(ctx, settings.Others)
	if err != nil {
		return err
	}
	report.OtherWork = after.since(before)
	return publish(root, report)
}

// measure runs the measurements that the settings ask for.
func measure(ctx context.Context, servers []Server, binary string, report *Report) (err error) {
	settings := report.Settings
	if len(servers) > 0 {
		err = measureSideBySide(ctx, servers, report)
	}
	if err == nil && settings.measures(onlyCluster) {
		report.Cluster, err = measureCluster(ctx, binary, settings)
	}
	if err == nil && settings.measures(onlyReservations) {
		report.Reservations, err = measureReservations(ctx, binary, settings)
	}
	if err == nil && settings.measures(onlyDoors) {
		report.Doors, err = measureDoors(ctx, binary, settings)
	}
	if err == nil && settings.measures(onlyPersistence) {
		report.Disk, err = measureDisk(ctx, binary, settings)
	}
	if err == nil && settings.measures(onlyAhead) {
		report.Ahead, err = besideOne.measure(ctx, binary, besideOneServers(binary, settings.Quick), settings)
	}
	if err == nil && settings.measures(onlyLinks) {
		report.Links, err = overSlowLinks.measure(ctx, binary, slowLinkServers(binary, settings.Quick), settings)
	}
	if err == nil && settings.measures(onlyBucket) {
		report.Bucket, err = measureBucket(ctx, binary, settings)
	}
	if err == nil && settings.measures(onlyMarket) {
		report.Market, err = measureMarket(ctx, binary, settings)
	}
	if err == nil && settings.measures(onlyManyKeys) {
		report.ManyKeys, err = measureManyKeys(ctx, binary, settings)
	}
	return err
}

func mkOutDir() error { return os.MkdirAll(outDir, 0o755) }

func includes(servers []Server, name string) bool {
	for _, s := range servers {
		if s.Name == name {
			return true
		}
	}
	return false
}

// measureSideBySide measures the servers: first the load on servers that all run side by
// side, then memory, in separate processes.
func measureSideBySide(ctx context.Context, servers []Server, report *Report) error {
	if err := measureLoad(ctx, servers, report); err != nil {
		return err
	}
	w := weigher{
		series: report.Series, keys: report.Settings.Keys, first: firstKey(), rounds: report.Settings.Rounds,
		progress: os.Stderr, results: report.Memory,
	}
	return w.run(ctx)
}

func measureLoad(ctx context.Context, servers []Server, report *Report) error {
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return err
	}
	defer stop()
	r := rounder{
		instances: instances, series: report.Series, cell: report.Settings.Cell,
		rounds: report.Settings.Rounds, generators: report.Settings.Generators, progress: os.Stderr, results: report.Results,
	}
	return r.run(ctx)
}
