package comparison

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// The sliding window counter is measured with this limit, for estimateWindows windows of each traffic.
const (
	estimateLimit   = 100
	estimateWindow  = 60 * second
	estimateWindows = 2000
)

// randomTraffic makes arrivals for the measurement.
type randomTraffic struct {
	name     string
	arrivals func(r *rand.Rand) []int64
}

var randomTraffics = []randomTraffic{
	{"at random, 1 × the limit", func(r *rand.Rand) []int64 { return poisson(r, 1, 1) }},
	{"at random, 10 × the limit", func(r *rand.Rand) []int64 { return poisson(r, 10, 1) }},
	{"in batches of 20, 1 × the limit", func(r *rand.Rand) []int64 { return poisson(r, 1, 20) }},
	{"in batches of 100, 1 × the limit", func(r *rand.Rand) []int64 { return poisson(r, 1, 100) }},
	{"the worst: 100 at the end of each of two windows, then a pause", worst},
}

// poisson has batches of requests arrive independently of each other, load times the limit in an average window.
func poisson(r *rand.Rand, load float64, batch int) (arrivals []int64) {
	mean := float64(estimateWindow) * float64(batch) / (load * estimateLimit)
	for at := 0.0; at < float64(estimateWindows*estimateWindow); at += float64(r.ExpFloat64() * mean) { // rounded, so that it is the same on every machine
		for range batch {
			arrivals = append(arrivals, int64(at))
		}
	}
	return arrivals
}

func worst(*rand.Rand) (arrivals []int64) {
	for n := int64(1); n < estimateWindows; n += 4 {
		for range estimateLimit {
			arrivals = append(arrivals, n*estimateWindow-1)
		}
		for range estimateLimit {
			arrivals = append(arrivals, (n+1)*estimateWindow-2)
		}
	}
	return arrivals
}

// estimate compares the counter with the tokens that it granted in fact within the last window.
type estimate struct {
	requests, granted, grantedByLog int
	tooMany                         int     // granted though the window was full
	errors                          float64 // sum over the requests, in parts of the limit
	most                            int     // granted in any window
}

func measure(t randomTraffic) (e estimate) {
	arrivals := t.arrivals(rand.New(rand.NewPCG(1, 2)))
	keys := store.New(store.Config{Shards: 1})
	defer keys.Close()
	limit := limits.Limit{Algorithm: limits.SlidingWindow, Capacity: estimateLimit, Rate: limits.Rate{Period: estimateWindow}}
	logLimit := limit
	logLimit.Algorithm = limits.SlidingLog
	ops := []engine.Op{{Key: []byte("counter"), Limit: limit, Tokens: 1}, {Key: []byte("log"), Limit: logLimit, Tokens: 1}}
	results := make([]engine.Result, 2)
	const start = 1_800_000_000 * second // a multiple of the window
	var grants []int64                   // by the counter, within the last window
	for _, after := range arrivals {
		for len(grants) > 0 && grants[0] <= after-estimateWindow {
			grants = grants[1:]
		}
		keys.Apply(start+after, ops, results)
		counter := &results[0]
		used := estimateLimit - int(counter.Remaining+counter.Granted)
		e.requests++
		e.errors += math.Abs(float64(used-len(grants))) / estimateLimit
		if counter.Allowed && len(grants) >= estimateLimit {
			e.tooMany++
		}
		if counter.Allowed {
			grants = append(grants, after)
			e.granted++
		}
		e.most = max(e.most, len(grants))
		if results[1].Allowed {
			e.grantedByLog++
		}
	}
	return e
}

// TestEstimate checks the table of the sliding window counter's error, and the claim beside it.
func TestEstimate(t *testing.T) {
	var rows []string
	for _, traffic := range randomTraffics {
		e := measure(traffic)
		if e.requests < 90_000 || e.granted > e.requests {
			t.Errorf("%s: %d requests, %d granted", traffic.name, e.requests, e.granted)
		}
		rows = append(rows, fmt.Sprintf("| %s | %.1f %% | %.1f %% | %d |", traffic.name,
			100*e.errors/float64(e.requests), 100*float64(e.tooMany)/float64(e.granted), e.most))
		if traffic.name == randomTraffics[len(randomTraffics)-1].name && e.most != 2*estimateLimit-1 {
			t.Errorf("the counter grants %d of %d within a window at worst", e.most, estimateLimit)
		}
	}
	checkTable(t, "| traffic | mean error | granted above the limit | most in one window |", rows)
}
