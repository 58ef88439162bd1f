package main

import (
	"fmt"
	"strings"
)

// marketSections are the tables for the opening of a market.
func marketSections(m *MarketReport) []Section {
	s := Section{
		Title: fmt.Sprintf("A market opens: from %s to %s requests/s, %s/s allowed by one limit", formatCount(m.Peak/marketRise), formatCount(m.Peak),
			formatCount(marketLimit*m.Peak/marketPeak)),
		Note: "RL.ALL takes a token of one of many users and one of a limit for all, at all nodes. Allowed is that of an ideal bucket. p99 is that of the " +
			"slowest of three loads and counts from the time at which a request was due. CPU is that of all nodes together.",
		Words:  2,
		Header: []string{"", "server", "sent/s", "admitted of allowed, %", "p50, ms", "p99, ms", "errors", "not sent", "µs CPU", "vs one Stint"},
	}
	for _, open := range []bool{false, true} {
		one := m.Samples[marketCell{"stint", open}]
		for _, server := range bucketServers("", false) {
			samples := m.Samples[marketCell{server.Name, open}]
			name := "before"
			if open {
				name = "after"
			}
			figure := func(f func(marketSample) float64) float64 { return median(each(samples, f)) }
			micros := func(s marketSample) float64 { return s.CPUMicros }
			s.Rows = append(s.Rows, []string{
				name, strings.TrimSuffix(server.Title, ","), formatCount(figure(func(s marketSample) float64 { return s.PerSecond })), formatPercent(figure(marketSample.admitted)),
				formatFigure(figure(func(s marketSample) float64 { return s.Latency.P50 })), formatFigure(figure(func(s marketSample) float64 { return s.Latency.P99 })),
				formatCount(figure(func(s marketSample) float64 { return float64(s.Errors) })),
				formatCount(figure(func(s marketSample) float64 { return float64(s.NotSent) })),
				formatFigure(figure(micros)), formatUnit(ratioOf(each(samples, micros), each(one, micros)), "x"),
			})
		}
	}
	return []Section{s}
}

// marketTargets is the table of targets for the opening of a market.
func marketTargets() []Target {
	return []Target{{Name: "a market opens, admitted of allowed", Unit: "%", Bound: 97,
		measure: func(r *Report) float64 {
			return 100 * median(each(r.Market.Samples[marketCell{"stint-ahead", true}], marketSample.admitted))
		}}}
}
