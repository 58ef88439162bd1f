package httppace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httppace"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

var address string

func TestMain(m *testing.M) { servertest.Main(m, &address) }

// provider is another service, in a synctest bubble. It records the times of requests.
type provider struct {
	mu     sync.Mutex
	begun  time.Time
	came   []string
	answer func(n int, r *http.Request) (status int, fields string, err error)
}

func newProvider(answer func(n int, r *http.Request) (int, string, error)) *provider {
	return &provider{begun: time.Now(), answer: answer}
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := ""
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
	}
	p.came = append(p.came, fmt.Sprint(time.Since(p.begun).Round(time.Millisecond), " ", r.Method, " ", r.URL.Path, " ", body))
	status, fields, err := p.answer(len(p.came), r)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for field := range strings.SplitSeq(fields, "|") {
		if name, value, ok := strings.Cut(field, ": "); ok {
			h.Add(name, value)
		}
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// every is a limiter that spaces reservations evenly.
type every struct {
	mu   sync.Mutex
	gap  time.Duration
	next time.Time
}

func (e *every) Reserve(_ context.Context, _ string, _ stint.Limit, _ int64, maxWait time.Duration) (*stint.Reservation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if e.next.Before(now) {
		e.next = now
	}
	wait := e.next.Sub(now)
	if wait > maxWait {
		return &stint.Reservation{Result: stint.Result{RetryAfter: wait - maxWait}}, nil
	}
	e.next = e.next.Add(e.gap)
	return stint.NewReservation(stint.Result{Allowed: true, Granted: 1, Wait: wait}), nil
}

func get(t *testing.T, transport http.RoundTripper, method, url, body string) (int, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

// TestTurns: requests are sent at the limiter's times, in the order in which they came.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(func(int, *http.Request) (int, string, error) { return 200, "", nil })
		transport := &httppace.Transport{Base: p, Limiter: &every{gap: 100 * time.Millisecond}, MaxWait: time.Second}
		var all sync.WaitGroup
		failed := make(chan error, 100)
		for i := range 15 {
			all.Go(func() {
				if _, err := get(t, transport, "GET", fmt.Sprint("http://a/", i), ""); err != nil {
					failed <- err
				}
			})
			synctest.Wait()
		}
		all.Wait()
		close(failed)
		for i, came := range p.came {
			if want := fmt.Sprintf("%v GET /%d ", time.Duration(i)*100*time.Millisecond, i); came != want {
				t.Errorf("request %d: %q, want %q", i, came, want)
			}
		}
		count := 0
		for err := range failed {
			count++
			if !errors.Is(err, httppace.ErrTooLong) {
				t.Error(err)
			}
		}
		if len(p.came) != 11 || count != 4 {
			t.Errorf("%d sent and %d refused; 11 fit into the wait of a second", len(p.came), count)
		}
	})
}

// TestRetries: the requests that are retried, their times and number.
func TestRetries(t *testing.T) {
	lost := errors.New("connection reset")
	for _, c := range []struct {
		name        string
		method      string
		body        string
		answer      func(n int, r *http.Request) (int, string, error)
		attempts    int
		status      int
		between     [2]time.Duration // of the first and the second attempt
		maxAttempts int
	}{
		{name: "seconds", method: "POST", body: "x", answer: then(429, "Retry-After: 7"), attempts: 2, status: 200, between: [2]time.Duration{7 * time.Second, 7250 * time.Millisecond}},
		{name: "date", method: "GET", answer: then(429, "Retry-After: Sat, 01 Jan 2000 00:00:09 GMT"), attempts: 2, status: 200, between: [2]time.Duration{9 * time.Second, 9250 * time.Millisecond}},
		{name: "draft field", method: "GET", answer: then(429, `RateLimit: "d";r=0;t=5`), attempts: 2, status: 200, between: [2]time.Duration{5 * time.Second, 5250 * time.Millisecond}},
		{name: "draft field beside older ones", method: "GET", answer: then(429, `RateLimit: "d";r=0;t=1|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 5`), attempts: 2, status: 200, between: [2]time.Duration{time.Second, 1250 * time.Millisecond}},
		{name: "longer than allowed", method: "GET", answer: then(429, "Retry-After: 61"), attempts: 1, status: 429},
		{name: "does not say", method: "GET", answer: then(429, ""), attempts: 2, status: 200, between: [2]time.Duration{125 * time.Millisecond, 250 * time.Millisecond}},
		{name: "503 and idempotent", method: "PUT", body: "x", answer: then(503, ""), attempts: 2, status: 200, between: [2]time.Duration{125 * time.Millisecond, 250 * time.Millisecond}},
		{name: "503 and not", method: "POST", answer: then(503, ""), attempts: 1, status: 503},
		{name: "503 that asks for it", method: "POST", answer: then(503, "Retry-After: 1"), attempts: 2, status: 200, between: [2]time.Duration{time.Second, 1250 * time.Millisecond}},
		{name: "500", method: "GET", answer: then(500, ""), attempts: 1, status: 500},
		{name: "always 502", method: "GET", answer: func(int, *http.Request) (int, string, error) { return 502, "", nil }, attempts: 4, status: 502, between: [2]time.Duration{125 * time.Millisecond, 250 * time.Millisecond}},
		{name: "only once", method: "GET", answer: then(429, "Retry-After: 1"), attempts: 1, status: 429, maxAttempts: 1},
		{name: "connection lost", method: "GET", attempts: 2, status: 200, between: [2]time.Duration{125 * time.Millisecond, 250 * time.Millisecond},
			answer: func(n int, _ *http.Request) (int, string, error) {
				if n == 1 {
					return 0, "", lost
				}
				return 200, "", nil
			}},
		{name: "connection lost with POST", method: "POST", body: "x", attempts: 1, answer: func(int, *http.Request) (int, string, error) { return 0, "", lost }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(c.answer)
				transport := &httppace.Transport{Base: p, MaxAttempts: c.maxAttempts}
				status, err := get(t, transport, c.method, "http://a/x", c.body)
				if status != c.status || (status == 0) != errors.Is(err, lost) || len(p.came) != c.attempts {
					t.Fatalf("%d, %v after %d attempts, want %d after %d", status, err, len(p.came), c.status, c.attempts)
				}
				for i, came := range p.came {
					at, rest, _ := strings.Cut(came, " ")
					if rest != c.method+" /x "+c.body {
						t.Errorf("attempt %d: %s", i+1, came)
					}
					if d, _ := time.ParseDuration(at); i == 1 && (d < c.between[0] || d > c.between[1]) {
						t.Errorf("the second attempt came after %v, want %v", d, c.between)
					}
				}
			})
		})
	}
}

// then answers the first request with a status and fields, and the others with 200.
func then(status int, fields string) func(int, *http.Request) (int, string, error) {
	return func(n int, _ *http.Request) (int, string, error) {
		if n == 1 {
			return status, fields, nil
		}
		return 200, "", nil
	}
}

// TestPauseHoldsEverybody: a host that answered that no quota is left gets no requests until its reset; other hosts do.
func TestPauseHoldsEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(func(n int, r *http.Request) (int, string, error) {
			if n == 1 {
				return 200, `RateLimit: "minute";r=0;t=20`, nil
			}
			return 200, "", nil
		})
		transport := &httppace.Transport{Base: p}
		get(t, transport, "GET", "http://a/1", "")
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() { get(t, transport, "GET", fmt.Sprint("http://a/", i+2), "") })
			synctest.Wait()
		}
		get(t, transport, "GET", "http://b/other", "")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://a/hurried", nil)
		if _, err := transport.RoundTrip(r); err == nil {
			t.Error("a request was sent though it could not wait")
		}
		all.Wait()
		slices.Sort(p.came) // those that waited may go at the same moment, in any order
		if got := strings.Join(p.came, "\n"); got != "0s GET /1 \n0s GET /other \n20s GET /2 \n20s GET /3 \n20s GET /4 " {
			t.Errorf("the provider saw\n%s", got)
		}
	})
}

// TestRetryBudget: a server that is down gets few requests more than without retries.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(func(int, *http.Request) (int, string, error) { return 503, "", nil })
		transport := &httppace.Transport{Base: p}
		for range 100 {
			get(t, transport, "GET", "http://a/x", "")
		}
		if retries := len(p.came) - 100; retries < 25 || retries > 31 {
			t.Errorf("%d retries for 100 requests, want 10 and a fifth", retries)
		}
	})
}

// TestRealProvider: through http.Client, with a Stint server, which is asked about every request.
func TestRealProvider(t *testing.T) {
	var came, reserved atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
	defer provider.Close()
	limiter := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second), stint.WithHooks(stint.Hooks{
		Decision: func(_ context.Context, d stint.Decision) {
			if d.Operation == "Reserve" && d.Allowed && d.Source == stint.Server {
				reserved.Add(1)
			}
		},
	}))
	defer limiter.Close()
	client := &http.Client{Transport: &httppace.Transport{Limiter: limiter, Limit: stint.PerSecond(100).Queue(50)}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			response, err := client.Get(provider.URL)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
		})
	}
	all.Wait()
	if came.Load() != 20 || reserved.Load() != 20 {
		t.Errorf("%d requests, %d places in the queue", came.Load(), reserved.Load())
	}
	if _, err := (&http.Client{Transport: &httppace.Transport{Limiter: limiter, Limit: stint.Limit{}}}).Get(provider.URL); err == nil {
		t.Error("an invalid limit is no error")
	}
}

func ExampleTransport() {
	limiter := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	defer limiter.Close()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "found ", r.URL.Path) }))
	defer provider.Close()

	client := &http.Client{Transport: &httppace.Transport{
		Limiter: limiter,
		Limit:   stint.PerMinute(980).Queue(100),
		Key:     func(*http.Request) string { return "geocoder" },
	}}
	response, err := client.Get(provider.URL + "/1-high-street")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(string(text))
	// Output: found /1-high-street
}
