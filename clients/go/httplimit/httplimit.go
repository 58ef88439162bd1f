// Package httplimit limits the requests that an HTTP server takes.
//
//	limits := httplimit.New(limiter, "api", stint.PerMinute(100), httplimit.ByIP(clientip.Resolver{}))
//	http.ListenAndServe(":8080", limits.Handler(mux))
//
// A request that is let through has the fields RateLimit and RateLimit-Policy in its response, as
// draft-ietf-httpapi-ratelimit-headers-10 defines them, and X-RateLimit-Limit, -Remaining and -Reset. One that is not is
// answered with 429, Retry-After, and a body of application/problem+json. While Stint does not answer and the limiter's
// policy is to deny, it is answered with 503, as the client has done nothing wrong.
//
// [Middleware.Handler] fits net/http and routers that take such middleware, such as chi; with echo it goes through
// echo.WrapMiddleware. For gin and others that want to be asked, there is [Middleware.Admit].
package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/fields"
)

// An Allower decides: a *stint.Limiter or *stint.Leases.
type Allower interface {
	AllowN(ctx context.Context, key string, limit stint.Limit, n int64) (stint.Result, error)
}

// A Middleware limits requests. Make one with [New] or [NewPolicy]; its methods may be called by many at once.
type Middleware struct {
	name   string
	key    Key
	decide func(r *http.Request, key string, n int64) (result stint.Result, window time.Duration, err error)
	settings
}

type settings struct {
	skip    []func(*http.Request) bool
	cost    func(*http.Request) int64
	limit   func(*http.Request) stint.Limit
	shadow  func(*http.Request, stint.Result)
	denied  func(http.ResponseWriter, *http.Request, stint.Result)
	failed  func(*http.Request, error)
	headers Headers
}

// Headers says which fields responses get.
type Headers uint8

const (
	// Draft is RateLimit and RateLimit-Policy.
	Draft Headers = 1 << iota
	// XRateLimit is X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, the last in seconds from now.
	XRateLimit
	// XRateLimitDate is the same with X-RateLimit-Reset as a Unix time.
	XRateLimitDate
)

// An Option changes what a [Middleware] does.
type Option func(*settings)

// Skip leaves requests alone for which it returns true. Given several times, one that returns true is enough.
func Skip(skip func(*http.Request) bool) Option {
	return func(s *settings) { s.skip = append(s.skip, skip) }
}

// Cost is how many tokens a request takes, in place of 1. A request that costs less than 1 is left alone.
func Cost(cost func(*http.Request) int64) Option { return func(s *settings) { s.cost = cost } }

// LimitFor chooses a limit for each request, in place of the one given to [New]: for customers that pay more. It has no
// effect on [NewPolicy].
func LimitFor(limit func(*http.Request) stint.Limit) Option {
	return func(s *settings) { s.limit = limit }
}

// Shadow lets everything through and tells report about requests that would have been denied. Responses get no fields.
func Shadow(report func(*http.Request, stint.Result)) Option {
	return func(s *settings) { s.shadow = report }
}

// Denied answers requests that are not let through, in place of the problem+json. The fields are set already.
func Denied(answer func(http.ResponseWriter, *http.Request, stint.Result)) Option {
	return func(s *settings) { s.denied = answer }
}

// Failed is told about errors that somebody has to mend, such as a limit that is not valid; the limiter's policy decides
// about the request. Without it they are logged with package slog.
func Failed(report func(*http.Request, error)) Option {
	return func(s *settings) { s.failed = report }
}

// WithHeaders chooses the fields, in place of Draft|XRateLimit; 0 is none. Retry-After is always sent.
func WithHeaders(h Headers) Option { return func(s *settings) { s.headers = h } }

// New limits the requests of each key. The name tells this limit from others: it is in the fields of the response, and
// stands in front of the keys at the server.
func New(limiter Allower, name string, limit stint.Limit, key Key, options ...Option) *Middleware {
	m := newMiddleware(name, key, options)
	m.decide = func(r *http.Request, key string, n int64) (stint.Result, time.Duration, error) {
		limit := limit
		if m.limit != nil {
			limit = m.limit(r)
		}
		result, err := limiter.AllowN(r.Context(), name+":"+key, limit, n)
		return result, limit.FillTime(), err
	}
	return m
}

// NewPolicy limits the requests of each key as the policy on the server says; the key is the id.
func NewPolicy(limiter *stint.Limiter, policy string, key Key, options ...Option) *Middleware {
	m := newMiddleware(policy, key, options)
	m.decide = func(r *http.Request, key string, n int64) (stint.Result, time.Duration, error) {
		result, err := limiter.CheckN(r.Context(), policy, key, n)
		return result.Result(), 0, err
	}
	return m
}

func newMiddleware(name string, key Key, options []Option) *Middleware {
	m := &Middleware{name: name, key: key, settings: settings{
		cost:    func(*http.Request) int64 { return 1 },
		failed:  func(r *http.Request, err error) { slog.ErrorContext(r.Context(), "rate limit", "error", err) },
		headers: Draft | XRateLimit,
	}}
	m.denied = func(w http.ResponseWriter, _ *http.Request, result stint.Result) { problem(w, m.name, result) }
	for _, option := range options {
		option(&m.settings)
	}
	return m
}

// Handler lets requests through to next.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.Admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// Admit reports whether to go on with a request. It sets the fields of the response and, if it returns false, has
// answered the request.
func (m *Middleware) Admit(w http.ResponseWriter, r *http.Request) bool {
	for _, skip := range m.skip {
		if skip(r) {
			return true
		}
	}
	n := m.cost(r)
	if n < 1 {
		return true
	}
	result, window, err := m.decide(r, m.key(r), n)
	if err != nil && r.Context().Err() == nil {
		m.failed(r, err)
	}
	if m.shadow != nil {
		if !result.Allowed {
			m.shadow(r, result)
		}
		return true
	}
	m.announce(w.Header(), result, window)
	if !result.Allowed {
		if result.RetryAfter != stint.Never {
			w.Header().Set("Retry-After", itoa(max(1, fields.Seconds(result.RetryAfter))))
		}
		m.denied(w, r, result)
	}
	return result.Allowed
}

// announce sets the fields, if there is something to tell: a policy that allows or denies everything knows nothing about
// the limit.
func (m *Middleware) announce(h http.Header, result stint.Result, window time.Duration) {
	if result.Source == stint.Fallback {
		return
	}
	if m.headers&Draft != 0 {
		h.Add("RateLimit-Policy", fields.Policy(m.name, result.Limit, window))
		h.Add("RateLimit", fields.Limit(m.name, result.Remaining, result.ResetAfter))
	}
	if m.headers&(XRateLimit|XRateLimitDate) == 0 {
		return
	}
	h.Set("X-RateLimit-Limit", itoa(result.Limit))
	h.Set("X-RateLimit-Remaining", itoa(max(0, result.Remaining)))
	if m.headers&XRateLimitDate != 0 {
		h.Set("X-RateLimit-Reset", itoa(time.Now().Add(result.ResetAfter+time.Second-1).Unix()))
	} else {
		h.Set("X-RateLimit-Reset", itoa(fields.Seconds(result.ResetAfter)))
	}
}
