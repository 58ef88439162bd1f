package main

import (
	"strings"
	"testing"
	"time"
)

// sampleReport has a figure in every cell of the first tables: Redis Lua GCRA 100 per second, the next series 200, and
// so on.
func sampleReport() *Report {
	f := Figures{} // of the servers
	r := &Report{
		Env:  Env{Settings: Settings{Rounds: 3, Cell: 2 * time.Second, Keys: 1_000_000}, Servers: serverTable("x")},
		Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Machine: Machine{CPU: "Some | CPU", Cores: 2}, Figures: map[string]Figures{onlyServers: f},
	}
	for i, s := range seriesOf(r.Servers) {
		for _, c := range cellsOf(pipelines, workloads...) {
			for range 3 {
				if s.runsIn(c.Workload) {
					f.addSample(s.ID(), c.ID(), Sample{PerSecond: float64(100 * (i + 1)), P50ms: 1, P99ms: 2, CPUMicros: float64(i + 1)})
				}
			}
		}
	}
	f.add(lua, "", bytesEach, 150)
	f.add(throttle, "", bytesEach, 60)
	f.add(throttle, "", gcPause, 0.5)
	return r
}

func TestMarkdownShowsEverySeries(t *testing.T) {
	r := sampleReport()
	text := markdown(r)
	for _, s := range seriesOf(r.Servers) {
		if !strings.Contains(text, s.Title()) {
			t.Errorf("no row %q", s.Title())
		}
	}
	for _, want := range []string{"3.00 x", "0.500", "met", "2026-01-02", "Other processes used 0 % of the CPUs during the run.", `Some | CPU`} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not contain %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") {
		t.Error("it contains NaN")
	}
	if strings.Count(text, "\n## ") != 7 {
		t.Errorf("the tables are\n%s", text)
	}
}

// The page has the rows for readers in place of the rows of the run before.
func TestDocsPage(t *testing.T) {
	page, err := docsPage("# Figures\n\n"+partBegins+"old\n"+partEnds+"\nThe end.\n", sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{"# Figures\n\n": 1, "old": 0, "\n### ": 4, "| Stint CL.THROTTLE | ": 2, "| Redis SET | 4.50 x |": 1, "| met |": 0, " % above": 5, "are left out.": 2, "\n\nThe end.\n": 1} {
		if got := strings.Count(page, text); got != times {
			t.Errorf("%d times %q, want %d:\n%s", got, text, times, page)
		}
	}
	if _, err := docsPage("# Figures\n", sampleReport()); err == nil {
		t.Error("a page without a place for the tables is taken")
	}
}

// The picture has a bar for each series that was measured, at each pipeline.
func TestCPUPicture(t *testing.T) {
	f := Figures{}
	for i, series := range []string{lua, throttle} {
		for _, p := range pipelines {
			f.add(series, Cell{manyKeys, p}.ID(), cpu, []float64{8, 0.45}[i])
		}
	}
	picture := cpuPicture(f)
	for want, times := range map[string]int{"8 µs, 120,000/s": 3, "0.45 µs, 2.2 million/s": 3, `width="210.0"`: 3, `width="11.8"`: 3, "Redis, only PING": 0} {
		if got := strings.Count(picture, want); got != times {
			t.Errorf("%d times %q, want %d:\n%s", got, want, times, picture)
		}
	}
}

func TestMemoryIsJudgedOnlyWithManyKeys(t *testing.T) {
	r := sampleReport()
	r.Figures[onlyServers][Key{throttle, "", bytesEach}][0] = 100
	verdict := func() string {
		for _, o := range r.outcomes("") {
			if o.Unit == "B" {
				return o.Verdict()
			}
		}
		return "no such target"
	}
	if got := verdict(); !strings.HasPrefix(got, "56 % above: ") {
		t.Errorf("100 B with a million keys: %s, want 56 %% above", got)
	}
	r.Keys = 200_000
	if got := verdict(); got != "not judged" {
		t.Errorf("100 B with 200000 keys: %s, want not judged", got)
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
