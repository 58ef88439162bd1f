package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
)

// A Sample has the results of one load, and of /proc before and after it.
type Sample struct {
	Requests     int
	PerSecond    float64
	P50ms, P99ms float64 // of a whole pipeline: the time until its last reply
	CPUMicros    float64 // server CPU per request; NaN when no process id is known
	Sleeps       float64 // of the server's threads, for 1,000 requests; NaN too

	// The following are a pace's; redis-benchmark has none of them.
	Seconds                  float64
	Granted, Errors, NotSent int
	FirstError               error
}

// The most that a run may exceed its duration before the program ends.
const (
	runTimeout  = 2 * time.Minute
	dialTimeout = 5 * time.Second
)

// drive sends n requests with redis-benchmark and returns its measurements.
func drive(ctx context.Context, inst *Instance, connections, pipeline, n int, args []string) (Sample, error) {
	return driveAt(ctx, inst, []string{inst.Addr}, connections, pipeline, n, args)
}

// driveAt divides the connections and the requests among several redis-benchmarks, one for each address of the
// instance.
func driveAt(ctx context.Context, inst *Instance, addresses []string, connections, pipeline, n int, args []string) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	inst.onDeath(ctx, cancel)
	return atOnce(inst, addresses, func(address string) (Sample, error) {
		return runRedisBenchmark(ctx, address, connections/len(addresses), pipeline, n/len(addresses), args)
	})
}

// atOnce runs a load for each address at the same time, and measures the CPU time of the instance, and its sleeps.
func atOnce(inst *Instance, addresses []string, run func(address string) (Sample, error)) (Sample, error) {
	sleptBefore, err := sleeps(inst.PIDs())
	if err != nil {
		return Sample{}, err
	}
	before, err := cpuTime(inst.PIDs())
	if err != nil {
		return Sample{}, err
	}
	samples, errs := make([]Sample, len(addresses)), make([]error, len(addresses))
	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() { samples[i], errs[i] = run(address) })
	}
	all.Wait()
	after, err := cpuTime(inst.PIDs())
	sleptAfter, err2 := sleeps(inst.PIDs())
	if err := errors.Join(append(errs, err, err2)...); err != nil {
		return Sample{}, err
	}
	s := together(samples)
	s.CPUMicros, s.Sleeps = math.NaN(), math.NaN()
	if len(inst.PIDs()) > 0 {
		s.Sleeps = float64(sleptAfter-sleptBefore) * 1000 / float64(s.Requests)
		s.CPUMicros = float64((after - before).Microseconds()) / float64(s.Requests)
	}
	return s, nil
}

// together adds up samples taken at the same time. The time and the latencies are the slowest sample's.
func together(samples []Sample) (sum Sample) {
	for _, s := range samples {
		sum.Requests += s.Requests
		sum.Seconds = max(sum.Seconds, float64(s.Requests)/s.PerSecond)
		sum.P50ms, sum.P99ms = max(sum.P50ms, s.P50ms), max(sum.P99ms, s.P99ms)
		sum.Granted, sum.Errors, sum.NotSent = sum.Granted+s.Granted, sum.Errors+s.Errors, sum.NotSent+s.NotSent
		if sum.FirstError == nil {
			sum.FirstError = s.FirstError
		}
	}
	sum.PerSecond = float64(sum.Requests) / sum.Seconds
	return sum
}

// runRedisBenchmark ends with an error at the first error reply. The sample has no CPU time.
func runRedisBenchmark(ctx context.Context, address string, connections, pipeline, n int, args []string) (Sample, error) {
	// Without a server redis-benchmark 7.0 does not end, but spins.
	if err := reachable(address); err != nil {
		return Sample{}, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Sample{}, err
	}
	argv := append([]string{
		"-h", host, "-p", port,
		"-c", strconv.Itoa(connections), "-P", strconv.Itoa(pipeline),
		"-n", strconv.Itoa(n), "-r", strconv.Itoa(randomKeys), "--csv",
	}, args...)
	cmd := testprocess.Command(ctx, "redis-benchmark", argv...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return Sample{}, fmt.Errorf("redis-benchmark: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	s, err := parseBenchmarkCSV(stdout.String())
	if err != nil {
		return Sample{}, fmt.Errorf("redis-benchmark: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	s.Requests = n
	return s, nil
}

func reachable(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		return err
	}
	return conn.Close()
}

// parseBenchmarkCSV reads the header and the one line of figures that
// redis-benchmark --csv prints; columns are found by name. With --cluster,
// the nodes come first, and an empty line.
func parseBenchmarkCSV(text string) (Sample, error) {
	text = text[strings.LastIndex(text, "\n\n")+1:]
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return Sample{}, err
	}
	if len(records) != 2 {
		return Sample{}, fmt.Errorf("want a header and one line of figures, got %d lines", len(records))
	}
	column := func(name string) (float64, error) {
		for i, h := range records[0] {
			if h == name {
				return strconv.ParseFloat(records[1][i], 64)
			}
		}
		return 0, fmt.Errorf("no column %q", name)
	}
	rps, err1 := column("rps")
	p50, err2 := column("p50_latency_ms")
	p99, err3 := column("p99_latency_ms")
	if err := errors.Join(err1, err2, err3); err != nil {
		return Sample{}, err
	}
	if !(rps > 0) || math.IsInf(rps, 0) {
		return Sample{}, fmt.Errorf("throughput %v is not a positive number", rps)
	}
	return Sample{PerSecond: rps, P50ms: p50, P99ms: p99}, nil
}

// requestsFor is the number of requests that take about d at a throughput: a multiple of the requests in flight on all
// connections, so that they end together.
func requestsFor(perSecond float64, d time.Duration, connections, pipeline int) int {
	inFlight := connections * pipeline
	turns := int(math.Round(perSecond * d.Seconds() / float64(inFlight)))
	return max(turns, minTurns) * inFlight
}

// minTurns is the fewest pipelines each connection sends in a run, and probeTurns the number it sends to measure the
// server's speed.
const (
	minTurns   = 5
	probeTurns = 40
)
