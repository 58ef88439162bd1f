// Package grpclimit limits the calls to a gRPC server.
//
//	limits := grpclimit.New(limiter, "api", stint.PerMinute(100), grpclimit.ByIP(clientip.Resolver{}))
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limits.Unary()), grpc.ChainStreamInterceptor(limits.Stream()))
//
// A denied call fails with RESOURCE_EXHAUSTED and the details RetryInfo and QuotaFailure of Google's error model. While
// Stint does not answer and the limiter's fallback is to deny, it fails with UNAVAILABLE, because the client made no
// mistake.
package grpclimit

import (
	"context"
	"log/slog"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/clientip"
	"github.com/stintdb/stint/clients/go/internal/callers"
)

// An Allower decides: a *stint.Limiter or *stint.Leases.
type Allower interface {
	AllowN(ctx context.Context, key string, limit stint.Limit, n int64) (stint.Result, error)
}

// A Key identifies the client of a call, from its context and its method, such as "/package.Service/Method". Calls for
// which it returns "" share one limit: for a policy they are the caller "anonymous".
type Key func(ctx context.Context, method string) string

// Everybody is one key for all calls.
func Everybody(context.Context, string) string { return "all" }

// ByIP identifies clients by their addresses; behind proxies, by x-forwarded-for.
func ByIP(resolver clientip.Resolver) Key {
	return func(ctx context.Context, _ string) string {
		p, ok := peer.FromContext(ctx)
		if !ok {
			return ""
		}
		md, _ := metadata.FromIncomingContext(ctx)
		if client := resolver.Resolve(p.Addr.String(), md.Get("x-forwarded-for")); client.IsValid() {
			return client.String()
		}
		return ""
	}
}

// ByMetadata identifies clients by a metadata value of the call that has been checked before, such as the name of a
// tenant. The value becomes the key at the server, so turn secrets into a name first.
func ByMetadata(name string) Key {
	return func(ctx context.Context, _ string) string {
		md, _ := metadata.FromIncomingContext(ctx)
		if values := md.Get(name); len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// ByMethod is the call's method.
func ByMethod(_ context.Context, method string) string { return method }

// Limits are interceptors with one limit. Make them with [New] or [NewPolicy].
type Limits struct {
	name   string
	key    Key
	decide func(ctx context.Context, key string, n int64) (stint.Result, error)
	settings
}

type settings struct {
	skip     []func(context.Context, string) bool
	cost     func(context.Context, string) int64
	messages bool
	shadow   func(context.Context, string, stint.Result)
	failed   func(context.Context, string, error)
}

// An Option changes [Limits].
type Option func(*settings)

// Skip exempts the calls for which it returns true.
func Skip(skip func(ctx context.Context, method string) bool) Option {
	return func(s *settings) { s.skip = append(s.skip, skip) }
}

// SkipMethods is for [Skip], such as "/grpc.health.v1.Health/Check".
func SkipMethods(methods ...string) func(context.Context, string) bool {
	return func(_ context.Context, method string) bool { return slices.Contains(methods, method) }
}

// Cost is the number of tokens that a call takes, in place of 1. A call that costs 0 is exempt. A negative cost is an
// error and denied.
func Cost(cost func(ctx context.Context, method string) int64) Option {
	return func(s *settings) { s.cost = cost }
}

// EachMessage counts every message that a stream's client sends, in place of the stream once. When one is denied, the
// stream ends.
func EachMessage() Option { return func(s *settings) { s.messages = true } }

// Shadow lets everything through and calls report for calls that would have been denied.
func Shadow(report func(ctx context.Context, method string, denied stint.Result)) Option {
	return func(s *settings) { s.shadow = report }
}

// Failed is called with errors that need a fix. [stint.Limiter.Allow] lists those that deny the call under every
// policy. Without this option they are logged with package slog.
func Failed(report func(ctx context.Context, method string, err error)) Option {
	return func(s *settings) { s.failed = report }
}

// New limits the calls of each key. The name identifies the limit; keys at the server begin with it and a colon. No
// name may begin with another limit's name and a colon.
func New(limiter Allower, name string, limit stint.Limit, key Key, options ...Option) *Limits {
	return newLimits(name, key, options, func(ctx context.Context, key string, n int64) (stint.Result, error) {
		return limiter.AllowN(ctx, name+":"+key, limit, n)
	})
}

// NewPolicy limits the calls of each key by a policy stored on the server; the key is the id.
func NewPolicy(limiter *stint.Limiter, policy string, key Key, options ...Option) *Limits {
	return newLimits(policy, key, options, func(ctx context.Context, key string, n int64) (stint.Result, error) {
		result, err := limiter.CheckN(ctx, policy, callers.ID(key), n)
		return result.Result(), err
	})
}

func newLimits(name string, key Key, options []Option, decide func(context.Context, string, int64) (stint.Result, error)) *Limits {
	l := &Limits{name: name, key: key, decide: decide, settings: settings{
		cost: func(context.Context, string) int64 { return 1 },
		failed: func(ctx context.Context, method string, err error) {
			slog.ErrorContext(ctx, "rate limit", "method", method, "error", err)
		},
	}}
	for _, option := range options {
		option(&l.settings)
	}
	return l
}

// Unary is the interceptor for calls with one request and one response.
func (l *Limits) Unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := l.admit(ctx, info.FullMethod); err != nil {
			return nil, err
		}
		return handler(ctx, request)
	}
}

// Stream is the interceptor for streams.
func (l *Limits) Stream() grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if l.messages {
			return handler(server, &counted{stream, l, info.FullMethod})
		}
		if err := l.admit(stream.Context(), info.FullMethod); err != nil {
			return err
		}
		return handler(server, stream)
	}
}

// counted is a stream that counts every incoming message.
type counted struct {
	grpc.ServerStream
	limits *Limits
	method string
}

// RecvMsg receives a message and counts it.
func (c *counted) RecvMsg(message any) error {
	if err := c.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	return c.limits.admit(c.Context(), c.method)
}

// admit returns the error of a denied call, or nil.
func (l *Limits) admit(ctx context.Context, method string) error {
	for _, skip := range l.skip {
		if skip(ctx, method) {
			return nil
		}
	}
	n := l.cost(ctx, method)
	if n == 0 {
		return nil
	}
	result, err := l.decide(ctx, l.key(ctx, method), n)
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		l.failed(ctx, method, err)
	}
	switch {
	case result.Allowed:
		return nil
	case l.shadow != nil:
		l.shadow(ctx, method, result)
		return nil
	}
	return l.denied(result)
}

func (l *Limits) denied(result stint.Result) error {
	if result.Source == stint.Fallback {
		return withDetails(status.New(codes.Unavailable, "calls cannot be counted at present"), retryInfo(result))
	}
	return withDetails(status.New(codes.ResourceExhausted, "too many calls"), retryInfo(result), &errdetails.QuotaFailure{
		Violations: []*errdetails.QuotaFailure_Violation{{Subject: l.name, Description: "the limit " + l.name + " is reached"}},
	})
}

func retryInfo(result stint.Result) *errdetails.RetryInfo {
	if result.RetryAfter == stint.Never {
		return nil
	}
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(result.RetryAfter)}
}
