package envoy

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/tidwall/redcon"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/ratefields"
	"github.com/stintdb/stint/server/rls"
)

// ShouldRateLimit implements [ratelimit.RateLimitServiceServer].
func (s *Service) ShouldRateLimit(ctx context.Context, in *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	return s.answer(ctx, in, s.current().Plan)
}

// answer decides a request by the commands of a plan.
func (s *Service) answer(ctx context.Context, in *ratelimit.RateLimitRequest, planOf func(*rls.Request, time.Time) (*rls.Plan, error)) (*ratelimit.RateLimitResponse, error) {
	caller, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkFields(in); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	plan, err := planOf(s.requestOf(in), s.now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	replies, err := s.execute(ctx, caller, plan.Commands)
	if err != nil {
		return nil, err
	}
	answer, err := plan.Answer(replies)
	if err != nil {
		s.gateway.WarnOfFailure("domain "+in.GetDomain(), err)
		return nil, failureOf(err)
	}
	if answer.Failure != nil {
		s.gateway.WarnOfFailure("domain "+in.GetDomain(), answer.Failure)
	}
	return s.response(answer), nil
}

// current returns the rules in use.
func (s *Service) current() *rls.Rules { return s.rules.Load().Rules() }

// callerOf returns the client of a request, which is refused while there are no rules. Errors of this function and of
// the ones below are gRPC's.
func (s *Service) callerOf(ctx context.Context) (caller gateway.Caller, err error) {
	if err := s.Ready(); err != nil {
		return caller, status.Error(codes.Unavailable, err.Error())
	}
	c := connOf(ctx)
	user, err := login(ctx, c)
	return gateway.Caller{User: user, Address: c.Address()}, err
}

// execute executes commands as a caller.
func (s *Service) execute(ctx context.Context, caller gateway.Caller, commands []command.Words) (replies []redcon.RESP, err error) {
	if len(commands) > 0 {
		replies, err = s.gateway.DoAll(ctx, caller, commands...)
	}
	switch {
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	}
	return replies, nil
}

// failureOf turns the error of a plan into gRPC's.
func failureOf(err error) error {
	var reply rls.ErrorReply
	if errors.As(err, &reply) {
		return errorOf(reply)
	}
	return status.Error(codes.Internal, err.Error())
}

// requestOf translates a request. A descriptor has its own number of hits, or the request's, where 0 means 1.
func (s *Service) requestOf(in *ratelimit.RateLimitRequest) *rls.Request {
	req := &rls.Request{Domain: in.GetDomain(), Descriptors: descriptorsOf(in.GetDescriptors()), MaxKeyBytes: s.gateway.Config().MaxKeyBytes}
	for i, d := range in.GetDescriptors() {
		req.Descriptors[i].Hits = uint64(max(in.GetHitsAddend(), 1))
		if own := d.GetHitsAddend(); own != nil {
			req.Descriptors[i].Hits = own.GetValue()
		}
	}
	return req
}

// descriptorsOf translates descriptors, without their hits.
func descriptorsOf(in []*extension.RateLimitDescriptor) []rls.Descriptor {
	out := make([]rls.Descriptor, len(in))
	for i, d := range in {
		to := &out[i]
		if limit := d.GetLimit(); limit != nil {
			to.Override = &rls.Override{Requests: limit.GetRequestsPerUnit(), Unit: unitOf(ratelimit.RateLimitResponse_RateLimit_Unit(limit.GetUnit()))}
		}
		to.Entries = make([]rls.Entry, len(d.GetEntries()))
		for j, e := range d.GetEntries() {
			to.Entries[j] = rls.Entry{Key: e.GetKey(), Value: e.GetValue()}
		}
	}
	return out
}

// response translates an answer.
func (s *Service) response(a *rls.Answer) *ratelimit.RateLimitResponse {
	out := &ratelimit.RateLimitResponse{OverallCode: codeOf(a.OverLimit), Statuses: make([]*ratelimit.RateLimitResponse_DescriptorStatus, len(a.Statuses))}
	for i := range a.Statuses {
		from := &a.Statuses[i]
		to := &ratelimit.RateLimitResponse_DescriptorStatus{Code: codeOf(from.OverLimit), LimitRemaining: from.Remaining}
		if l := from.Limit; l != nil {
			to.CurrentLimit = &ratelimit.RateLimitResponse_RateLimit{Name: l.Name, RequestsPerUnit: l.Requests, Unit: wireUnits[l.Unit]}
			to.DurationUntilReset = &durationpb.Duration{Seconds: from.Reset}
		}
		out.Statuses[i] = to
	}
	if s.headers && a.Nearest >= 0 {
		s.styles.Write(shownOf(a), s.now(), func(field, value string) {
			out.ResponseHeadersToAdd = append(out.ResponseHeadersToAdd, &core.HeaderValue{Key: field, Value: value})
		})
		if a.Wait > 0 {
			out.ResponseHeadersToAdd = append(out.ResponseHeadersToAdd, &core.HeaderValue{Key: "Retry-After", Value: strconv.FormatInt(a.Wait, 10)})
		}
	}
	return out
}

// shownOf returns the limits that header fields show: the one nearest to its limit, and all others that warn.
func shownOf(a *rls.Answer) []ratefields.Limit {
	all := []ratefields.Limit{fieldOf(&a.Statuses[a.Nearest])}
	for i := range a.Statuses {
		if !a.Statuses[i].Warns {
			continue
		}
		l := fieldOf(&a.Statuses[i])
		if !slices.ContainsFunc(all, func(other ratefields.Limit) bool { return other.Name == l.Name }) {
			all = append(all, l)
		}
	}
	return all
}

// fieldOf returns the limit of a status as header fields show it.
func fieldOf(s *rls.Status) ratefields.Limit {
	l := ratefields.Limit{
		Name: ratefields.Escape(s.Limit.Name), Quota: int64(s.Limit.Requests), Remaining: int64(s.Remaining), Window: ratefields.Unknown, More: ratefields.Unknown, Reset: s.Reset, Warns: s.Warns,
	}
	if l.Name == "" {
		l.Name = unnamed
	}
	if s.Limit.Window > 0 {
		l.Window = s.Limit.Window
		if s.Reset < rls.Never {
			l.More = s.Reset
		}
	}
	return l
}

// unnamed is the name in header fields of a limit whose rule has no name.
const unnamed = "default"

func codeOf(over bool) ratelimit.RateLimitResponse_Code {
	if over {
		return ratelimit.RateLimitResponse_OVER_LIMIT
	}
	return ratelimit.RateLimitResponse_OK
}

// wireUnits are the protocol's numbers of the units.
var wireUnits = [...]ratelimit.RateLimitResponse_RateLimit_Unit{
	rls.NoUnit: ratelimit.RateLimitResponse_RateLimit_UNKNOWN,
	rls.Second: ratelimit.RateLimitResponse_RateLimit_SECOND,
	rls.Minute: ratelimit.RateLimitResponse_RateLimit_MINUTE,
	rls.Hour:   ratelimit.RateLimitResponse_RateLimit_HOUR,
	rls.Day:    ratelimit.RateLimitResponse_RateLimit_DAY,
	rls.Week:   ratelimit.RateLimitResponse_RateLimit_WEEK,
	rls.Month:  ratelimit.RateLimitResponse_RateLimit_MONTH,
	rls.Year:   ratelimit.RateLimitResponse_RateLimit_YEAR,
}

// unitOf returns the unit with a number in the protocol. Overrides and answers number units alike.
func unitOf(wire ratelimit.RateLimitResponse_RateLimit_Unit) rls.Unit {
	for u, w := range wireUnits {
		if w == wire {
			return rls.Unit(u)
		}
	}
	return rls.NoUnit
}
