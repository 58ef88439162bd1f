// Package httplimit limits the requests to an HTTP server.
//
//	limits := httplimit.New(limiter, "api", stint.PerMinute(100), httplimit.ByIP(clientip.Resolver{}))
//	http.ListenAndServe(":8080", limits.Handler(mux))
//
// The response to an allowed request has the fields RateLimit and RateLimit-Policy of
// draft-ietf-httpapi-ratelimit-headers-10 and -11, and X-RateLimit-Limit, -Remaining and -Reset. The draft's t is the
// time until there is more quota, at most the time of Retry-After. It is left out where it is not known: for sliding
// windows and policies that allowed the request. X-RateLimit-Reset is the time until the limit is full again. Neither
// is there if the limit can never grant the request. A denied request is answered with 429, Retry-After, and a body of
// application/problem+json. While Stint does not answer and the limiter's fallback is to deny, the status is 503, because
// the client made no mistake.
//
// [Middleware.Handler] fits net/http and routers that take such middleware, such as chi; for echo, wrap it in
// echo.WrapMiddleware. For gin and other frameworks with a different kind of handler, call [Middleware.Admit].
package httplimit

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/callers"
	"github.com/stintdb/stint/clients/go/internal/fields"
)

// An Allower decides: a *stint.Limiter or *stint.Leases.
type Allower interface {
	AllowN(ctx context.Context, key string, limit stint.Limit, n int64) (stint.Result, error)
}

// A Middleware limits requests. Make one with [New] or [NewPolicy]; its methods are safe for concurrent use.
type Middleware struct {
	name   string
	key    Key
	decide func(r *http.Request, key string, n int64) (stint.Result, announcement, error)
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

// Headers is the set of fields in responses.
type Headers uint8

const (
	// Draft is RateLimit and RateLimit-Policy: the styles draft-10 and draft-11 of the server's --ratelimit-fields.
	Draft = Headers(fields.Draft)
	// Draft6 is RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset of the drafts up to -06.
	Draft6 = Headers(fields.Draft6)
	// XRateLimit is X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, the last in seconds from now.
	XRateLimit = Headers(fields.XRateLimit)
	// XRateLimitDate is the same with X-RateLimit-Reset as a Unix time.
	XRateLimitDate = Headers(fields.XRateLimitDate)
)

// An Option changes a [Middleware].
type Option func(*settings)

// Skip exempts the requests for which it returns true. Given several times, a request is exempt if any of them returns
// true.
func Skip(skip func(*http.Request) bool) Option {
	return func(s *settings) { s.skip = append(s.skip, skip) }
}

// Cost is the number of tokens that a request takes, in place of 1. A request that costs 0 is exempt. A negative cost
// is an error and denied: a number that a client can influence must not bypass the limit.
func Cost(cost func(*http.Request) int64) Option { return func(s *settings) { s.cost = cost } }

// LimitFor chooses a limit for each request, in place of the one given to [New]: for customers that pay more. It has no
// effect on [NewPolicy].
func LimitFor(limit func(*http.Request) stint.Limit) Option {
	return func(s *settings) { s.limit = limit }
}

// Shadow lets everything through and calls report for requests that would have been denied. Responses get no fields.
func Shadow(report func(*http.Request, stint.Result)) Option {
	return func(s *settings) { s.shadow = report }
}

// Denied answers denied requests, in place of the problem+json. The fields are already set.
func Denied(answer func(http.ResponseWriter, *http.Request, stint.Result)) Option {
	return func(s *settings) { s.denied = answer }
}

// Failed is called with errors that need a fix, such as an invalid limit. [stint.Limiter.Allow] lists those that deny
// the request under every policy. Without this option they are logged with package slog.
func Failed(report func(*http.Request, error)) Option {
	return func(s *settings) { s.failed = report }
}

// WithHeaders chooses the fields, in place of Draft|XRateLimit; 0 is none. Retry-After is always sent.
func WithHeaders(h Headers) Option { return func(s *settings) { s.headers = h } }

// New limits the requests of each key. The name identifies the limit: it is in the fields of the response, and keys at
// the server begin with it and a colon. No name may begin with another limit's name and a colon.
func New(limiter Allower, name string, limit stint.Limit, key Key, options ...Option) *Middleware {
	m := newMiddleware(name, key, options)
	m.decide = func(r *http.Request, key string, n int64) (stint.Result, announcement, error) {
		limit := limit
		if m.limit != nil {
			limit = m.limit(r)
		}
		result, err := limiter.AllowN(r.Context(), name+":"+key, limit, n)
		more, known := limit.MoreAfter(result)
		return result, announcement{cmp.Or(limit.FillTime(), fields.Unknown), moreAfter(more, known)}, err
	}
	return m
}

// NewPolicy limits the requests of each key by a policy stored on the server; the key is the id.
func NewPolicy(limiter *stint.Limiter, policy string, key Key, options ...Option) *Middleware {
	m := newMiddleware(policy, key, options)
	m.decide = func(r *http.Request, key string, n int64) (stint.Result, announcement, error) {
		results, err := limiter.CheckWith(r.Context(), policy, callers.ID(key), stint.Request{Tokens: n, Split: true})
		result := results.Result()
		denied := !result.Allowed && result.RetryAfter != stint.Never // otherwise the reply does not include it
		return result, announcement{fields.Unknown, moreAfter(result.RetryAfter, denied)}, err
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

// Admit reports whether to go on with a request. It sets the fields of the response. If it returns false, it has
// answered the request.
func (m *Middleware) Admit(w http.ResponseWriter, r *http.Request) bool {
	for _, skip := range m.skip {
		if skip(r) {
			return true
		}
	}
	n := m.cost(r)
	if n == 0 {
		return true
	}
	result, about, err := m.decide(r, m.key(r), n)
	if err != nil && r.Context().Err() == nil {
		m.failed(r, err)
	}
	if m.shadow != nil {
		if !result.Allowed {
			m.shadow(r, result)
		}
		return true
	}
	m.announce(w.Header(), result, about)
	if !result.Allowed {
		if result.RetryAfter != stint.Never {
			w.Header().Set("Retry-After", itoa(max(1, fields.Seconds(result.RetryAfter))))
		}
		m.denied(w, r, result)
	}
	return result.Allowed
}

// An announcement is the content of the fields that is not in the result.
type announcement struct{ window, more time.Duration } // fields.Unknown if they are not known

// announce sets the fields. It sets none after an answer of FailOpen or FailClosed, which has no state of the limit.
func (m *Middleware) announce(h http.Header, result stint.Result, about announcement) {
	if result.Source == stint.Fallback {
		return
	}
	l := fields.State{Name: m.name, Quota: result.Limit, Remaining: result.Remaining, Window: about.window, More: about.more, Reset: result.ResetAfter, Warns: result.Warn}
	if !result.Allowed && result.RetryAfter == stint.Never { // 0 seconds would mean at once
		l.More, l.Reset = fields.Unknown, fields.Unknown
	}
	fields.Styles(m.headers).Write(h, &l, time.Now())
}

// moreAfter is fields.Unknown for a time that is not known.
func moreAfter(more time.Duration, known bool) time.Duration {
	if !known {
		return fields.Unknown
	}
	return max(0, more)
}
