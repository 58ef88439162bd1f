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
	rounds := flag.Int("rounds", 3, "how often everything is measured, in turn; the tables show medians")
	seconds := flag.Float64("seconds", 2, "how long each measurement of a round takes")
	shared := flag.Float64("shared", 8, "how long eight processes share a limit")
	quick := flag.Bool("quick", false, "everything once and as shortly as possible: whether it works, not how fast")
	if os.Getenv(workerVariable) != "" {
		work() // this is one of the eight
		return
	}
	flag.Parse()
	if *quick {
		*rounds, *seconds, *shared = 1, 0.2, 1
	}
	err := compare(*rounds, duration(*seconds), duration(*shared))
	servertest.Clean()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func compare(rounds int, each, shared time.Duration) error {
	fmt.Printf("%s %s/%s, %d CPUs; medians of %d rounds of %v\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds, each)
	if err := speeds(rounds, each); err != nil {
		return fmt.Errorf("speed: %w", err)
	}
	if err := excesses(shared); err != nil {
		return fmt.Errorf("eight processes: %w", err)
	}
	if err := outages(each); err != nil {
		return fmt.Errorf("outages: %w", err)
	}
	return nil
}
