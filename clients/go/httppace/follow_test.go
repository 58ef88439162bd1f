package httppace_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httppace"
)

// corrected is a limiter that believes in 90 tokens, and keeps what it was lowered to.
type corrected struct {
	mu  sync.Mutex
	got []string
}

func (c *corrected) Reserve(context.Context, string, stint.Limit, int64, time.Duration) (*stint.Reservation, error) {
	return stint.NewReservation(stint.Result{Allowed: true, Granted: 1, Remaining: 90}), nil
}

func (c *corrected) AtMost(_ context.Context, key string, limit stint.Limit, n int64) (stint.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, fmt.Sprint(key, " ", limit, " ", n))
	return stint.Result{Allowed: true, Remaining: n}, nil
}

// TestLimitFollowsTheService: only a limit that has more than the service is lowered, and only to its requests.
func TestLimitFollowsTheService(t *testing.T) {
	for name, c := range map[string]struct {
		limit stint.Limit
		says  string
		want  string
	}{
		"less":     {stint.PerMinute(100), "X-RateLimit-Remaining: 40|X-RateLimit-Reset: 5", "[http:a TB 100 100/60000ms 40]"},
		"more":     {stint.PerMinute(100), "X-RateLimit-Remaining: 95", "[]"},
		"tokens":   {stint.PerMinute(100), "anthropic-ratelimit-tokens-remaining: 3", "[]"},
		"a window": {stint.Window(100, stint.Minute), `RateLimit: "m";r=7;t=3`, "[http:a FW 100 @minute 7]"},
		"a queue":  {stint.PerMinute(6000).Queue(100), "X-RateLimit-Remaining: 40", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			limiter := &corrected{}
			p := newProvider(func(int, *http.Request) (int, string, error) { return 200, c.says, nil })
			transport := &httppace.Transport{Base: p, Limiter: limiter, Limit: c.limit}
			if _, err := get(t, transport, "GET", "http://a/", ""); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(limiter.got); got != c.want {
				t.Errorf("lowered %s, want %s", got, c.want)
			}
		})
	}
}

// TestFollow is for programs that send by themselves.
func TestFollow(t *testing.T) {
	limiter := &corrected{}
	h := http.Header{}
	h.Set("X-RateLimit-Remaining-Requests", "0")
	h.Set("X-RateLimit-Reset-Requests", "90s")
	h.Set("X-RateLimit-Remaining-Tokens", "1200")
	limits := map[string]stint.Keyed{"requests": stint.On("r", stint.PerMinute(100)), "tokens": stint.On("t", stint.PerMinute(9000))}
	pause, err := httppace.Follow(t.Context(), limiter, &http.Response{StatusCode: 200, Header: h}, limits)
	if got := fmt.Sprint(limiter.got); err != nil || pause != 90*time.Second || got != "[r TB 100 100/60000ms 0 t TB 9000 9000/60000ms 1200]" {
		t.Errorf("%v, %s, %v", pause, got, err)
	}
}
