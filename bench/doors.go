package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stintdb/stint/internal/child"
)

// A DoorsReport has the speed of Stint's HTTP and gRPC, each beside a server of the same library that only answers.
type DoorsReport map[string][]doorSample // by doorLoad.name; a sample per round

// A doorSample is the figures of a load in one round.
type doorSample struct {
	PerSecond float64
	CPUMicros float64 // of the server, per request
	P50, P99  float64 // ms, at half of the slower server's most
}

// A doorLoad is a server and the way to ask it. Those with the same protocol are compared.
type doorLoad struct {
	name     string
	protocol string // as ready lines have it; in small letters a flag of doors load
	stint    bool
}

// The names of the loads, which are the rows of the table.
const (
	doorNothing    = "HTTP: a handler that only answers 200"
	doorCheck      = "HTTP: Stint, POST /v1/check"
	doorRPCNothing = "gRPC: an empty handler"
	doorRLS        = "gRPC: Stint, Envoy's rate limit service"
)

var doorLoads = []doorLoad{
	{doorNothing, "HTTP", false}, {doorCheck, "HTTP", true},
	{doorRPCNothing, "gRPC", false}, {doorRLS, "gRPC", true},
}

// doorTurns is how often the loads take turns in a round, so that other work on the machine meets both.
const doorTurns = 5

// doorRules is a limit that grants every request.
const doorRules = "domain: doors\ndescriptors:\n  - key: id\n    rate_limit: {unit: day, requests_per_unit: 4000000000}\n"

// doorServers is both servers, and the program that asks them.
type doorServers struct {
	program   string
	instances map[bool]*Instance           // by doorLoad.stint
	addresses map[bool](map[string]string) // by doorLoad.stint and .protocol
}

// measureDoors has the loads take turns. The first round does not count.
func measureDoors(ctx context.Context, binary string, settings Settings) (DoorsReport, error) {
	rules, err := os.MkdirTemp("", "stint-doors")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(rules) }()
	if err := os.WriteFile(filepath.Join(rules, "doors.yaml"), []byte(doorRules), 0o600); err != nil {
		return nil, err
	}
	servers, err := startDoors(ctx, binary, rules)
	if err != nil {
		return nil, err
	}
	defer servers.stop()
	report := DoorsReport{}
	for round := range settings.Rounds + 1 {
		fmt.Fprintf(os.Stderr, "round %d/%d: HTTP and gRPC\n", round, settings.Rounds)
		for pair := range slices.Chunk(doorLoads, 2) {
			if err := servers.measurePair(ctx, pair, settings.Cell, round, report); err != nil {
				return nil, err
			}
		}
	}
	for name := range report {
		report[name] = report[name][1:]
	}
	return report, nil
}

// measurePair measures two loads, first each as fast as it can be, then both at the same rate. The first one of a round is the second of the next.
func (s *doorServers) measurePair(ctx context.Context, pair []doorLoad, cell time.Duration, round int, report DoorsReport) error {
	pair = slices.Clone(pair)
	if round%2 == 1 {
		slices.Reverse(pair)
	}
	samples := make([]doorSample, len(pair))
	for range doorTurns {
		for i, load := range pair {
			turn, err := s.drive(ctx, load, 0, cell/doorTurns)
			if err != nil {
				return err
			}
			samples[i].PerSecond += turn.PerSecond / doorTurns
			samples[i].CPUMicros += turn.CPUMicros / doorTurns
		}
	}
	half := min(samples[0].PerSecond, samples[1].PerSecond) / 2
	for i, load := range pair {
		steady, err := s.drive(ctx, load, half, cell)
		if err != nil {
			return err
		}
		samples[i].P50, samples[i].P99 = steady.P50, steady.P99
		report[load.name] = append(report[load.name], samples[i])
	}
	return nil
}

// drive runs one load.
func (s *doorServers) drive(ctx context.Context, load doorLoad, perSecond float64, duration time.Duration) (sample doorSample, err error) {
	inst := s.instances[load.stint]
	before, err := cpuTime(inst.PIDs())
	if err != nil {
		return sample, err
	}
	cmd := child.Command(ctx, s.program, "load", "-"+strings.ToLower(load.protocol), s.addresses[load.stint][load.protocol], "-workers", fmt.Sprint(connections),
		"-keys", fmt.Sprint(randomKeys), "-rate", fmt.Sprint(perSecond), "-duration", duration.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return sample, diagnose(inst, fmt.Errorf("%s: %w: %s", load.name, err, strings.TrimSpace(stderr.String())))
	}
	after, err := cpuTime(inst.PIDs())
	if err != nil {
		return sample, err
	}
	var result struct {
		Requests  int     `json:"requests"`
		PerSecond float64 `json:"requests_per_second"`
		P50       float64 `json:"p50"`
		P99       float64 `json:"p99"`
	}
	err = json.Unmarshal(out, &result)
	return doorSample{result.PerSecond, float64((after - before).Microseconds()) / float64(max(1, result.Requests)), result.P50, result.P99}, err
}
