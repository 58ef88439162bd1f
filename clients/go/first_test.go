package stint

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// connecting is a server that can be reached from a time on, and then answers after a delay, or never if that is zero.
type connecting struct {
	from  time.Time
	delay time.Duration
}

func (c connecting) send(ctx context.Context, commands []redis.Cmder) {
	var answer <-chan time.Time
	if c.delay > 0 {
		answer = time.After(max(time.Until(c.from), c.delay))
	}
	select {
	case <-answer:
	case <-ctx.Done():
	}
	for _, each := range commands {
		each.SetErr(ctx.Err())
		each.(once).SetVal([]any{int64(1), int64(10), int64(9), int64(0), int64(100)})
	}
}

// TestFirstCalls: calls wait for the first reply of a new limiter, and only for that.
func TestFirstCalls(t *testing.T) {
	for name, c := range map[string]struct {
		delay     time.Duration
		first     Source
		firstTook time.Duration
		second    Source
	}{
		"slow to connect": {time.Millisecond, Server, 300 * time.Millisecond, Server},
		"slow":            {50 * time.Millisecond, Server, 300 * time.Millisecond, Fallback},
		"silent":          {0, Fallback, time.Second, Fallback},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				server := connecting{begun.Add(300 * time.Millisecond), c.delay}
				l := start(server, newSettings(FailOpen(), nil), func() error { return nil })
				defer time.Sleep(2 * patience) // the time of the bubble: all goroutines of the limiter end
				defer l.Close()
				var first sync.WaitGroup
				for range 3 {
					first.Go(func() {
						r, err := l.Allow(t.Context(), "k", PerSecond(10))
						if took := time.Since(begun); err != nil || r.Source != c.first || took != c.firstTook {
							t.Errorf("a first call: %+v, %v, after %v", r, err, took)
						}
					})
				}
				first.Wait()
				begun = time.Now()
				r, err := l.Allow(t.Context(), "k", PerSecond(10))
				if took := time.Since(begun); err != nil || r.Source != c.second || took > DefaultTimeout {
					t.Errorf("a later call: %+v, %v, after %v", r, err, took)
				}
			})
		})
	}
}

// captureLog has the default logger write to a buffer until the end of the test.
func captureLog(t *testing.T) *bytes.Buffer {
	log, before := new(bytes.Buffer), slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return log
}

// TestLateSettlement: one warning in a process, and none for a request that was canceled.
func TestLateSettlement(t *testing.T) {
	log := captureLog(t)
	lateWarning = sync.Once{}
	l := start(unknowing{}, newSettings(FailOpen(), nil), func() error { return nil })
	defer l.Close()
	if charges, err := l.Cancel(t.Context(), "call:1"); charges != nil || err != nil || log.Len() > 0 {
		t.Errorf("%v, %v, %s", charges, err, log)
	}
	for range 2 {
		for _, settle := range []func() ([]Charge, error){
			func() ([]Charge, error) { return l.Settle(t.Context(), "call:1", 5) },
			func() ([]Charge, error) { return l.SettleCosts(t.Context(), "call:1", 5, KeepCharge) },
		} {
			if charges, err := settle(); charges != nil || err != nil {
				t.Errorf("%v, %v", charges, err)
			}
		}
	}
	if text := log.String(); strings.Count(text, "WARN") != 1 || !strings.Contains(text, "id=call:1") {
		t.Errorf("warnings: %s", text)
	}
}

// TestBreakerIsLogged: an opening and a closing, unless a hook hears them.
func TestBreakerIsLogged(t *testing.T) {
	log := captureLog(t)
	tellBreaker([]Hooks{{}, {Breaker: func(bool, error) {}}}, true, ErrUnavailable)
	if log.Len() > 0 {
		t.Errorf("logged although a hook hears it: %s", log)
	}
	tellBreaker([]Hooks{{}}, true, ErrUnavailable)
	tellBreaker(nil, false, nil)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN msg=\"Stint does not answer") || !strings.Contains(lines[1], "level=INFO msg=\"Stint answers again") {
		t.Errorf("%q", lines)
	}
}

// unknowing is a server that knows no request.
type unknowing struct{}

func (unknowing) send(_ context.Context, commands []redis.Cmder) {
	for _, each := range commands {
		each.SetErr(redis.Nil)
	}
}

// TestFirstFallback: one warning in a process.
func TestFirstFallback(t *testing.T) {
	log := captureLog(t)
	warning = sync.Once{}
	l := start(universal{redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})}, newSettings(FailOpen(), nil), func() error { return nil })
	defer l.Close()
	for range 3 {
		if r, err := l.Allow(t.Context(), "k", PerSecond(10)); err != nil || r.Source != Fallback || !errors.Is(r.Cause, ErrUnavailable) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if n := strings.Count(log.String(), "Stint did not decide a request"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log)
	}
}
