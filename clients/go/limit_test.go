package stint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// TestLimits: the properties of limits.
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

// TestInvalidLimits: an error says which parameter of which algorithm is wrong.
func TestInvalidLimits(t *testing.T) {
	l := stint.Connect([]string{"127.0.0.1:1"}, stint.FailOpen())
	defer l.Close()
	for _, c := range []struct {
		limit stint.Limit
		says  string
	}{
		{stint.Limit{}, "the zero Limit"},
		{stint.Per(1, 0), "TB.ACQUIRE: the period must be a whole number of 1ms above zero, got 0s"},
		{stint.Per(1, time.Microsecond).Queue(1), "LB.QUEUE: the period must be"},
		{stint.GCRA(1, 1, time.Millisecond), "CL.THROTTLE: the period must be a whole number of 1s above zero, got 1ms"},
		{stint.Window(1, "@fortnight"), `FW.ACQUIRE: the window must be Day or another period of the calendar, Starting(…) or Aligned(…), got "@fortnight"`},
		{stint.Window(1, stint.Starting(-time.Second)), "FW.ACQUIRE: the window must be a whole number of 1ms above zero, got -1s"},
		{stint.SlidingWindow(1, 0), "SW.ACQUIRE: the window must be a whole number"},
		{stint.SlidingLog(1, time.Nanosecond), "SL.ACQUIRE: the window must be a whole number of 1ms above zero, got 1ns"},
	} {
		if _, err := l.Allow(t.Context(), "k", c.limit); !errors.Is(err, stint.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %s", c.limit, err, c.says)
		}
	}
}

func TestOptionsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"share above 1": func() { stint.LocalShare(1.5) },
		"share of 0":    func() { stint.LocalShare(0) },
		"no timeout":    func() { stint.Timeout(0) },
		"no time":       func() { stint.ConnectTimeout(-1) },
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

// TestMoreAfter: how long until there is more than an answer told.
func TestMoreAfter(t *testing.T) {
	const ms = time.Millisecond
	unknown := time.Duration(-1)
	bucket := stint.PerSecond(2).Burst(10)
	for _, c := range []struct {
		limit stint.Limit
		r     stint.Result
		want  time.Duration
	}{
		{bucket, stint.Result{Allowed: true, Limit: 10, Remaining: 10}, 0},
		{bucket, stint.Result{Allowed: true, Limit: 10, Remaining: 9, ResetAfter: 500 * ms}, 500 * ms},
		{bucket, stint.Result{Allowed: true, Limit: 10, Remaining: 0, ResetAfter: 5000 * ms}, 500 * ms},
		{bucket, stint.Result{Allowed: true, Limit: 10, Remaining: 0, ResetAfter: 4700 * ms}, 200 * ms},
		{bucket, stint.Result{Limit: 10, Remaining: 0, ResetAfter: 4700 * ms, RetryAfter: 200 * ms}, 200 * ms},
		{bucket, stint.Result{Limit: 10, Remaining: 3, ResetAfter: 3300 * ms, RetryAfter: 2800 * ms}, 300 * ms},
		{bucket, stint.Result{Limit: 10, Remaining: 3, ResetAfter: 3300 * ms, RetryAfter: stint.Never}, 300 * ms},
		{bucket, stint.Result{Limit: 10, Remaining: -4, ResetAfter: 7000 * ms, RetryAfter: 2500 * ms}, 2500 * ms},
		{bucket, stint.Result{Allowed: true, Limit: 10, Remaining: -4, ResetAfter: 7000 * ms}, 2500 * ms},
		{stint.Window(5, stint.Hour), stint.Result{Limit: 5, ResetAfter: 7001 * ms, RetryAfter: 7000 * ms}, 7000 * ms},
		{bucket, stint.Result{Limit: 10, Source: stint.Fallback, RetryAfter: time.Second}, unknown},
		{bucket, stint.Result{Limit: 5, Source: stint.Local, RetryAfter: time.Second}, time.Second},
		{bucket, stint.Result{Allowed: true, Limit: 5, Source: stint.Local, ResetAfter: time.Second}, unknown},
		{stint.PerSecond(2).Queue(9), stint.Result{Allowed: true, Limit: 10, Remaining: 0, ResetAfter: 5000 * ms}, 500 * ms},
		{stint.GCRA(9, 2, time.Second), stint.Result{Allowed: true, Limit: 10, Remaining: 0, ResetAfter: 5000 * ms}, 500 * ms},
		{stint.Window(5, stint.Hour), stint.Result{Allowed: true, Limit: 5, Remaining: 3, ResetAfter: 7000 * ms}, 7000 * ms},
		{stint.SlidingLog(5, time.Hour), stint.Result{Allowed: true, Limit: 5, Remaining: 3, ResetAfter: time.Hour}, unknown},
		{stint.SlidingWindow(5, time.Hour), stint.Result{Limit: 5, ResetAfter: time.Hour, RetryAfter: time.Minute}, time.Minute},
	} {
		got, ok := c.limit.MoreAfter(c.r)
		if !ok {
			got = unknown
		}
		if got != c.want {
			t.Errorf("%v, %+v: %v, want %v", c.limit, c.r, got, c.want)
		}
		if !c.r.Allowed && c.r.RetryAfter != stint.Never && got > c.r.RetryAfter {
			t.Errorf("%v, %+v: %v is after RetryAfter", c.limit, c.r, got)
		}
	}
}
