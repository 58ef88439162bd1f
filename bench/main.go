// Command bench measures Stint beside Redis with a Lua GCRA script, and
// beside any other server that speaks RESP, in one run on one machine:
// throughput, latency, server CPU per request, memory per key.
//
// The load comes from redis-benchmark, and with a rate from the program itself (pace.go); servers take turns within
// every round (rounds.go), so that ratios hold even where absolute figures are noisy. The table in parts.go has
// everything that can be measured: how, its tables and its targets. See README.md.
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
	var err error
	if slices.Equal(os.Args[1:], []string{asYardstick}) {
		err = serveYardstick()
	} else {
		var settings Settings
		if settings, err = parseSettings(os.Args[1:], os.Stderr); errors.Is(err, flag.ErrHelp) {
			return
		}
		if err == nil {
			err = run(settings)
		}
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
	e := Env{Settings: settings, binary: filepath.Join(outDir, "stint")}
	if e.Servers, err = settings.pickAll(ctx, e.binary); err != nil {
		return err
	}
	report := &Report{Env: e, Date: time.Now(), Machine: describeMachine(root), Figures: map[string]Figures{}}
	kept, err := readKept(outDir, report)
	if err == nil && settings.Docs {
		err = kept.checkComplete(e)
	}
	if err != nil {
		return err
	}
	if err := buildStint(ctx, root, e.binary); err != nil {
		return err
	}
	before, err := readCPUUse(ctx, settings.Others)
	if err != nil {
		return err
	}
	if err := report.run(ctx); ctx.Err() != nil {
		return errors.New("interrupted")
	} else if err != nil {
		return err
	}
	after, err := readCPUUse(ctx, settings.Others)
	if err != nil {
		return err
	}
	report.OtherWork = after.since(before)
	return publish(root, report, kept)
}

func mkOutDir() error { return os.MkdirAll(outDir, 0o755) }
