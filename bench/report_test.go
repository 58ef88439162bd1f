package main

import (
	"strings"
	"testing"
	"time"
)

// sampleReport has a figure in every cell that is measured: Redis Lua GCRA
// 100 per second, the next series 200, and so on.
func sampleReport() *Report {
	r := &Report{
		Date:     time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		Machine:  Machine{CPU: "Some | CPU", Cores: 2},
		Settings: Settings{Rounds: 3, Cell: 2 * time.Second, Keys: 1_000_000},
		Series:   seriesOf(serverTable("x")),
		Results:  Results{},
		Memory:   map[string][]MemorySample{lua: {{BytesPerKey: 150}}},
	}
	for i, s := range r.Series {
		for _, w := range workloads {
			for _, p := range pipelines {
				if s.runsIn(w) {
					sample := Sample{Requests: 1, PerSecond: float64(100 * (i + 1)), P50ms: 1, P99ms: 2, CPUMicros: nan}
					r.Results[Cell{s.ID(), w.Name, p}] = []Sample{sample, sample, sample}
				}
			}
		}
	}
	r.Memory[throttle] = []MemorySample{{BytesPerKey: 60, GC: &gcPauses{Cycles: 2, Longest: time.Millisecond / 2}}}
	return r
}

func TestMarkdownShowsEverySeries(t *testing.T) {
	r := sampleReport()
	text := markdown(r)
	for _, s := range r.Series {
		if !strings.Contains(text, s.Title()) {
			t.Errorf("no row %q", s.Title())
		}
	}
	for _, want := range []string{"3.00 x", "0.500", "pass", "2026-01-02", "Other processes used 0 % of the CPUs during the run.", `Some | CPU`} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not contain %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") {
		t.Error("it contains NaN")
	}
}

func TestMemoryIsJudgedOnlyWithManyKeys(t *testing.T) {
	r := sampleReport()
	r.Memory[throttle][0].BytesPerKey = 100
	verdict := func() string {
		for _, o := range outcomes(r) {
			if o.Unit == "B" {
				return o.Verdict()
			}
		}
		return "no such target"
	}
	if got := verdict(); got != "FAIL" {
		t.Errorf("100 B with a million keys: %s, want FAIL", got)
	}
	r.Settings.Keys = 200_000
	if got := verdict(); got != "info" {
		t.Errorf("100 B with 200000 keys: %s, want info", got)
	}
}

func TestFormat(t *testing.T) {
	for _, step := range []struct{ got, want string }{
		{formatCount(0), "0"},
		{formatCount(999), "999"},
		{formatCount(1000), "1,000"},
		{formatCount(1234567.8), "1,234,568"},
		{formatCount(-1234), "-1,234"},
		{formatCount(nan), noFigure},
		{formatFigure(123.4), "123"},
		{formatFigure(12.34), "12.3"},
		{formatFigure(1.234), "1.23"},
		{formatFigure(0.1234), "0.123"},
		{formatUnit(2, "x"), "2.00 x"},
		{formatUnit(nan, "x"), noFigure},
	} {
		if step.got != step.want {
			t.Errorf("got %q, want %q", step.got, step.want)
		}
	}
}

func TestMachineText(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"); got != "Some CPU @ 3 GHz" {
		t.Errorf("CPU %q", got)
	}
	if got := redisVersion("Redis server v=7.0.15 sha=0:0 malloc=x"); got != "7.0.15" {
		t.Errorf("Redis version %q", got)
	}
}

// The cost of a reservation is compared within each round, its settlement included.
func TestReservationTargets(t *testing.T) {
	r := &Report{Settings: Settings{Keys: 1000}, Reservations: &ReservationReport{Record: 152, CPU: map[string][]float64{}}}
	for i, load := range reservationLoads {
		r.Reservations.CPU[load.name] = []float64{1 + float64(i), 10 + 10*float64(i), 1 + float64(i)}
	}
	want := map[string]float64{"CPU of a reservation and its settlement vs TB.ACQUIRE, P=16": 7, "CPU of the same by a policy, P=16": 11, "a reservation with three limits, MEMORY USAGE": 152}
	all := outcomes(r)
	for _, o := range all {
		if o.Value != want[o.Name] {
			t.Errorf("%s: %v, want %v", o.Name, o.Value, want[o.Name])
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d targets, want %d", len(all), len(want))
	}
	text := markdown(r)
	for _, load := range reservationLoads {
		if !strings.Contains(text, load.name) {
			t.Errorf("no row %q", load.name)
		}
	}
}
