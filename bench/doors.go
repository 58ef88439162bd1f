package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A door is a protocol of a server, and the row of the table. Those with the same protocol are compared.
type door struct {
	name     string // Key.Series
	protocol string // as ready lines have it
	stint    bool   // else the server that only answers
	send     func(address string) connector
}

// The names of the doors with targets.
const (
	doorNothing    = "HTTP: a handler that only answers 200"
	doorCheck      = "HTTP: Stint, POST /v1/check"
	doorRPCNothing = "gRPC: an empty handler"
	doorRLS        = "gRPC: Stint, Envoy's rate limit service"
)

var doors = []door{
	{doorNothing, "HTTP", false, httpSenders}, {doorCheck, "HTTP", true, httpSenders},
	{doorRPCNothing, "gRPC", false, grpcSenders}, {doorRLS, "gRPC", true, grpcSenders},
}

// The loads of a door, which are Key.Load.
const (
	fullLoad = "as many as possible"
	halfLoad = "half of the slower server's most"
)

// doorTurns is how often the doors take turns in a round, so that other work on the machine meets both.
const doorTurns = 5

// doorRules is a limit that grants every request.
const doorRules = "domain: doors\ndescriptors:\n  - key: id\n    rate_limit: {unit: day, requests_per_unit: 4000000000}\n"

// measureDoors has the doors take turns. The first round does not count.
func measureDoors(ctx context.Context, e Env, f Figures) error {
	instances, err := startDoors(ctx, e)
	defer func() {
		for _, inst := range instances {
			inst.Stop()
		}
	}()
	if err != nil {
		return err
	}
	return e.rounds(0, "HTTP and gRPC", func(round int) error {
		counted := f
		if round == 0 {
			counted = Figures{}
		}
		for pair := range slices.Chunk(doors, 2) {
			if err := measurePair(ctx, e, instances, pair, round, counted); err != nil {
				return err
			}
		}
		return nil
	})
}

// startDoors starts the servers that only answer and Stint, by door.stint.
func startDoors(ctx context.Context, e Env) (instances map[bool]*Instance, err error) {
	instances = map[bool]*Instance{}
	program, err := os.Executable()
	if err != nil {
		return instances, err
	}
	p, err := startProcess(ctx, asYardstick, nil, program, asYardstick)
	if err != nil {
		return instances, err
	}
	instances[false] = &Instance{processes: []*process{p}}
	rules, err := dataDir("doors")
	if err != nil {
		return instances, err
	}
	if err := os.WriteFile(filepath.Join(rules, "doors.yaml"), []byte(doorRules), 0o600); err != nil {
		return instances, err
	}
	inst, err := startStint(e.binary, "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)(ctx, "stint-doors", nil)
	if err != nil {
		return instances, err
	}
	inst.dir, instances[true] = rules, inst
	_, err = ask(inst.Addr, strings.Fields("RL.POLICY SET doors TB doors:{} 1000001 30/60s")...)
	return instances, err
}

// measurePair measures two doors, first each as fast as it can be, then both at the same rate. The first one of a round
// is the second of the next.
func measurePair(ctx context.Context, e Env, instances map[bool]*Instance, pair []door, round int, f Figures) error {
	pair = slices.Clone(pair)
	if round%2 == 1 {
		slices.Reverse(pair)
	}
	send := func(d door, load pace) (Sample, error) {
		inst := instances[d.stint]
		return load.at(ctx, inst, []string{inst.processes[0].log.listening()[d.protocol]}, d.send)
	}
	full := make([]Sample, len(pair))
	for range doorTurns {
		for i, d := range pair {
			turn, err := send(d, pace{connections, 1, randomKeys, 0, e.Cell / doorTurns})
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			full[i].PerSecond += turn.PerSecond / doorTurns
			full[i].CPUMicros += turn.CPUMicros / doorTurns
		}
	}
	half := min(full[0].PerSecond, full[1].PerSecond) / 2
	for i, d := range pair {
		steady, err := send(d, pace{connections, 1, randomKeys, half, e.Cell})
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		f.addSample(d.name, fullLoad, full[i])
		f.addSample(d.name, halfLoad, steady)
	}
	return nil
}

func doorTables(_ Env, f Figures) []Table {
	var lines []line
	for _, d := range doors {
		lines = append(lines, line{[]string{d.name}, d.name, ""})
	}
	return []Table{f.table("HTTP and gRPC",
		fmt.Sprintf("%d requests at once on %d ids, from another process. Half load is half of the slower server's rate, for both. The handlers beside Stint's "+
			"read the request and answer without a body.", connections, randomKeys),
		[]string{"server"}, lines,
		column{header: "requests per second", metrics: []string{throughput}, format: formatCount, load: fullLoad},
		column{header: "server CPU per request, µs", metrics: []string{cpu}, format: formatFigure, load: fullLoad},
		column{header: "p50, p99 at half load, ms", metrics: []string{p50, p99}, format: formatFigure, load: halfLoad})}
}

func doorTargets(Env) []Target {
	compare := func(name, a, b string, bound float64) Target {
		return Target{Name: name, Unit: "x", Bound: bound, Figure: Key{a, fullLoad, throughput}, Versus: Key{b, fullLoad, throughput}}
	}
	return []Target{
		compare("/v1/check vs a handler that only answers 200, throughput", doorCheck, doorNothing, 0.8).
			because("of its CPU 40 % are system calls, a quarter is the handler and the engine, and the rest is net/http"),
		compare("Envoy's rate limit service vs an empty gRPC handler, throughput", doorRLS, doorRPCNothing, 0.7),
	}
}
