package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// topOverview and topPolicies are the shown parts of the answers of /api/overview and /api/policies.
type topOverview struct {
	Version  string
	Ready    string
	UnixNano int64
	Metrics  map[string][]struct {
		Labels map[string]string
		Value  float64
	}
	Latency struct {
		Bounds  []float64
		Buckets []int64
	}
	Top struct {
		Mode    string
		Total   int64
		Entries []struct {
			Key          string
			Count, Error int64
		}
	}
	Cluster *struct {
		NodeID, State, Leader string
		Term                  uint64
		Members               []struct {
			ID, Client               string
			Leader, Voter, Reachable bool
			Lag                      float64
		}
	}
}

type topPolicies struct {
	Count    int
	Policies []struct {
		Name                          string
		Shadow                        bool
		Granted, Denied, ShadowDenied int64
		Limits                        []struct {
			Spec          string
			Callers, Full int
			Mean          float64
		}
	}
}

// sum adds up a metric, over the series with the given outcome, or all for "".
func (o *topOverview) sum(name, outcome string) (total float64) {
	for _, s := range o.Metrics[name] {
		if outcome == "" || s.Labels["outcome"] == outcome {
			total += s.Value
		}
	}
	return total
}

// topPage renders two answers in at most height lines (0: no bound) of at most width columns.
func topPage(before, now *topOverview, policies *topPolicies, width, height int) string {
	passed := float64(now.UnixNano-before.UnixNano) / 1e9
	perSecond := func(outcome string) float64 {
		if passed <= 0 {
			return 0
		}
		return max(0, now.sum("stint_decisions_total", outcome)-before.sum("stint_decisions_total", outcome)) / passed
	}
	var lines []string
	add := func(format string, values ...any) { lines = append(lines, fmt.Sprintf(format, values...)) }
	add("Stint %s  %s  up %s", now.Version, now.Ready, time.Duration(now.sum("stint_uptime_seconds", ""))*time.Second)
	add("granted %8.0f/s   denied %8.0f/s   errors %6.0f/s", perSecond("granted"), perSecond("denied"), perSecond("error"))
	add("median %9s   99 %% %11s   loop lag %s", topQuantile(before, now, 0.5), topQuantile(before, now, 0.99), topSeconds(now.sum("stint_event_loop_lag_seconds", "")))
	add("clients %8.0f   keys %12.0f   memory of keys %.1f MB", now.sum("stint_connections", ""), now.sum("stint_keys", ""), now.sum("stint_keys_bytes", "")/(1<<20))
	if c := now.Cluster; c != nil {
		add("")
		add("node %s is %s in term %d, leader %s", c.NodeID, c.State, c.Term, orNone(c.Leader))
		for _, m := range c.Members {
			part := "follower"
			switch {
			case m.Leader:
				part = "leader"
			case !m.Voter:
				part = "non-voter"
			}
			reach := "reachable"
			if !m.Reachable {
				reach = "UNREACHABLE"
			}
			add("  %-16s %-9s %-11s lag %-8.0f %s", m.ID, part, reach, m.Lag, m.Client)
		}
	}
	add("")
	switch {
	case now.Top.Mode == "off":
		add("denied keys are not counted: --top-keys is off")
	case len(now.Top.Entries) == 0:
		add("nothing was denied in the last 5 minutes")
	default:
		add("%10s %8s  keys denied most in the last 5 minutes, of %d denials", "denied", "±", now.Top.Total)
	}
	for _, e := range now.Top.Entries {
		add("%10d %8d  %s", e.Count, e.Error, topText(e.Key))
	}
	if policies.Count > 0 {
		add("")
		add("%10s %10s %10s  policy", "granted", "denied", "in shadow")
	}
	for _, p := range policies.Policies {
		add("%10d %10d %10d  %s", p.Granted, p.Denied, p.ShadowDenied, topText(p.Name))
		for _, l := range p.Limits {
			add("%34s%s: %d callers, %d with nothing left, on average %.0f %% taken", "", topText(l.Spec), l.Callers, l.Full, l.Mean*100)
		}
	}
	if height > 0 && len(lines) >= height {
		lines = lines[:height-1] // the last line would make the screen scroll
	}
	for i := range lines {
		lines[i] = topCut(lines[i], width)
	}
	return strings.Join(lines, "\n") + "\n"
}

// topQuantile is a quantile of the latency of the decisions between two answers.
func topQuantile(before, now *topOverview, part float64) string {
	if len(before.Latency.Buckets) != len(now.Latency.Buckets) {
		return "-"
	}
	total, rank := int64(0), int64(0)
	for i, n := range now.Latency.Buckets {
		total += n - before.Latency.Buckets[i]
	}
	for i, n := range now.Latency.Buckets {
		if rank += n - before.Latency.Buckets[i]; total > 0 && float64(rank) >= part*float64(total) {
			return topSeconds(now.Latency.Bounds[i])
		}
	}
	return "-"
}

func topSeconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.1f s", s)
}

// topText escapes a name from a client for a terminal.
func topText(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// topCut shortens a line to a width.
func topCut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(0, width-1)]) + "…"
}
