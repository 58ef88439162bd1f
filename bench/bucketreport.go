package main

import (
	"fmt"
	"strings"
)

// bucketSections are the tables for one bucket.
func bucketSections(b *BucketReport) []Section {
	s := Section{
		Title: fmt.Sprintf("One bucket of %s tokens, %s/s, asked at all nodes", formatCount(bucketCapacity), formatCount(bucketPerSecond)),
		Note: "Over the limit counted from the first request on a key, under it after another load. Admitted is the part of what an ideal bucket grants to the same load; the second ratio is to " +
			"one Stint. CPU is that of all nodes together.",
		Words:  1,
		Header: []string{"server", "asked/s", "sent/s", "log operations per 1,000 grants", "admitted, %", "vs one Stint", "µs CPU", "vs one Stint"},
	}
	for _, asked := range bucketRates {
		one := b.Samples[bucketCell{"stint", asked}]
		for _, server := range bucketServers("", false) {
			samples := b.Samples[bucketCell{server.Name, asked}]
			s.Rows = append(s.Rows, []string{
				strings.TrimSuffix(server.Title, ","), formatCount(float64(asked)),
				formatCount(median(each(samples, func(s bucketSample) float64 { return s.PerSecond }))),
				formatFigure(median(each(samples, bucketSample.perThousand))),
				formatPercent(median(each(samples, bucketSample.admitted))),
				formatPercent(ratioOf(each(samples, bucketSample.admitted), each(one, bucketSample.admitted))),
				formatFigure(median(each(samples, bucketSample.cpuMicros))),
				formatUnit(ratioOf(each(samples, bucketSample.cpuMicros), each(one, bucketSample.cpuMicros)), "x"),
			})
		}
	}
	return []Section{s}
}

// bucketTargets is the table of targets for one bucket.
func bucketTargets() []Target {
	operations := func(asked int, bound float64) Target {
		return Target{Name: fmt.Sprintf("operations in the log, one bucket of %d/s, %d/s asked", bucketPerSecond, asked), Unit: "per 1,000 grants", Bound: bound, AtMost: true,
			measure: func(r *Report) float64 {
				return median(each(r.Bucket.Samples[bucketCell{"stint-ahead", asked}], bucketSample.perThousand))
			}}
	}
	return []Target{
		operations(bucketRates[0], 5), operations(bucketRates[1], 150),
		{Name: fmt.Sprintf("admitted, of the grants of one Stint, %d/s asked", bucketRates[1]), Unit: "%", Bound: 99.5,
			measure: func(r *Report) float64 {
				return 100 * ratioOf(each(r.Bucket.Samples[bucketCell{"stint-ahead", bucketRates[1]}], bucketSample.admitted),
					each(r.Bucket.Samples[bucketCell{"stint", bucketRates[1]}], bucketSample.admitted))
			}},
	}
}
