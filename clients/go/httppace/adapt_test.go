package httppace_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httppace"
)

// TestOnePauseStopsTheFleet: two transports with separate limiters stand for two processes. The pause that one is asked
// for stops the other before it has sent anything.
func TestOnePauseStopsTheFleet(t *testing.T) {
	for name, c := range map[string]struct {
		status        int
		field, says   string
		least, atMost time.Duration
	}{
		"seconds":      {429, "Retry-After", "1800", 29 * time.Minute, 30 * time.Minute},
		"date":         {429, "Retry-After", time.Now().Add(30 * time.Minute).UTC().Format(http.TimeFormat), 28 * time.Minute, 30 * time.Minute},
		"503":          {503, "Retry-After", "1800", 29 * time.Minute, 30 * time.Minute},
		"no quota":     {200, "RateLimit", `"hour";r=0;t=1800`, 29 * time.Minute, 30 * time.Minute},
		"for too long": {429, "Retry-After", "4000000000", 59 * time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			var came atomic.Int64
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				came.Add(1)
				w.Header().Set(c.field, c.says)
				w.WriteHeader(c.status)
			}))
			defer service.Close()
			name := t.Name() + service.URL
			key := func(*http.Request) string { return name }
			process := func() (*stint.Limiter, *httppace.Transport) {
				l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
				t.Cleanup(func() { l.Close() })
				return l, &httppace.Transport{
					Limiter: l, Limit: stint.PerSecond(100).Adaptive(2), Key: key, MaxPause: time.Hour, MaxWait: 10 * time.Second,
				}
			}
			limiter, first := process()
			_, second := process()
			if status, err := get(t, first, "GET", service.URL, ""); status != c.status || err != nil {
				t.Fatalf("the first: %d, %v", status, err)
			}
			if status, err := get(t, second, "GET", service.URL, ""); !errors.Is(err, httppace.ErrTooLong) || came.Load() != 1 {
				t.Errorf("the second: %d, %v; the service saw %d requests", status, err, came.Load())
			}
			pace, known, err := limiter.Report(t.Context(), name, stint.Report{})
			if err != nil || !known || pace.Pause < c.least || pace.Pause > c.atMost {
				t.Errorf("the pause: %+v, %v, %v", pace, known, err)
			}
		})
	}
}

// TestPauseEnds: the other process goes on when the pause is over, and the rate has fallen.
func TestPauseEnds(t *testing.T) {
	var came atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if came.Add(1) == 1 {
			time.Sleep(2 * time.Millisecond) // the call takes longer than Every
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		}
	}))
	defer service.Close()
	var transports []*httppace.Transport
	limiter := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	defer limiter.Close()
	for range 2 {
		transports = append(transports, &httppace.Transport{
			Limiter: limiter, Limit: stint.PerSecond(100).Adaptive(2), MaxAttempts: 1, Report: stint.Report{Every: time.Millisecond, Down: 50, Up: 1},
		})
	}
	if status, err := get(t, transports[0], "GET", service.URL, ""); status != 429 || err != nil {
		t.Fatal(status, err)
	}
	if status, err := get(t, transports[1], "GET", service.URL, ""); status != 200 || err != nil || came.Load() != 2 {
		t.Errorf("after the pause: %d, %v, %d requests", status, err, came.Load())
	}
	pace, _, err := limiter.Report(t.Context(), "http:"+service.Listener.Addr().String(), stint.Report{})
	if err != nil || pace.Pause != 0 || pace.PerSecond > 52 { // the good call may have been reported, too
		t.Errorf("then: %+v, %v", pace, err)
	}
}

// reports is a limiter that grants all, and keeps the reports.
type reports struct {
	mu   sync.Mutex
	got  []string
	most time.Duration
}

func (r *reports) Reserve(_ context.Context, _ string, _ stint.Limit, _ int64, maxWait time.Duration) (*stint.Reservation, error) {
	r.most = max(r.most, maxWait)
	return stint.NewReservation(stint.Result{Allowed: true, Granted: 1}), nil
}

func (r *reports) Report(_ context.Context, key string, s stint.Report) (stint.Pace, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, fmt.Sprintf("%s +%d -%d %v %v", key, s.Good, s.Bad, s.Pause, s.Every))
	return stint.Pace{}, true, nil
}

// TestReportsAreSums: answers are reported each second together, and a pause at once, and once.
func TestReportsAreSums(t *testing.T) {
	limit := stint.PerSecond(100).Adaptive(2)
	for _, c := range []struct {
		name   string
		answer func(n int, r *http.Request) (int, string, error)
		want   string
	}{
		{"all go well", func(int, *http.Request) (int, string, error) { return 200, "", nil }, "[http:a +30 -0 0s 2s]"},
		{"some do not", func(n int, _ *http.Request) (int, string, error) {
			return []int{200, 404, 500, 502, 503, 504, 429}[n%7], "", nil
		}, "[http:a +9 -12 0s 2s]"},
		{"all ask for a pause", func(int, *http.Request) (int, string, error) { return 429, "Retry-After: 100", nil }, "[http:a +0 -1 1m40s 2s http:a +0 -29 0s 2s]"},
		{"all time out", func(int, *http.Request) (int, string, error) { return 0, "", context.DeadlineExceeded }, "[http:a +0 -30 0s 2s]"},
		{"all are refused", func(int, *http.Request) (int, string, error) { return 0, "", errors.New("refused") }, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, r := newProvider(c.answer), &reports{}
				var ready sync.WaitGroup // all requests are under way before the first answer
				ready.Add(30)
				base := roundTrip(func(q *http.Request) (*http.Response, error) {
					ready.Done()
					ready.Wait()
					return p.RoundTrip(q)
				})
				transport := &httppace.Transport{Base: base, Limiter: r, Limit: limit, MaxAttempts: 1, Report: stint.Report{Every: 2 * time.Second, Good: 7, Pause: time.Hour}}
				var all sync.WaitGroup
				for range 30 {
					all.Go(func() { get(t, transport, "GET", "http://a/", "") })
				}
				all.Wait()
				time.Sleep(10 * time.Second)
				r.mu.Lock()
				defer r.mu.Unlock()
				if got := fmt.Sprint(r.got); got != c.want {
					t.Errorf("reported %s, want %s", got, c.want)
				}
				if r.most > 250*time.Millisecond {
					t.Errorf("reserved %v in advance", r.most)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAdaptiveMistakes: a limiter that cannot report, and options out of range.
func TestAdaptiveMistakes(t *testing.T) {
	limit := stint.PerSecond(100).Adaptive(2)
	for name, transport := range map[string]*httppace.Transport{
		"no reporter": {Limiter: &every{}, Limit: limit},
		"odd options": {Limiter: &reports{}, Limit: limit, Report: stint.Report{Down: 100}},
	} {
		if _, err := get(t, transport, "GET", "http://127.0.0.1:1/", ""); !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
