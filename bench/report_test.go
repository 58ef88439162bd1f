package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// sampleReport has a figure in every cell that is measured: Redis Lua GCRA
// 100 per second, the next series 200, and so on.
func sampleReport() *Report {
	r := &Report{
		Date:     time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		Machine:  Machine{CPU: "Some | CPU", Cores: 2, LoadAverage: "3.00"},
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

func TestTextAndMarkdownShowEverySeries(t *testing.T) {
	r := sampleReport()
	for name, write := range map[string]func(io.Writer, *Report) error{"text": writeText, "markdown": writeMarkdown} {
		var out bytes.Buffer
		wantError(t, write(&out, r), "")
		for _, s := range r.Series {
			if !strings.Contains(out.String(), s.Title()) {
				t.Errorf("%s has no row %q", name, s.Title())
			}
		}
		for _, want := range []string{"3.00 x", "0.500", "pass", "2026-01-02", "load average 3.00", "not measured"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s does not contain %q:\n%s", name, want, out.String())
			}
		}
		if strings.Contains(out.String(), "NaN") {
			t.Errorf("%s contains NaN", name)
		}
	}
}

func TestJSONIsReadable(t *testing.T) {
	var out bytes.Buffer
	wantError(t, writeJSON(&out, sampleReport()), "") // NaN would be an error
	var back jsonReport
	wantError(t, json.Unmarshal(out.Bytes(), &back), "")
	// 3 keyed commands in 3 workloads, 2 PINGs in one, 3 pipelines each.
	if len(back.Cells) != (3*3+2)*3 || len(back.Cells[0].Rounds) != 3 {
		t.Errorf("%d cells", len(back.Cells))
	}
	if back.Cells[0].Median.CPUMicros != nil {
		t.Error("CPU without a process id is not null")
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	var out bytes.Buffer
	wantError(t, writeSVG(&out, sampleReport()), "")
	dec := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(out.String(), "sans-serif") {
		t.Error("no font to fall back on")
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
	if got := (Machine{LoadAverage: "0.10"}).Noise(); got != "" {
		t.Errorf("an idle machine is called %q", got)
	}
}
