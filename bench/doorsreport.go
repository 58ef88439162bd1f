package main

import "fmt"

// figures is one figure of a load, by round.
func (r DoorsReport) figures(name string, of func(doorSample) float64) []float64 {
	var all []float64
	for _, sample := range r[name] {
		all = append(all, of(sample))
	}
	return all
}

func (r DoorsReport) ratio(of func(doorSample) float64, a, b string) float64 {
	return ratioOf(r.figures(a, of), r.figures(b, of))
}

func doorRate(s doorSample) float64 { return s.PerSecond }
func doorCPU(s doorSample) float64  { return s.CPUMicros }
func doorP50(s doorSample) float64  { return s.P50 }
func doorP99(s doorSample) float64  { return s.P99 }

// doorSections is the table for HTTP and gRPC.
func doorSections(r DoorsReport) []Section {
	s := Section{
		Title:  "HTTP and gRPC",
		Words:  1,
		Header: []string{"server", "requests per second", "server CPU per request, µs", "p50, p99 at half load, ms"},
		Note: fmt.Sprintf("%d requests at once on %d ids, from another process. Half load is half of the slower server's rate, for both. The handlers beside Stint's "+
			"read the request and answer without a body.", connections, randomKeys),
	}
	for _, load := range doorLoads {
		one := func(of func(doorSample) float64) float64 { return median(r.figures(load.name, of)) }
		s.Rows = append(s.Rows, []string{load.name, formatCount(one(doorRate)), formatFigure(one(doorCPU)),
			formatFigure(one(doorP50)) + ", " + formatFigure(one(doorP99))})
	}
	return []Section{s}
}

// doorTargets is the table of targets for HTTP and gRPC.
func doorTargets() []Target {
	compare := func(name, a, b string, bound float64) Target {
		return Target{Name: name, Unit: "x", Bound: bound, measure: func(r *Report) float64 { return r.Doors.ratio(doorRate, a, b) }}
	}
	return []Target{
		compare("/v1/check vs a handler that only answers 200, throughput", doorCheck, doorNothing, 0.8),
		compare("Envoy's rate limit service vs an empty gRPC handler, throughput", doorRLS, doorRPCNothing, 0.7),
	}
}
