package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Report is everything one run found.
type Report struct {
	Date         time.Time
	Machine      Machine
	OtherWork    OtherWork // of the whole run
	Settings     Settings
	Series       []Series
	Results      Results
	Memory       map[string][]MemorySample // by Series.ID
	Disk         *DiskReport               // nil when not measured
	Cluster      *ClusterReport            // as Disk
	Reservations *ReservationReport        // as Disk
	Doors        DoorsReport               // as Disk
	Ahead        *AheadReport              // as Disk; beside one Stint
	Links        *AheadReport              // as Disk; over slow links
	Bucket       *BucketReport             // as Disk
	Market       *MarketReport             // as Disk
	ManyKeys     *ManyKeysReport           // as Disk
}

// A Section is a table.
type Section struct {
	Title  string
	Note   string
	Words  int // number of columns, from the left, with words; the others have figures
	Header []string
	Rows   [][]string
}

// sections derives every table from the report.
func sections(r *Report) []Section {
	var all []Section
	if len(r.Series) > 0 {
		all = memoryOnlySections(r)
	}
	if r.Disk != nil {
		all = append(all, diskSections(r.Disk, r.Settings)...)
	}
	if r.Cluster != nil {
		all = append(all, clusterSections(r.Cluster)...)
	}
	if r.Reservations != nil {
		all = append(all, reservationSections(r.Reservations, r.Settings)...)
	}
	if r.Doors != nil {
		all = append(all, doorSections(r.Doors)...)
	}
	for _, a := range []*AheadReport{r.Ahead, r.Links} {
		if a != nil {
			all = append(all, aheadSections(a)...)
		}
	}
	if r.Bucket != nil {
		all = append(all, bucketSections(r.Bucket)...)
	}
	if r.Market != nil {
		all = append(all, marketSections(r.Market)...)
	}
	if r.ManyKeys != nil {
		all = append(all, manyKeysSections(r.ManyKeys)...)
	}
	return append(all, targetSection(r))
}

// memoryOnlySections are the tables for servers without state on disk.
func memoryOnlySections(r *Report) []Section {
	all := []Section{
		cellSection(r, "Server CPU per request, µs", formatFigure, cpu),
		cellSection(r, "Requests per second that one core could serve", formatCount, perCore),
		cellSection(r, "Throughput of redis-benchmark, requests per second", formatCount, throughput),
		cellSection(r, "Latency of a pipeline, p50 and p99, ms", formatFigure, p50, p99),
	}
	return append(all, memorySection(r))
}

// cellSection shows metrics: a row per series and workload, a column per pipeline.
func cellSection(r *Report, title string, format func(float64) string, metrics ...metric) Section {
	s := Section{Title: title, Words: 2, Header: pipelineHeader("workload", "server and command")}
	for _, w := range workloads {
		for _, series := range r.Series {
			if !series.runsIn(w) {
				continue
			}
			row := []string{w.Title, series.Title()}
			for _, p := range pipelines {
				var figures []string
				for _, m := range metrics {
					figures = append(figures, format(r.Results.median(m, Cell{series.ID(), w.Name, p})))
				}
				row = append(row, strings.Join(figures, ", "))
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return s
}

func memorySection(r *Report) Section {
	s := Section{
		Title: fmt.Sprintf("Memory per key, %s keys of 16 bytes", formatCount(float64(r.Settings.Keys))),
		Note: "Growth of VmRSS divided by the number of keys. GC pause: the longest stop-the-world phase in the " +
			"Go runtime's trace, over all rounds, from start-up to the last key loaded.",
		Words:  1,
		Header: []string{"server and command", "bytes per key", "longest GC pause, ms", "GC cycles", "largest live heap, MB"},
	}
	for _, series := range r.Series {
		samples := r.Memory[series.ID()]
		if len(samples) == 0 {
			continue
		}
		row := []string{series.Title(), formatFigure(bytesPerKey(samples)), "–", "–", "–"}
		if series.Server.GoRuntime {
			var cycles int
			var live int64
			for _, sample := range samples {
				cycles += sample.GC.Cycles
				live = max(live, sample.GC.LiveHeapMB)
			}
			row = append(row[:2], formatFigure(longestPause(samples)), strconv.Itoa(cycles), strconv.FormatInt(live, 10))
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// targetSection shows the targets that this run measured.
func targetSection(r *Report) Section {
	s := Section{Title: "Targets (Stint CL.THROTTLE)", Words: 1, Header: []string{"what", "measured", "target", "verdict"}}
	for _, o := range outcomes(r) {
		if math.IsNaN(o.Value) || math.IsNaN(o.Bound) {
			continue
		}
		sign := "≥ "
		if o.AtMost {
			sign = "≤ "
		}
		bound := sign + strconv.FormatFloat(o.Bound, 'f', -1, 64) + " " + o.Unit
		verdict := o.Verdict()
		if r.OtherWork.IsTooMuch() {
			verdict = "busy"
		}
		s.Rows = append(s.Rows, []string{o.Name, formatUnit(o.Value, o.Unit), bound, verdict})
	}
	return s
}

func pipelineHeader(first ...string) []string {
	for _, p := range pipelines {
		first = append(first, fmt.Sprintf("P=%d", p))
	}
	return first
}
