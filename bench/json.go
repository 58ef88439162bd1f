package main

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// The JSON file: everything in the tables, and the sample of every round.
type jsonReport struct {
	Date     time.Time     `json:"date"`
	Machine  Machine       `json:"machine"`
	Settings jsonSettings  `json:"settings"`
	Cells    []jsonCell    `json:"cells"`
	Memory   []jsonMemory  `json:"memory"`
	Targets  []jsonOutcome `json:"targets"`
	Disk     *jsonDisk     `json:"disk,omitempty"`
	Cluster  *jsonCluster  `json:"cluster,omitempty"`
}

// jsonCluster has the figures of three nodes.
type jsonCluster struct {
	Cells  []jsonCell      `json:"cells"`
	Steady []steadyLatency `json:"at_half_ms"`
	Slow   []float64       `json:"slow_fsync_requests_per_s"`
}

func jsonClusterOf(c *ClusterReport) *jsonCluster {
	out := &jsonCluster{Steady: c.Steady, Slow: c.Slow}
	for _, series := range c.Series {
		for _, cell := range clusterCells {
			out.Cells = append(out.Cells, jsonOf(c.Results, Cell{series.ID(), cell.Name, cell.pipeline}))
		}
	}
	return out
}

// jsonDisk has the figures of state on disk.
type jsonDisk struct {
	Cells     []jsonCell       `json:"cells"`
	Hot       []hotSample      `json:"hot_key"`
	Recovered []recoverySample `json:"recovery"`
	Pauses    []pauseSample    `json:"pauses"`
}

func jsonDiskOf(d *DiskReport) *jsonDisk {
	out := &jsonDisk{Hot: d.Hot, Recovered: d.Recovered, Pauses: d.Pauses}
	for _, series := range d.Series {
		for _, p := range diskPipelines {
			out.Cells = append(out.Cells, jsonOf(d.Results, Cell{series.ID(), workloads[0].Name, p}))
		}
	}
	return out
}

type jsonSettings struct {
	Rounds      int     `json:"rounds"`
	CellSeconds float64 `json:"cell_s"`
	Keys        int     `json:"memory_keys"`
	Kept        int     `json:"kept_keys"`
	Connections int     `json:"connections"`
}

type jsonCell struct {
	Series   string       `json:"series"`
	Workload string       `json:"workload"`
	Pipeline int          `json:"pipeline"`
	Median   jsonSample   `json:"median"`
	Rounds   []jsonSample `json:"rounds"`
}

type jsonSample struct {
	Requests  int      `json:"requests,omitempty"`
	PerSecond float64  `json:"requests_per_s"`
	P50ms     float64  `json:"p50_ms"`
	P99ms     float64  `json:"p99_ms"`
	CPUMicros *float64 `json:"server_cpu_us_per_request"` // null: process id not known
}

type jsonMemory struct {
	Series         string    `json:"series"`
	BytesPerKey    *float64  `json:"bytes_per_key"`
	Rounds         []float64 `json:"rounds"`
	LongestPauseMS *float64  `json:"longest_gc_pause_ms"` // null: none seen, or no Go runtime
}

type jsonOutcome struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Value   *float64 `json:"value"`
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
	Verdict string   `json:"verdict"`
}

// writeJSON writes the report for programs.
func writeJSON(w io.Writer, r *Report) error {
	out := jsonReport{
		Date: r.Date, Machine: r.Machine,
		Settings: jsonSettings{r.Settings.Rounds, r.Settings.Cell.Seconds(), r.Settings.Keys, r.Settings.Kept, connections},
		Memory:   []jsonMemory{},
	}
	for _, series := range r.Series {
		for _, w := range workloads {
			for _, p := range pipelines {
				if cell := (Cell{series.ID(), w.Name, p}); len(r.Results[cell]) > 0 {
					out.Cells = append(out.Cells, jsonOf(r.Results, cell))
				}
			}
		}
		if samples := r.Memory[series.ID()]; len(samples) > 0 {
			m := jsonMemory{Series: series.ID(), BytesPerKey: number(bytesPerKey(samples)), LongestPauseMS: number(longestPause(samples))}
			for _, s := range samples {
				m.Rounds = append(m.Rounds, s.BytesPerKey)
			}
			out.Memory = append(out.Memory, m)
		}
	}
	for _, o := range outcomes(r) {
		j := jsonOutcome{Name: o.Name, Unit: o.Unit, Value: number(o.Value), Verdict: o.Verdict()}
		if o.AtMost {
			j.AtMost = number(o.Bound)
		} else {
			j.AtLeast = number(o.Bound)
		}
		out.Targets = append(out.Targets, j)
	}
	if r.Disk != nil {
		out.Disk = jsonDiskOf(r.Disk)
	}
	if r.Cluster != nil {
		out.Cluster = jsonClusterOf(r.Cluster)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func jsonOf(results Results, c Cell) jsonCell {
	out := jsonCell{
		Series: c.Series, Workload: c.Workload, Pipeline: c.Pipeline,
		Median: jsonSample{
			PerSecond: results.median(throughput, c), P50ms: results.median(p50, c), P99ms: results.median(p99, c),
			CPUMicros: number(results.median(cpu, c)),
		},
	}
	for _, s := range results[c] {
		out.Rounds = append(out.Rounds, jsonSample{s.Requests, s.PerSecond, s.P50ms, s.P99ms, number(s.CPUMicros)})
	}
	return out
}

// number is null in JSON for NaN.
func number(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
