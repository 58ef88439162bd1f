// Package grpclimit limits the calls that a gRPC server takes.
//
//	limits := grpclimit.New(limiter, "api", stint.PerMinute(100), grpclimit.ByIP(clientip.Resolver{}))
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limits.Unary()), grpc.ChainStreamInterceptor(limits.Stream()))
//
// A call that is not let through fails with RESOURCE_EXHAUSTED and the details RetryInfo and QuotaFailure, as Google's
// error model has them. While Stint does not answer and the limiter's policy is to deny, it fails with UNAVAILABLE, as
// the client has done nothing wrong.
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
)

// An Allower decides: a *stint.Limiter or *stint.Leases.
type Allower interface {
	AllowN(ctx context.Context, key string, limit stint.Limit, n int64) (stint.Result, error)
}

// A Key tells whose call it is, from what is in its context and its method, such as "/package.Service/Method". Calls for
// which it returns "" share a limit among themselves.
type Key func(ctx context.Context, method string) string

// Everybody is one key for all calls.
func Everybody(context.Context, string) string { return "all" }

// ByIP tells clients apart by their addresses; behind proxies, by what those say in x-forwarded-for.
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

// ByMetadata tells clients apart by a value that came with the call and has been checked before, such as the name of a
// tenant. Secrets are better turned into a name first: what is returned is the key at the server.
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

// An Option changes what [Limits] do.
type Option func(*settings)

// Skip leaves calls alone for which it returns true.
func Skip(skip func(ctx context.Context, method string) bool) Option {
	return func(s *settings) { s.skip = append(s.skip, skip) }
}

// SkipMethods is for [Skip], such as "/grpc.health.v1.Health/Check".
func SkipMethods(methods ...string) func(context.Context, string) bool {
	return func(_ context.Context, method string) bool { return slices.Contains(methods, method) }
}

// Cost is how many tokens a call takes, in place of 1. One that costs less than 1 is left alone.
func Cost(cost func(ctx context.Context, method string) int64) Option {
	return func(s *settings) { s.cost = cost }
}

// EachMessage counts every message that a stream's client sends, in place of the stream once. When one is denied, the
// stream ends.
func EachMessage() Option { return func(s *settings) { s.messages = true } }

// Shadow lets everything through and tells report about calls that would have been denied.
func Shadow(report func(ctx context.Context, method string, denied stint.Result)) Option {
	return func(s *settings) { s.shadow = report }
}

// Failed is told about errors that somebody has to mend; the limiter's policy decides about the call. Without it they are
// logged with package slog.
func Failed(report func(ctx context.Context, method string, err error)) Option {
	return func(s *settings) { s.failed = report }
}

// New limits the calls of each key. The name tells this limit from others, and stands in front of the keys at the server.
func New(limiter Allower, name string, limit stint.Limit, key Key, options ...Option) *Limits {
	return newLimits(name, key, options, func(ctx context.Context, key string, n int64) (stint.Result, error) {
		return limiter.AllowN(ctx, name+":"+key, limit, n)
	})
}

// NewPolicy limits the calls of each key as the policy on the server says; the key is the id.
func NewPolicy(limiter *stint.Limiter, policy string, key Key, options ...Option) *Limits {
	return newLimits(policy, key, options, func(ctx context.Context, key string, n int64) (stint.Result, error) {
		result, err := limiter.CheckN(ctx, policy, key, n)
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

// counted is a stream of which every message that comes in is counted.
type counted struct {
	grpc.ServerStream
	limits *Limits
	method string
}

// RecvMsg receives a message and has it counted.
func (c *counted) RecvMsg(message any) error {
	if err := c.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	return c.limits.admit(c.Context(), c.method)
}

// admit returns the error with which a call that is not let through fails.
func (l *Limits) admit(ctx context.Context, method string) error {
	for _, skip := range l.skip {
		if skip(ctx, method) {
			return nil
		}
	}
	n := l.cost(ctx, method)
	if n < 1 {
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
