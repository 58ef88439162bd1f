package httppace

import (
	"context"
	"errors"
	"net/http"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/fields"
)

// A Corrector lowers a limit that believes in more tokens than the service has. *stint.Limiter is one.
type Corrector interface {
	AtMost(ctx context.Context, key string, limit stint.Limit, n int64) (stint.Result, error)
}

// Follow lowers limits to what a response of the service says it has left, and returns the pause that the response asks
// for, 0 if it asks for none. It is for programs that have the limits of a service without a [Transport]. limits are by
// their unit: "requests", "tokens", "input-tokens" or "output-tokens". Follow reads RateLimit, X-RateLimit, the fields of
// OpenAI and Anthropic, and Retry-After.
func Follow(ctx context.Context, c Corrector, response *http.Response, limits map[string]stint.Keyed) (pause time.Duration, err error) {
	now := time.Now()
	said := fields.Limits(response.Header, now)
	for _, s := range said {
		if k, ok := limits[s.Unit]; ok {
			_, failed := c.AtMost(ctx, k.Key, k.Limit, s.Remaining)
			err = errors.Join(err, failed)
		}
	}
	pause, _ = pauseOf(response, said, now)
	return pause, err
}

// pauseOf is the pause that a response asks for, and whether it does.
func pauseOf(response *http.Response, limits []fields.Limit, now time.Time) (pause time.Duration, says bool) {
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		pause, says = fields.RetryAfter(response.Header, now)
	}
	if reset, exhausted := fields.Exhausted(limits); exhausted {
		pause, says = max(pause, reset), true
	}
	return pause, says
}

// correct lowers the limit if the service has fewer requests left than this process was told at its last turn. If that
// fails, the next response says the same.
func (t *Transport) correct(ctx context.Context, g *gate, limits []fields.Limit) {
	c, ok := t.Limiter.(Corrector)
	if !ok || !t.Limit.Corrects() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportFor)
	defer cancel()
	for _, l := range limits {
		if l.Unit == "requests" && g.believes(l.Remaining) {
			_, _ = c.AtMost(ctx, g.key, t.Limit, l.Remaining)
		}
	}
}
