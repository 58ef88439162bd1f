// Compare measures the Go client beside golang.org/x/time/rate, in process, and redis_rate on Redis, and prints the tables
// of clients/go/README.md. It builds Stint from this checkout and needs redis-server; all of it runs on this machine, on
// loopback.
//
//	go run . -rounds 3 -seconds 2
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func main() {
	rounds := flag.Int("rounds", 3, "number of rounds of measurements; the tables show medians")
	seconds := flag.Float64("seconds", 2, "seconds per measurement")
	shared := flag.Float64("shared", 8, "seconds for which eight processes share a limit")
	part := flag.String("part", "all", "what to measure: speed, shared, outage, or all")
	quick := flag.Bool("quick", false, "run each measurement once and briefly, to check that it works")
	if os.Getenv(workerVariable) != "" {
		work() // this is one of the eight
		return
	}
	flag.Parse()
	if *quick {
		*rounds, *seconds, *shared = 1, 0.2, 1
	}
	err := compare(*part, *rounds, duration(*seconds), duration(*shared))
	servertest.Clean()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func compare(part string, rounds int, each, shared time.Duration) error {
	parts := map[string]func() error{
		"speed":  func() error { return speeds(rounds, each) },
		"shared": func() error { return excesses(shared) },
		"outage": func() error { return outages(each) },
	}
	if part != "all" && parts[part] == nil {
		return fmt.Errorf("-part: must be speed, shared, outage or all, got %q", part)
	}
	fmt.Printf("%s %s/%s, %d CPUs; medians of %d rounds of %v\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds, each)
	for _, name := range []string{"speed", "shared", "outage"} {
		if part != "all" && part != name {
			continue
		}
		if err := parts[name](); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
