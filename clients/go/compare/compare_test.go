package main

import (
	"os"
	"testing"
	"time"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		work()
		return
	}
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

// TestShared: eight processes share a limit and one is killed. Processes that ask Stint, for each call or by leases,
// together use the limit and never exceed it; processes with separate limits exceed it.
func TestShared(t *testing.T) {
	at, stop, err := startServers()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	allowed := func(span time.Duration) int64 { return sharedRate + int64(sharedRate*span/time.Second) }
	burst := func(time.Duration) int64 { return sharedRate }
	beyond := func(span time.Duration) int64 { return 1 + allowed(span+time.Second) } // also when they have ended
	for name, enough := range map[string]func(time.Duration) int64{asked: burst, leased: burst, inProcess: beyond} {
		got, span, err := share(name, at, 2*time.Second, enough)
		if err != nil {
			t.Fatal(name, err)
		}
		if most := allowed(span); got > most && name != inProcess {
			t.Errorf("%s let %d through in %v; the limit allows %d", name, got, span, most)
		}
		t.Logf("%s: %d of %d", name, got, allowed(span))
	}
}

func TestMeasure(t *testing.T) {
	at, stop, err := startServers()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, name := range []string{inProcess, leased, asked, onRedis} {
		s, err := measure(name, at, 50*time.Millisecond)
		if err != nil || s.callsPerSecond <= 0 || s.p99 < s.p50 || (s.serverCalls > 0) != (name != inProcess) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestDuring(t *testing.T) {
	for _, state := range []string{"well", "killed", "stopped (SIGSTOP)", "partitioned"} {
		samples, err := during(asked, state, 50*time.Millisecond)
		if err != nil || len(samples) == 0 {
			t.Errorf("%s: %d samples, %v", state, len(samples), err)
		}
	}
}

func TestFormat(t *testing.T) {
	for got, want := range map[string]string{
		count(12_345_678): "12.3 million", count(61_234): "61 thousand", count(7): "7", perCall(1): "1", perCall(0.000_004): "1 for 250 thousand", perCall(0): "0",
		short(1234567).String(): "1.23ms", short(42).String(): "42ns", short(25_123_456_789).String(): "25.1s",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := median([]int{5, 1, 3}, func(n int) int { return n }); got != 3 {
		t.Error(got)
	}
	if got := quantile([]time.Duration{1, 2, 3, 4}, 0.99); got != 4 {
		t.Error(got)
	}
}
