package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
)

// A market opens: a load rises to sixteen times within a moment. Each request needs a token of its user and one of a
// global limit. The incident has these sizes, at 285,000 requests per second; they are scaled to the machine.
const (
	marketRise    = 16.0
	marketPeak    = 285_000.0
	marketLimit   = 80_000.0
	marketUsers   = 1_400_000.0
	marketTurns   = 8    // duration after the opening, in units of -cell
	marketLoad    = 0.25 // ten processes share the CPUs
	marketBatches = 16   // requests that are due together are sent together

	peak = "requests/s after the opening" // a metric

	threeLevels  = "stint-levels"
	marketGlobal = "all-" // begins the keys of the global limit
)

// marketServers are those of a bucket, and sidecars of two zones: a sidecar has its users' limits, home the global one.
func marketServers(e Env) []Server {
	return append(bucketServers(e), Server{Name: threeLevels, Title: "Stint, four sidecars of two zones,", Start: startLevels(e.binary)})
}

// startLevels runs a home, two zones that lend its tokens on, and two sidecars of each, which clients ask.
func startLevels(binary string) func(context.Context, string, []string) (*Instance, error) {
	return func(ctx context.Context, name string, env []string) (*Instance, error) {
		path, err := filepath.Abs(binary)
		inst := &Instance{}
		start := func(part, kind string, options ...string) (address string) {
			if err != nil {
				return ""
			}
			var p *process
			if p, err = startProcess(ctx, name+"-"+part, env, append([]string{path, kind, "--listen", "127.0.0.1:0"}, options...)...); err != nil {
				return ""
			}
			inst.processes = append(inst.processes, p)
			return p.log.listening()[""]
		}
		inst.Addr = start("home", "server", "--admin", "")
		for zone := range 2 {
			address := start(fmt.Sprint("zone-", zone), "server", "--admin", "", "--upstream", inst.Addr, "--upstream-keys", "*")
			for beside := range 2 {
				inst.Nodes = append(inst.Nodes, start(fmt.Sprint("sidecar-", zone, beside), "sidecar", "--home", address, "--upstream-keys", marketGlobal+"*"))
			}
		}
		if err != nil {
			inst.Stop()
			return nil, err
		}
		return inst, nil
	}
}

// marketLoads are Key.Load, before and after the opening.
var marketLoads = []string{"before", "after"}

// measureMarket sends the same requests to each server: at most a quarter of what the slowest can answer.
func measureMarket(ctx context.Context, e Env, f Figures) error {
	servers := marketServers(e)
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return err
	}
	defer stop()
	slowest := math.Inf(1)
	for _, s := range servers {
		probe, err := askMarket(ctx, instances[s.Name], 1, 0, e.Cell, "probe", 1e9)
		if err != nil {
			return err
		}
		slowest = min(slowest, probe.PerSecond)
	}
	top := marketLoad * slowest
	f.add("", "", peak, top)
	return e.rounds(1, fmt.Sprintf("a market opens, from %.0f to %.0f requests a second", top/marketRise, top), func(round int) error {
		for _, s := range servers {
			if err := openMarket(ctx, e, s.Name, instances[s.Name], round, top, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// openMarket sends the load before and after the opening. Before it the global limit is not reached, so it is full at
// the opening.
func openMarket(ctx context.Context, e Env, server string, inst *Instance, round int, top float64, f Figures) error {
	scale := top / marketPeak
	limit := scale * marketLimit
	perSecond, duration := []float64{top / marketRise, top}, []time.Duration{e.Cell, marketTurns * e.Cell}
	for i, load := range marketLoads {
		s, err := askMarket(ctx, inst, scale, perSecond[i], duration[i], fmt.Sprint(marketGlobal, round), limit)
		if err != nil {
			return err
		}
		allowed := min(float64(s.Requests+s.NotSent), limit*(1+s.Seconds)) // by an ideal limit
		f.addSample(server, load, s)
		f.add(server, load, admitted, float64(s.Granted)/allowed)
		f.add(server, load, errorsSeen, float64(s.Errors))
		f.add(server, load, notSent, float64(s.NotSent))
	}
	return nil
}

// askMarket asks a limit for each user that few reach, and one for all.
func askMarket(ctx context.Context, inst *Instance, scale, perSecond float64, d time.Duration, global string, limit float64) (Sample, error) {
	send := respSenders(keyed("RL.ALL", "TB", "user:{key}", "20", "20/5s", "TB", global, fmt.Sprintf("%.0f", limit), fmt.Sprintf("%.0f/s", limit)), false)
	return pace{connections, marketBatches, int(max(1, scale*marketUsers)), perSecond, d}.at(ctx, inst, inst.entrances(), send)
}

func marketTables(e Env, f Figures) []Table {
	var lines []line
	for _, load := range marketLoads {
		for _, s := range marketServers(e) {
			lines = append(lines, line{[]string{load, strings.TrimSuffix(s.Title, ",")}, s.Name, load})
		}
	}
	top := median(f[Key{"", "", peak}])
	return []Table{f.table(fmt.Sprintf("A market opens: from %s to %s requests/s, %s/s allowed by one limit", formatCount(top/marketRise), formatCount(top),
		formatCount(marketLimit*top/marketPeak)),
		"RL.ALL takes a token of one of many users and one of a limit for all, at all nodes or sidecars. A sidecar has a limit of its own for each user. Allowed is that of an ideal bucket. p99 is that of the "+
			"slowest of three loads and counts from the time at which a request was due. CPU is that of all nodes together.",
		[]string{"", "server"}, lines,
		column{header: "sent/s", metrics: []string{throughput}, format: formatCount},
		column{header: "admitted of allowed, %", metrics: []string{admitted}, format: formatPercent},
		figure(p50, formatFigure), figure(p99, formatFigure), figure(errorsSeen, formatCount), figure(notSent, formatCount),
		figure(cpu, formatFigure), versus(cpu, oneServer, "one Stint"))}
}

func marketTargets(Env) []Target {
	after := marketLoads[1]
	return []Target{
		{Name: "a market opens, admitted of allowed", Unit: "%", Bound: 97, Scale: 100, Figure: Key{threeNodes, after, admitted}},
		{Name: "a market opens at sidecars, admitted of allowed", Unit: "%", Bound: 95, Scale: 100, Figure: Key{threeLevels, after, admitted}},
		{Name: "a market opens at sidecars, p99", Unit: "ms", Bound: 8, AtMost: true, Figure: Key{threeLevels, after, p99}},
	}
}
