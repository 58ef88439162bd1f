package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBench loads a server, and compares the printed counts with the server's.
func TestBench(t *testing.T) {
	address := serve(t)
	type outcome struct {
		benchTally
		LatencyMS map[string]float64 `json:"latency_ms"`
	}
	run := func(args ...string) (o outcome) {
		t.Helper()
		args = append([]string{"bench", "--server", address, "--duration", "300ms", "--connections", "3", "--json"}, args...)
		code, stdout, stderr := play(t, args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("stint %v: exit %d, %s", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &o); err != nil {
			t.Fatal(err)
		}
		if o.Requests == 0 || o.Errors > 0 || o.LatencyMS["p50"] <= 0 || o.LatencyMS["max"] < o.LatencyMS["p50"] {
			t.Errorf("stint %v: %s", args, stdout)
		}
		return o
	}
	if o := run("--pipeline", "8", "--keys", "1", "TB.ACQUIRE", "only:{key}", "5", "1/h"); o.Granted != 5 || o.Denied != o.Requests-5 {
		t.Errorf("of a bucket of 5: %+v", o.benchTally)
	}
	if o := run("CL.THROTTLE", "cell", "4", "1", "3600"); o.Granted != 5 || o.Denied != o.Requests-5 {
		t.Errorf("of redis-cell's bucket of 5: %+v", o.benchTally)
	}
	if o := run("--rate", "100"); o.Requests+o.NotSent != 30 || o.Granted != o.Requests {
		t.Errorf("100 a second for 0.3 s: %+v", o.benchTally)
	}
	if o := run("PING"); o.Granted+o.Denied != 0 {
		t.Errorf("PING: %+v", o.benchTally)
	}

	code, stdout, stderr := play(t, "bench", "--server", address, "--duration", "100ms", "TB.ACQUIRE", "x")
	if code != exitFailed || !strings.Contains(stdout, " 0 granted, 0 denied, ") || !strings.Contains(stderr, "the first: ERR wrong number of arguments") {
		t.Errorf("a command that is wrong: exit %d, %q, %q", code, stdout, stderr)
	}
}

func TestBenchLogsIn(t *testing.T) {
	address := serve(t, "--requirepass", "long and random")
	args := []string{"bench", "--server", address, "--duration", "100ms", "--connections", "2"}
	if code, _, stderr := play(t, append(args, "--password", "long and random")...); code != exitOK {
		t.Errorf("with the password: exit %d, %s", code, stderr)
	}
	if code, _, stderr := play(t, append(args, "--password", "another")...); code != exitFailed || !strings.Contains(stderr, "logging in as default: WRONGPASS") {
		t.Errorf("with another: exit %d, %s", code, stderr)
	}
	if code, _, stderr := play(t, args...); code != exitFailed || !strings.Contains(stderr, "NOAUTH") {
		t.Errorf("without: exit %d, %s", code, stderr)
	}
}

func TestBenchUsage(t *testing.T) {
	for args, says := range map[string]string{
		"--server 6379":                  "--server: must be HOST:PORT or unix:/path, got '6379'",
		"--connections 0":                "--connections: must be 1 to 10000, got 0",
		"--pipeline 1001":                "--pipeline: must be 1 to 1000, got 1001",
		"--keys 0":                       "--keys: must be at least 1, got 0",
		"--duration 2h":                  "--duration: must be 100ms to 1h, got 2h0m0s",
		"--rate 0.5":                     "--rate: must be 1 to 100000000, or 0 for as many as possible, got 0.5",
		"--rate NaN":                     "--rate: must be 1 to 100000000",
		"--pipelines 2":                  "unknown flag: --pipelines; 'stint bench --help' explains",
		"--server unix:/does/not/exist ": "unix:/does/not/exist can't be reached: ",
	} {
		if _, _, stderr := play(t, append([]string{"bench"}, strings.Fields(args)...)...); !strings.HasPrefix(stderr, "stint: "+says) {
			t.Errorf("stint bench %s: %s", args, stderr)
		}
	}
}

// TestBenchCountsRequestsDelayedByAStall uses a server that answers at once except for one second of silence. With a
// rate, the requests due in that second count with their delay; without, only the one in flight does.
func TestBenchCountsRequestsDelayedByAStall(t *testing.T) {
	for _, c := range []struct {
		rate                    float64
		requests                int64
		least, most, medianMost time.Duration // of the 90th percentile, and of the median
	}{
		{rate: 100, requests: 300, least: 600 * time.Millisecond, most: 800 * time.Millisecond, medianMost: 10 * time.Millisecond},
		{rate: 0, least: 0, most: 10 * time.Millisecond, medianMost: 10 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			plan := &benchPlan{Command: []string{"PING"}, Connections: 1, Pipeline: 1, Keys: 1, Rate: c.rate, duration: 3 * time.Second,
				alarm: func() alarm { return alarm{} }} // which sleeps in simulated time
			plan.dial = func(context.Context) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go answerWithStall(theirs)
				return ours, nil
			}
			o, err := plan.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p90, median := time.Duration(o.latency.ValueAtPercentile(90)), time.Duration(o.latency.ValueAtPercentile(50))
			if p90 < c.least || p90 > c.most || median > c.medianMost || c.requests > 0 && o.Requests != c.requests {
				t.Errorf("rate %v: %d requests, median %s, 90th percentile %s", c.rate, o.Requests, median, p90)
			}
			if longest := time.Duration(o.latency.Max()); longest < time.Second || longest > 1100*time.Millisecond {
				t.Errorf("rate %v: the stall of 1 s counts as %s", c.rate, longest)
			}
		})
	}
}

// answerWithStall answers each PING after a millisecond, the hundredth after a second.
func answerWithStall(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for count := 0; lines.Scan(); {
		if lines.Text() != "PING" {
			continue
		}
		if count++; count == 100 {
			time.Sleep(time.Second)
		}
		time.Sleep(time.Millisecond)
		if _, err := io.WriteString(conn, "+PONG\r\n"); err != nil {
			return
		}
	}
}
