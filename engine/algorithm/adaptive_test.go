package algorithm

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A bucket follows the news of its backend: half of the rate after bad calls, a tenth of the highest one more after
// good calls, if the rate is used.
func TestAdaptive(t *testing.T) {
	news := func(good, bad int64, pause time.Duration) *engine.Report {
		return &engine.Report{Good: good, Bad: bad, Every: int64(s), Down: 50_000, Up: 10_000, Pause: int64(pause)}
	}
	testSteps(t, limits.Limit{Algorithm: limits.Adaptive, Capacity: 10, Rate: limits.Rate{Tokens: 10, Period: int64(s)}, Least: 2}, []step{
		{at: 0, tokens: 10, want: "granted, 0 left, full in 1s"},
		{at: 0, tokens: 1, want: "denied, 0 left, wait 100ms"},
		{at: 500 * time.Millisecond, report: news(0, 1, 0), want: "10 a second"}, // not yet: it decides once a second
		{at: s, report: news(0, 1, 0), want: "5 a second"},
		{at: s, tokens: 10, want: "granted, 0 left, full in 2s"},
		{at: 1050 * time.Millisecond, report: news(0, 9, 0), want: "5 a second"}, // an echo of the same trouble
		{at: 2 * s, report: news(5, 0, 0), want: "6 a second"},                   // ten of five a second were used
		{at: 3 * s, report: news(5, 0, 0), want: "6 a second"},                   // none were
		{at: 4 * s, report: news(0, 1, 0), want: "3 a second"},
		{at: 5 * s, report: news(0, 1, 0), want: "2 a second"}, // the least
		{at: 30 * s, tokens: 11, want: "denied, 10 left, never"},
		{at: 30 * s, report: news(0, 0, 20*s), want: "2 a second"},
		{at: 40 * s, tokens: 1, want: "denied, 10 left, wait 10s"}, // a pause
		{at: 50 * s, tokens: 1, want: "granted, 9 left, full in 500ms"},
		{at: 50*s + 11*time.Minute, tokens: 10, want: "granted, 0 left, full in 1s"}, // it has forgotten its rate
	})
}
