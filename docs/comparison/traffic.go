package main

import "time"

// traffic is when requests arrive, after 5 s in which there were none. The limiter's first window by the clock began
// 1 s before the first request.
type traffic struct {
	name     string
	arrivals []int64 // nanoseconds since the first
}

// evenly spaces n requests over a time.
func evenly(n int, over time.Duration) (arrivals []int64) {
	for i := range n {
		arrivals = append(arrivals, int64(over)*int64(i)/int64(n))
	}
	return arrivals
}

var (
	burst     = traffic{"200 requests within 100 ms", evenly(200, 100*time.Millisecond)}
	sustained = traffic{"300 requests a second for 2 s", evenly(600, 2*time.Second)}
)

// firstArrival is 5 s after an instant that every window by the clock begins at, an odd second.
const firstArrival = 1_800_000_000*int64(time.Second) + 5*int64(time.Second)
