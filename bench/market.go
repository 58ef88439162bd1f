package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// A MarketReport has a load that rises to sixteen times within a moment, as when a market opens. Each request needs a token of its user
// and one of a global limit.
type MarketReport struct {
	Peak    float64                       // requests per second after the opening
	Samples map[marketCell][]marketSample // one a round
}

// A marketCell is a server, before or after the opening.
type marketCell struct {
	server string
	open   bool
}

// A marketSample is a load on a server.
type marketSample struct {
	steadyLoad
	allowed float64 // by an ideal limit
}

// The incident has these sizes, at 285,000 requests per second; they are scaled to the machine.
const (
	marketRise    = 16.0
	marketPeak    = 285_000.0
	marketLimit   = 80_000.0
	marketUsers   = 1_400_000.0
	marketTurns   = 3 // duration after the opening, in units of -cell
	marketLoad    = 0.5
	marketBatches = 16 // requests that are due together are sent together
)

// admitted is the part of the allowed requests that was granted.
func (s marketSample) admitted() float64 { return float64(s.Granted) / s.allowed }

// measureMarket sends half as many requests as one Stint answers at most, to one Stint and to three nodes.
func measureMarket(ctx context.Context, binary string, settings Settings) (*MarketReport, error) {
	m := &MarketReport{Samples: map[marketCell][]marketSample{}}
	servers := bucketServers(binary, settings.Quick)
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer stop()
	probe := marketPlan(instances["stint"], 1, 0, settings.Cell, "probe", 1e9)
	most, err := probe.run(ctx, nil)
	if err != nil {
		return nil, err
	}
	m.Peak = marketLoad * most.PerSecond
	for round := range settings.Rounds {
		fmt.Fprintf(os.Stderr, "round %d/%d: a market opens, from %.0f to %.0f requests a second\n", round+1, settings.Rounds, m.Peak/marketRise, m.Peak)
		for _, s := range servers {
			if err := m.open(ctx, binary, s.Name, instances[s.Name], round, settings.Cell); err != nil {
				return nil, diagnose(instances[s.Name], err)
			}
		}
	}
	return m, nil
}

// open sends the load before and after the opening. Before it the global limit is not reached, so it is full at the opening.
func (m *MarketReport) open(ctx context.Context, binary, server string, inst *Instance, round int, d time.Duration) error {
	scale := m.Peak / marketPeak
	limit := scale * marketLimit
	global := fmt.Sprintf("all-%d", round)
	for _, stage := range []struct {
		open      bool
		perSecond float64
		duration  time.Duration
	}{{false, m.Peak / marketRise, d}, {true, m.Peak, marketTurns * d}} {
		load, err := marketPlan(inst, scale, stage.perSecond, stage.duration, global, limit).run(ctx, inst)
		if err != nil {
			return err
		}
		cell := marketCell{server, stage.open}
		allowed := min(float64(load.Requests+load.NotSent), limit*(1+load.Seconds))
		m.Samples[cell] = append(m.Samples[cell], marketSample{load, allowed})
	}
	return nil
}

// marketPlan has a limit for each user that few reach, and one for all.
func marketPlan(inst *Instance, scale, perSecond float64, d time.Duration, global string, limit float64) steadyPlan {
	rate := fmt.Sprintf("%.0f/s", limit)
	return steadyPlan{inst.entrances(), connections, marketBatches, int(max(1, scale*marketUsers)), perSecond, d,
		[]string{"RL.ALL", "TB", "user:{key}", "20", "20/5s", "TB", global, fmt.Sprintf("%.0f", limit), rate}}
}
