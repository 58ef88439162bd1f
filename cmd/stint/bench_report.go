package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// benchOutcome holds the measurements of a run.
type benchOutcome struct {
	*benchPlan
	benchTally
	Seconds   float64            `json:"seconds"`
	PerSecond float64            `json:"requests_per_second"`
	LatencyMS map[string]float64 `json:"latency_ms"`
}

var benchQuantiles = []struct {
	name    string
	percent float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}, {"max", 100}}

// progress is the time and the requests of a run so far.
func (plan *benchPlan) progress(loads []*benchLoad, start time.Time) string {
	answered, took := int64(0), time.Since(start)
	for _, l := range loads {
		answered += l.answered.Load()
	}
	return fmt.Sprintf("%d s of %s, %d requests, %.0f a second", took/time.Second, plan.duration, answered, float64(answered)/took.Seconds())
}

// print writes the outcome for people, or as one JSON object.
func (o *benchOutcome) print(to io.Writer, asJSON bool) error {
	o.PerSecond = float64(o.Requests) / o.Seconds
	o.LatencyMS = map[string]float64{}
	for _, q := range benchQuantiles {
		o.LatencyMS[q.name] = float64(o.latency.ValueAtPercentile(q.percent)) / float64(time.Millisecond)
	}
	if asJSON {
		line, err := json.Marshal(o)
		if err == nil {
			_, err = fmt.Fprintf(to, "%s\n", line)
		}
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s, %d connections, pipeline %d, %d keys\n\n", strings.Join(o.Command, " "), o.Server, o.Connections, o.Pipeline, o.Keys)
	fmt.Fprintf(&out, "requests   %d in %.2f s, %.0f a second", o.Requests, o.Seconds, o.PerSecond)
	if o.Rate > 0 {
		fmt.Fprintf(&out, " of %.0f requested; %d due and not sent", o.Rate, o.NotSent)
	}
	fmt.Fprintf(&out, "\nreplies    %d granted, %d denied, %d errors\nlatency   ", o.Granted, o.Denied, o.Errors)
	for _, q := range benchQuantiles {
		fmt.Fprintf(&out, " %s %.3f ms ", q.name, o.LatencyMS[q.name])
	}
	if o.Rate > 0 {
		out.WriteString("\n           from the time at which each request was due\n")
	} else {
		out.WriteString("\n           from the time at which each was sent; --rate also counts requests that a stall delayed\n")
	}
	_, err := io.WriteString(to, out.String())
	return err
}
