package main

import (
	"fmt"
)

// diskSections are the tables for state on disk.
func diskSections(d *DiskReport, settings Settings) []Section {
	load := Section{
		Title:  "State on disk: throughput, requests per second, " + workloads[0].Title,
		Words:  1,
		Header: []string{"server and command"},
		Note:   "Redis logs the writes of its script, Stint the latest states of its limits. All on the disk of the checkout.",
	}
	for _, p := range diskPipelines {
		load.Header = append(load.Header, fmt.Sprintf("P=%d", p), "p99, ms", "µs CPU")
	}
	for _, series := range d.Series {
		row := []string{series.Title()}
		for _, p := range diskPipelines {
			cell := Cell{series.ID(), workloads[0].Name, p}
			row = append(row, formatCount(d.Results.median(throughput, cell)), formatFigure(d.Results.median(p99, cell)), formatFigure(d.Results.median(cpu, cell)))
		}
		load.Rows = append(load.Rows, row)
	}
	rest := Section{
		Title:  fmt.Sprintf("State on disk: volume, recovery and snapshots, %s keys of 16 bytes", formatCount(float64(settings.Kept))),
		Words:  1,
		Header: []string{"what", "measured"},
		Rows: [][]string{
			{fmt.Sprintf("requests per second on one hot key, interval, P=%d", hotPipeline), formatCount(d.median(hotRate))},
			{"journal bytes per request at that rate", fmt.Sprintf("%.5f", d.median(hotJournal))},
			{"bytes per request of Redis's append-only file, the same calls", formatFigure(d.median(hotAOF))},
			{"recovery, keys per second", formatCount(d.median(recoveryRate))},
			{"snapshot, bytes per key", formatFigure(d.median(snapshotBytes))},
			{"writing the snapshot, seconds", formatFigure(d.median(saveSeconds))},
			{"decisions at a steady rate, p99, ms", formatFigure(d.median(quietP99))},
			{"the same while a snapshot is written, ms", formatFigure(d.median(savingP99))},
		},
	}
	return []Section{load, rest}
}

// A diskMetric takes one figure of every round.
type diskMetric func(*DiskReport) []float64

func (d *DiskReport) median(m diskMetric) float64 { return median(m(d)) }

func each[T any](samples []T, f func(T) float64) (values []float64) {
	for _, s := range samples {
		values = append(values, f(s))
	}
	return values
}

func hotRate(d *DiskReport) []float64 {
	return each(d.Hot, func(s hotSample) float64 { return s.PerSecond })
}

func hotJournal(d *DiskReport) []float64 {
	return each(d.Hot, func(s hotSample) float64 { return s.JournalBytes })
}

func hotAOF(d *DiskReport) []float64 {
	return each(d.Hot, func(s hotSample) float64 { return s.AOFBytes })
}

func hotRatio(d *DiskReport) []float64 {
	return each(d.Hot, func(s hotSample) float64 { return s.JournalBytes / s.AOFBytes * 1000 })
}

func recoveryRate(d *DiskReport) []float64 {
	return each(d.Recovered, func(s recoverySample) float64 { return s.KeysPerSecond })
}

func snapshotBytes(d *DiskReport) []float64 {
	return each(d.Recovered, func(s recoverySample) float64 { return s.BytesPerKey })
}

func saveSeconds(d *DiskReport) []float64 {
	return each(d.Recovered, func(s recoverySample) float64 { return s.SaveSeconds })
}

func quietP99(d *DiskReport) []float64 {
	return each(d.Pauses, func(s pauseSample) float64 { return s.Quiet })
}

func savingP99(d *DiskReport) []float64 {
	return each(d.Pauses, func(s pauseSample) float64 { return s.Saving })
}

func addedP99(d *DiskReport) []float64 {
	return each(d.Pauses, func(s pauseSample) float64 { return s.Saving - s.Quiet })
}

// diskTargets is the table of targets for state on disk.
func diskTargets() []Target {
	compare := func(name, a, b string, pipeline int, bound float64) Target {
		w := workloads[0].Name
		return Target{Name: fmt.Sprintf("%s, P=%d", name, pipeline), Unit: "x", Bound: bound,
			measure: func(r *Report) float64 {
				return r.Disk.Results.ratio(throughput, Cell{a, w, pipeline}, Cell{b, w, pipeline})
			}}
	}
	figure := func(name, unit string, m diskMetric, bound float64, atMost bool) Target {
		return Target{Name: name, Unit: unit, Bound: bound, AtMost: atMost,
			measure: func(r *Report) float64 { return r.Disk.median(m) }}
	}
	return []Target{
		compare("interval vs memory only, throughput", keepInterval, memoryOnly, 1, 0.95),
		compare("interval vs memory only, throughput", keepInterval, memoryOnly, 16, 0.95),
		compare("always vs Redis + Lua with appendfsync always, throughput", keepAlways, redisSyncsEach, 1, 2),
		figure("journal vs Redis's append-only file, bytes per request on one hot key", "/ 1000", hotRatio, 1, true),
		figure("recovery, million keys per second", "M/s", func(d *DiskReport) []float64 {
			return each(d.Recovered, func(s recoverySample) float64 { return s.KeysPerSecond / 1e6 })
		}, 3, false),
		figure("snapshot per 16-byte key", "B", snapshotBytes, 40, true),
		figure("p99 of decisions added while a snapshot is written", "ms", addedP99, 2, true),
	}
}
