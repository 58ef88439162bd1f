package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// steadyLatency is the latency of a load with a rate, in milliseconds.
type steadyLatency struct {
	P50 float64
	P99 float64
}

// A steadyLoad is the result of a load with a rate.
type steadyLoad struct {
	Requests  int
	Granted   int
	Errors    int
	NotSent   int
	Seconds   float64
	PerSecond float64
	Latency   steadyLatency
	CPUMicros float64 // per request, of the server
}

// A steadyPlan is a load with a rate, divided among the addresses.
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
func (p steadyPlan) latency(ctx context.Context) (steadyLatency, error) {
	load, err := p.run(ctx, nil)
	if err == nil && load.Granted != load.Requests {
		err = fmt.Errorf("%s: %d of %d requests were granted", strings.Join(p.command, " "), load.Granted, load.Requests)
	}
	return load.Latency, err
}

// run also measures the CPU time of an instance, if there is one. The sum has the latencies of the slowest address.
func (p steadyPlan) run(ctx context.Context, inst *Instance) (sum steadyLoad, err error) {
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
		all.Go(func() { loads[i], errs[i] = p.runAt(ctx, address) })
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

// runAt runs the load on one address. Error replies are counted; they are no error here.
func (p steadyPlan) runAt(ctx context.Context, address string) (steadyLoad, error) {
	perSecond := p.perSecond / float64(len(p.addresses))
	if p.perSecond > 0 {
		perSecond = max(1, perSecond)
	}
	load := pace{p.connections / len(p.addresses), p.pipeline, p.keys, perSecond, p.duration}
	s, err := load.run(ctx, respSenders(address, p.command, p.command[0] == "CL.THROTTLE"))
	return steadyLoad{Requests: s.Requests, Granted: s.Granted, Errors: s.Errors, NotSent: s.NotSent, Seconds: s.Seconds, PerSecond: s.PerSecond,
		Latency: steadyLatency{s.P50ms, s.P99ms}}, err
}
