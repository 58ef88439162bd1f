package envoy

import (
	"context"
	"fmt"
	"time"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/rls"
)

// kuadrantService is the name of Kuadrant's rate limit service, which asks, books and reserves in separate calls.
const kuadrantService = "kuadrant.service.ratelimit.v1.RateLimitService"

// kuadrant answers Kuadrant's service by the rules of Envoy's service.
type kuadrant struct {
	*Service
	held expiries
}

// kuadrantMethods describes the service to gRPC.
var kuadrantMethods = grpc.ServiceDesc{
	ServiceName: kuadrantService, HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		method("CheckRateLimit", (*kuadrant).check),
		method("Report", (*kuadrant).report),
		method("Reserve", (*kuadrant).reserve),
		method("Commit", (*kuadrant).commit),
	},
}

func method[In, Out any](name string, answer func(*kuadrant, context.Context, *In) (*Out, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(service any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(In)
		if err := read(in); err != nil {
			return nil, err
		}
		return answer(service.(*kuadrant), ctx, in)
	}}
}

// check answers whether the limits have room for the hits of a request, and takes nothing.
func (k *kuadrant) check(ctx context.Context, in *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	return k.answer(ctx, in, k.current().PlanCheck)
}

// report books the hits of a request, even if there is no room.
func (k *kuadrant) report(ctx context.Context, in *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	caller, err := k.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkFields(in); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	plan, err := k.current().PlanReport(k.requestOf(in), k.now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	replies, err := k.execute(ctx, caller, plan.Commands)
	if err != nil {
		return nil, err
	}
	if err := plan.Booked(replies); err != nil {
		return nil, failureOf(err)
	}
	return &ratelimit.RateLimitResponse{OverallCode: ratelimit.RateLimitResponse_OK}, nil
}

// usualTTL is the time of a reservation that states none.
const usualTTL = time.Minute

// reserve takes an amount from the limits of a request. If it is not committed in time, it goes back.
func (k *kuadrant) reserve(ctx context.Context, in *reserveRequest) (*reserveResponse, error) {
	caller, req, err := k.read(ctx, in.domain, in.descriptors, max(in.amount, 1))
	if err != nil {
		return nil, err
	}
	ttl := usualTTL
	if in.ttl != nil {
		if err := in.ttl.CheckValid(); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "ttl: %v", err)
		}
		ttl = in.ttl.AsDuration()
	}
	r, err := k.current().Reserve(req, ttl, k.now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	answer, err := k.decide(ctx, caller, r)
	held := r.Held()
	giveBack := func() { k.giveBack(caller, held) }
	switch {
	case err != nil:
		giveBack() // tokens may have been taken, and the client does not know the id
		return nil, err
	case !answer.OverLimit:
		k.held.add(r.ID, held.Bytes(), ttl, giveBack)
		return &reserveResponse{ratelimit.RateLimitResponse_OK, r.ID}, nil
	}
	giveBack() // other limits may have granted theirs
	return &reserveResponse{code: ratelimit.RateLimitResponse_OVER_LIMIT}, nil
}

func (k *kuadrant) decide(ctx context.Context, caller gateway.Caller, r *rls.Reservation) (*rls.Answer, error) {
	replies, err := k.execute(ctx, caller, r.Commands)
	if err != nil {
		return nil, err
	}
	answer, err := r.Answer(replies)
	if err != nil {
		return nil, failureOf(err)
	}
	if answer.Failure != nil {
		k.gateway.WarnOfFailure("a reservation", answer.Failure)
	}
	return answer, nil
}

// giveBack ends a reservation that is not committed.
func (k *kuadrant) giveBack(caller gateway.Caller, held rls.Held) {
	ctx, cancel := context.WithTimeout(context.Background(), k.requests.timeout())
	defer cancel()
	if _, err := k.execute(ctx, caller, held.Cancel()); err != nil {
		k.gateway.Log().Warn("a reservation was not committed, so its tokens stay taken", "error", err)
	}
}

// commit books the actual amount of a request, and ends its reservation.
func (k *kuadrant) commit(ctx context.Context, in *commitRequest) (*commitResponse, error) {
	caller, req, err := k.read(ctx, in.domain, in.descriptors, in.amount)
	if err != nil {
		return nil, err
	}
	s, err := k.current().Settle(req, in.id, k.now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	replies, err := k.execute(ctx, caller, s.Commands)
	if err != nil {
		return nil, err
	}
	rest, released, err := s.Unsettled(replies)
	if err != nil {
		return nil, failureOf(err)
	}
	if released {
		k.held.remove(in.id)
	}
	if replies, err = k.execute(ctx, caller, rest); err != nil {
		return nil, err
	}
	if err := s.Booked(replies); err != nil {
		return nil, failureOf(err)
	}
	return &commitResponse{released}, nil
}

// read finds the caller of a request, and translates the request.
func (k *kuadrant) read(ctx context.Context, domain string, descriptors []*extension.RateLimitDescriptor, amount uint64) (gateway.Caller, *rls.Request, error) {
	caller, err := k.callerOf(ctx)
	if err != nil {
		return caller, nil, err
	}
	if amount > rls.MaxHits {
		err = fmt.Errorf("the amount must be at most %d, got %d", int64(rls.MaxHits), amount)
	}
	for i := 0; i < len(descriptors) && err == nil; i++ {
		err = checkDescriptor(descriptors[i])
	}
	if err != nil {
		return caller, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	req := &rls.Request{Domain: domain, Descriptors: descriptorsOf(descriptors), MaxKeyBytes: k.gateway.Config().MaxKeyBytes}
	for i := range req.Descriptors {
		req.Descriptors[i].Hits = amount
	}
	return caller, req, nil
}
