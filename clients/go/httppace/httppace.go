// Package httppace keeps outgoing requests within the limit of another service.
//
//	client := &http.Client{Transport: &httppace.Transport{
//		Limiter: limiter,
//		Limit:   stint.PerMinute(980).Queue(100),
//	}}
//
// All processes that use the same Stint server and the same key share the limit. Before each request the transport
// waits for its turn. If the service still refuses, by 429 and Retry-After or by a RateLimit field with nothing left,
// all requests of this process for that key wait as long as it asks for. A bucket or a window that has more tokens than
// the service says it has left is lowered to them, for all processes. Besides RateLimit, the transport reads X-RateLimit
// and the fields of OpenAI and Anthropic.
//
// If nobody knows the limit of the service, let the rate follow its answers, for all processes together:
//
//	client := &http.Client{Transport: &httppace.Transport{
//		Limiter: limiter,
//		Limit:   stint.PerSecond(100).Burst(20).Adaptive(2),
//	}}
//
// Then the transport reports the answers to Stint, so a 429 that one process gets slows all of them down, and a
// Retry-After stops them all. Requests reserve their turn at most a quarter of a second in advance: those that have
// done so when another process reports a pause are still sent.
package httppace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/fields"
)

// ErrTooLong says that a request was not sent because its wait would exceed MaxWait or the deadline of its context.
var ErrTooLong = errors.New("httppace: the wait would be too long")

// Defaults of a Transport.
const (
	DefaultMaxWait     = time.Minute
	DefaultMaxAttempts = 4
	DefaultBackoff     = 250 * time.Millisecond
	DefaultMaxBackoff  = 30 * time.Second
	DefaultRetryShare  = 0.2
	DefaultMaxPause    = 24 * time.Hour
)

// giveBackFor is the longest time that giving back an unused turn may take.
const giveBackFor = time.Second

// retryReserve is the number of retries allowed before requests have earned any.
const retryReserve = 10

// A Reserver decides when a request may be sent. *stint.Limiter is one.
type Reserver interface {
	Reserve(ctx context.Context, key string, limit stint.Limit, n int64, maxWait time.Duration) (*stint.Reservation, error)
}

// A Transport is an http.RoundTripper that paces requests. Its fields must not be changed once it is in use. Requests
// of one key get their times in the order in which they came, and those with the same time are sent together; a retried
// request goes to the end of the queue.
type Transport struct {
	// Base sends the requests, http.DefaultTransport if it is nil.
	Base http.RoundTripper
	// Limiter decides when a request may be sent. If it is nil, requests wait only when responses ask for it.
	Limiter Reserver
	// Limit is the limit to keep: a queue, which spaces requests evenly, a token bucket, or an adaptive limit, which
	// follows the answers of the service. For this the Limiter must be a [Reporter] too.
	Limit stint.Limit
	// Report has the Every, Down and Up of the reports under an adaptive limit. Its other fields are not used.
	Report stint.Report
	// MaxPause bounds the pause that a response can ask for, under an adaptive limit for all processes: a day if it
	// is 0.
	MaxPause time.Duration
	// Key groups the requests that share a limit. If it is nil, requests to the same host and port share one, under the
	// key "http:" and the host.
	Key func(*http.Request) string
	// MaxWait bounds the total wait of one request, retries included: a minute if it is 0. A request that would have to
	// wait longer is not sent, or not retried.
	MaxWait time.Duration
	// MaxAttempts is the most times that one request is sent: 4 if it is 0; with 1 it is never retried.
	MaxAttempts int
	// Backoff bounds the wait before the second attempt if the response does not set one: 250 ms if it is 0. It doubles
	// with every attempt up to MaxBackoff, 30 s if that is 0. The wait is a random part of it.
	Backoff, MaxBackoff time.Duration
	// RetryShare is the number of retries allowed for each request, on average over all requests: 0.2 if it is 0. It
	// bounds the additional requests to a server that is down.
	RetryShare float64

	mu     sync.Mutex
	gates  map[string]*gate
	budget float64 // retries that may be made, less retryReserve
}

// RoundTrip waits until the request may be sent, sends it, and retries it where that is safe and may help: after 429,
// and 503 with Retry-After; and if the method is idempotent, after connection errors, 502, 503 and 504. A request whose
// body cannot be read again (http.Request.GetBody) is sent once.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	until := time.Now().Add(or(t.MaxWait, DefaultMaxWait))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	gate := t.gate(t.key(r))
	t.earn()
	for attempt := 1; ; attempt++ {
		if err := t.await(ctx, gate, until); err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, fmt.Errorf("httppace: %s %s: %w", r.Method, r.URL.Redacted(), err)
		}
		response, err := t.base().RoundTrip(r)
		asked, says := t.heed(ctx, gate, response)
		t.count(ctx, gate, response, err, asked)
		if !retriable(r, response, err, says) || attempt >= or(t.MaxAttempts, DefaultMaxAttempts) || ctx.Err() != nil {
			return response, err
		}
		pause := t.backoff(attempt)
		if says {
			pause = max(asked, 0) // the gate enforces it; the jitter is added
			pause += rand.N(or(t.Backoff, DefaultBackoff))
		}
		next, ok := again(r)
		if !ok || time.Now().Add(pause).After(until) || !t.spend() {
			return response, err
		}
		if response != nil {
			drain(response.Body)
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		r = next
	}
}

// await waits for the request's turn: behind those that came before it, until the gate is open, and until the time that
// Stint reserved.
func (t *Transport) await(ctx context.Context, g *gate, until time.Time) error {
	select {
	case g.turn <- struct{}{}: // a channel serves waiting senders in order
	case <-ctx.Done():
		return ctx.Err()
	}
	turn, err := t.reserve(ctx, g, until)
	<-g.turn
	if err != nil {
		return err
	}
	if err := g.await(ctx, time.Now().Add(turn.Delay()), until); err != nil {
		// ctx may be over, and giving the turn back needs a context that is not.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackFor)
		defer cancel()
		_ = turn.Cancel(ctx)
		return err
	}
	return nil
}

// await waits until a time and until the gate is open.
func (g *gate) await(ctx context.Context, at, until time.Time) error {
	for {
		// A response may have asked for a pause during the wait.
		if closed := g.closedUntil(); closed.After(at) {
			at = closed
		}
		if at.After(until) {
			return ErrTooLong
		}
		if pause := time.Until(at); pause <= 0 {
			return nil
		} else if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// reserve waits until the gate is open and reserves the time at which the request may be sent.
func (t *Transport) reserve(ctx context.Context, g *gate, until time.Time) (*stint.Reservation, error) {
	for {
		closed := g.closedUntil()
		if closed.After(until) {
			return nil, ErrTooLong
		}
		pause := time.Until(closed)
		if pause <= 0 {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
	if t.Limiter == nil {
		return stint.NewReservation(stint.Result{Allowed: true}), nil
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	for {
		r, err := t.Limiter.Reserve(ctx, g.key, t.Limit, 1, t.ahead(until))
		switch {
		case err != nil:
			return nil, err
		case r.Allowed:
			g.told(r.Remaining)
			return r, nil
		case r.Source == stint.Fallback:
			return nil, fmt.Errorf("%w: %w", stint.ErrDenied, r.Cause)
		case r.RetryAfter == stint.Never || time.Now().Add(r.RetryAfter).After(until), r.Source == stint.Server && !t.adapts():
			return nil, ErrTooLong
		}
		// A local share cannot be reserved, nor can an adaptive limit in its pause.
		if err := sleep(ctx, r.RetryAfter); err != nil {
			return nil, err
		}
	}
}

// heed closes the gate for the pause that the response asks for, and reports whether it asked for one.
func (t *Transport) heed(ctx context.Context, g *gate, response *http.Response) (pause time.Duration, says bool) {
	if response == nil {
		return 0, false
	}
	now := time.Now()
	limits := fields.Limits(response.Header, now)
	t.correct(ctx, g, limits)
	pause, says = pauseOf(response, limits, now)
	if says {
		pause = min(pause, or(t.MaxPause, DefaultMaxPause))
		g.close(now.Add(pause))
	}
	return pause, says
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) key(r *http.Request) string {
	if t.Key == nil {
		return "http:" + r.URL.Host
	}
	return t.Key(r)
}

// drain reads the rest of the body so that the connection can be reused, unless the body is too long.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	body.Close()
}

func or[T int | float64 | time.Duration](value, preset T) T {
	if value == 0 {
		return preset
	}
	return value
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
