package stint_test

import (
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// TestLimits: what a limit tells about itself.
func TestLimits(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		limit  stint.Limit
		tokens int64
		period time.Duration
		fill   time.Duration
	}{
		{stint.PerSecond(10).Burst(20), 20, time.Second, 2 * time.Second},
		{stint.PerDay(3), 3, day, day},
		{stint.Per(3, time.Second).Burst(1), 1, time.Second, 333_333_334},
		{stint.PerMinute(60).Queue(9), 10, time.Minute, 10 * time.Second},
		{stint.GCRA(4, 10, time.Hour), 5, time.Hour, 30 * time.Minute},
		{stint.Window(100, stint.Month), 100, 30 * day, 30 * day},
		{stint.Window(100, stint.Aligned(time.Minute)), 100, time.Minute, time.Minute},
		{stint.SlidingLog(7, time.Hour), 7, time.Hour, time.Hour},
		{stint.Limit{}, 0, 0, 0},
		{stint.PerSecond(-1), -1, time.Second, 0},
	} {
		if c.limit.Tokens() != c.tokens || c.limit.Period() != c.period || c.limit.FillTime() != c.fill {
			t.Errorf("%v: %d tokens, period %v, fills in %v", c.limit, c.limit.Tokens(), c.limit.Period(), c.limit.FillTime())
		}
	}
	if stint.PerMinute(6) != stint.Per(6, time.Minute) || stint.Window(5, stint.Day).Burst(9) != stint.Window(5, stint.Day) || stint.Window(5, stint.Day).Queue(9) != stint.Window(5, stint.Day) {
		t.Error("limits are values, and Burst and Queue are for token buckets")
	}
}

func TestOptionsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"share above 1": func() { stint.LocalShare(1.5) },
		"share of 0":    func() { stint.LocalShare(0) },
		"no timeout":    func() { stint.Timeout(0) },
		"no failures":   func() { stint.Breaker(0, time.Second) },
		"no address":    func() { stint.Connect(nil, stint.FailOpen()) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
