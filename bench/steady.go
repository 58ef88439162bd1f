package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/child"
)

// steadyLatency is the latency of a load with a rate, in milliseconds.
type steadyLatency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// A steadyLoad is the output of stint bench.
type steadyLoad struct {
	Requests  int           `json:"requests"`
	Granted   int           `json:"granted"`
	Errors    int           `json:"errors"`
	NotSent   int           `json:"not_sent"`
	Seconds   float64       `json:"seconds"`
	PerSecond float64       `json:"requests_per_second"`
	Latency   steadyLatency `json:"latency_ms"`
	CPUMicros float64       `json:"-"` // per request, of the server
}

// A steadyPlan is a load by stint bench, one process for each address.
type steadyPlan struct {
	addresses   []string
	connections int
	pipeline    int
	keys        int     // that {key} stands for
	perSecond   float64 // 0: as fast as possible
	duration    time.Duration
	command     []string
}

// latency asks at the rate, each request due at a time fixed in advance, and one at a time on a connection. Every request must be
// granted.
func (p steadyPlan) latency(ctx context.Context, binary string) (steadyLatency, error) {
	load, err := p.run(ctx, binary, nil)
	if err == nil && load.Granted != load.Requests {
		err = fmt.Errorf("%s: %d of %d requests were granted", strings.Join(p.command, " "), load.Granted, load.Requests)
	}
	return load.Latency, err
}

// run also measures the CPU time of an instance, if there is one. The sum has the latencies of the slowest process.
func (p steadyPlan) run(ctx context.Context, binary string, inst *Instance) (sum steadyLoad, err error) {
	var pids []int
	if inst != nil {
		pids = inst.PIDs()
	}
	before, err := cpuTime(pids)
	if err != nil {
		return sum, err
	}
	loads, errs := make([]steadyLoad, len(p.addresses)), make([]error, len(p.addresses))
	var all sync.WaitGroup
	for i, address := range p.addresses {
		all.Go(func() { loads[i], errs[i] = p.runAt(ctx, binary, address) })
	}
	all.Wait()
	after, err := cpuTime(pids)
	for _, l := range loads {
		sum.Requests += l.Requests
		sum.Granted += l.Granted
		sum.Errors += l.Errors
		sum.NotSent += l.NotSent
		sum.PerSecond += l.PerSecond
		sum.Seconds = max(sum.Seconds, l.Seconds)
		sum.Latency.P50, sum.Latency.P99 = max(sum.Latency.P50, l.Latency.P50), max(sum.Latency.P99, l.Latency.P99)
	}
	sum.CPUMicros = float64((after - before).Microseconds()) / float64(max(1, sum.Requests))
	return sum, errors.Join(append(errs, err)...)
}

// runAt runs one process. Error replies are counted; they are no error here.
func (p steadyPlan) runAt(ctx context.Context, binary, address string) (l steadyLoad, err error) {
	perSecond := p.perSecond / float64(len(p.addresses))
	if p.perSecond > 0 {
		perSecond = max(1, perSecond)
	}
	args := append([]string{"bench", "--server", address, "--connections", fmt.Sprint(p.connections / len(p.addresses)), "--pipeline", fmt.Sprint(p.pipeline),
		"--keys", fmt.Sprint(p.keys), "--rate", fmt.Sprint(perSecond), "--duration", p.duration.String(), "--json"}, p.command...)
	cmd := child.Command(ctx, binary, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if len(out) > 0 { // with an exit code, too, if there were error replies
		return l, json.Unmarshal(out, &l)
	}
	return l, fmt.Errorf("%s %s: %w: %s", binary, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
}
