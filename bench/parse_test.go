package main

import (
	"bufio"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseBenchmarkCSV(t *testing.T) {
	const header = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n"
	for _, step := range []struct {
		name, text string
		want       Sample
		wantErr    string
	}{
		{"as printed", header + `"PING","61349.70","0.556","0.080","0.407","0.735","4.767","9.319"` + "\n",
			Sample{PerSecond: 61349.70, P50ms: 0.407, P99ms: 4.767}, ""},
		{"columns in another order", `"p99_latency_ms","rps","p50_latency_ms"` + "\n" + `"3","1","2"`,
			Sample{PerSecond: 1, P50ms: 2, P99ms: 3}, ""},
		{"a comma in the command", header + `"EVALSHA a,b","5","1","1","2","1","3","1"`,
			Sample{PerSecond: 5, P50ms: 2, P99ms: 3}, ""},
		{"nodes of a cluster", "Cluster has 2 master nodes:\n\nMaster 0: a 127.0.0.1:1\nMaster 1: b 127.0.0.1:2\n\n" + header + `"PING","5","1","1","2","1","3","1"`,
			Sample{PerSecond: 5, P50ms: 2, P99ms: 3}, ""},
		{"nothing after an error reply", header, Sample{}, "got 1 lines"},
		{"a column missing", `"test","rps","p50_latency_ms"` + "\n" + `"PING","1","2"`, Sample{}, `no column "p99_latency_ms"`},
		{"no throughput", header + `"PING","0.00","1","1","2","1","3","1"`, Sample{}, "not a positive number"},
		{"infinite throughput", header + `"PING","inf","1","1","2","1","3","1"`, Sample{}, "not a positive number"},
		{"not a number", header + `"PING","fast","1","1","2","1","3","1"`, Sample{}, "fast"},
	} {
		t.Run(step.name, func(t *testing.T) {
			got, err := parseBenchmarkCSV(step.text)
			wantError(t, err, step.wantErr)
			if got != step.want {
				t.Errorf("got %+v, want %+v", got, step.want)
			}
		})
	}
}

func TestParseStatCPU(t *testing.T) {
	for _, step := range []struct {
		name, stat string
		want       time.Duration
		wantErr    string
	}{
		{"plain", "42 (redis-server) S 1 42 42 0 -1 4194304 9 0 0 0 150 50 7 8 20 0 5", 2 * time.Second, ""},
		{"parentheses in the name", "42 (a) b (c)) S 1 42 42 0 -1 4194304 9 0 0 0 3 4 0 0 20", 70 * time.Millisecond, ""},
		{"cut off", "42 (redis-server) S 1 42", 0, "only 3 fields"},
		{"no name", "", 0, "no program name"},
		{"letters", "42 (x) S 1 42 42 0 -1 4194304 9 0 0 0 x 50 0 0", 0, "utime"},
	} {
		t.Run(step.name, func(t *testing.T) {
			got, err := parseStatCPU(step.stat)
			wantError(t, err, step.wantErr)
			if got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		})
	}
}

func TestParseStatusRSS(t *testing.T) {
	got, err := parseStatusBytes("Name:\tx\nVmHWM:\t 999 kB\nVmRSS:\t    1234 kB\nThreads:\t1\n", "VmRSS")
	wantError(t, err, "")
	if got != 1234*1024 {
		t.Errorf("got %d bytes, want %d", got, 1234*1024)
	}
	_, err = parseStatusBytes("Name:\tx\nState:\tZ (zombie)\n", "VmRSS")
	wantError(t, err, "no line VmRSS")
	_, err = parseStatusBytes("VmRSS:\t12 MB\n", "VmRSS")
	wantError(t, err, "cannot read")
}

func TestParseStatusSleeps(t *testing.T) {
	got, err := parseStatusSleeps("Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t34\n")
	wantError(t, err, "")
	if got != 12 {
		t.Errorf("got %d, want 12", got)
	}
	_, err = parseStatusSleeps("nonvoluntary_ctxt_switches:\t34\n")
	wantError(t, err, "no line voluntary_ctxt_switches")
}

func TestParseGCTrace(t *testing.T) {
	for _, step := range []struct {
		line string
		want gcCycle
		ok   bool
	}{
		{"gc 7 @0.412s 2%: 0.018+1.2+0.003 ms clock, 0.036+0.1/1.0/0.2+0.006 ms cpu, 4->5->2 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 2 P",
			gcCycle{18 * time.Microsecond, 3 * time.Microsecond, 2}, true},
		{"gc 120 @9.5s 0%: 0.02+40+1.5 ms clock, 0.04+0/40/0+3 ms cpu, 4->5->312 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)",
			gcCycle{20 * time.Microsecond, 1500 * time.Microsecond, 312}, true},
		{"scvg: 8 MB released", gcCycle{}, false},
		{"ready: listening on 127.0.0.1:6379", gcCycle{}, false},
	} {
		got, ok := parseGCTrace(step.line)
		if got != step.want || ok != step.ok {
			t.Errorf("%s:\ngot %+v, %t, want %+v, %t", step.line, got, ok, step.want, step.ok)
		}
	}
}

func TestReadReply(t *testing.T) {
	for _, step := range []struct {
		bytes   string
		text    string
		numbers []int64
		wantErr string
	}{
		{"+PONG\r\n", "PONG", nil, ""},
		{"$3\r\nabc\r\n", "abc", nil, ""},
		{"$-1\r\n", "", nil, ""},
		{":7\r\n", "", []int64{7}, ""},
		{"*2\r\n:1\r\n:-1\r\n", "", []int64{1, -1}, ""},
		{"*3\r\n:1\r\n$1\r\na\r\n:2\r\n", "", []int64{1, 2}, ""},
		{"-ERR no\r\n", "", nil, "ERR no"},
		{"$99999999999\r\n", "", nil, "length"},
		{"\r\n", "", nil, "cannot read"},
		{"+PON", "", nil, "EOF"},
	} {
		got, err := readReply(bufio.NewReader(strings.NewReader(step.bytes)))
		wantError(t, err, step.wantErr)
		if got.text != step.text || !slices.Equal(got.integers, step.numbers) {
			t.Errorf("%q: got %+v", step.bytes, got)
		}
	}
	if _, err := readReply(bufio.NewReader(strings.NewReader("-ERR no\r\n"))); !errors.Is(err, errReply) {
		t.Errorf("an error reply gave %v, want errReply", err)
	}
}

// wantError fails the test unless err contains want, or is nil for "".
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil {
		t.Errorf("error %v, want none", err)
	}
	if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want one containing %q", err, want)
	}
}
