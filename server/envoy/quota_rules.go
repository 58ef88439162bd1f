package envoy

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/rlqs"
	"github.com/stintdb/stint/server/rls"
)

// usages finds the rule of each bucket in a report.
func (s *quotaSession) usages(ctx context.Context, caller gateway.Caller, r *report) ([]rlqs.Usage, error) {
	if name := r.in.GetDomain(); name != "" {
		s.domain = name
	}
	if s.domain == "" {
		return nil, status.Error(codes.InvalidArgument, "the first report has no domain: give it the domain of the configuration, such as domain: shop")
	}
	rules := s.quotas.service.rules.Load().Rules()
	all := make([]rlqs.Usage, 0, len(r.in.GetBucketQuotaUsages()))
	for _, in := range r.in.GetBucketQuotaUsages() {
		pairs := in.GetBucketId().GetBucket()
		if len(pairs) == 0 {
			return nil, status.Error(codes.InvalidArgument, "a bucket has no id: its bucket_id_builder must make at least one pair")
		}
		found := rules.Quota(s.domain, pairs)
		u := rlqs.Usage{
			ID: idOf(pairs), Pairs: pairs, Key: found.Key, Elapsed: in.GetTimeElapsed().AsDuration(),
			Allowed: count(in.GetNumRequestsAllowed()), Denied: count(in.GetNumRequestsDenied()),
		}
		if s.rule(ctx, caller, r.at, &found, &u) {
			all = append(all, u)
		}
	}
	return all, nil
}

// maxKeySuffix is the length of the longest text that a quota appends to its rule's key.
const maxKeySuffix = 8

// count limits a reported number of requests to a plausible one.
func count(n uint64) int64 { return int64(min(n, 1<<40)) }

// rule applies a rule. It reports false if the bucket gets no answer, so that its no_assignment_behavior applies.
func (s *quotaSession) rule(ctx context.Context, caller gateway.Caller, now time.Duration, found *rls.Quota, u *rlqs.Usage) bool {
	rule := found.Rule
	if len(found.Key)+maxKeySuffix > s.quotas.service.gateway.Config().MaxKeyBytes {
		s.quotas.warn("the id of a quota is too long for --max-key-size: Envoy forgets it and follows its no_assignment_behavior", "domain", s.domain, "bytes", len(found.Key))
		u.Kind = rlqs.Abandon
		return true
	}
	if found.NoDomain {
		s.quotas.warn("Envoy asks for quotas in a domain without rules: everything is allowed", "domain", s.domain)
	}
	switch {
	case rule == nil, rule.Unlimited:
		u.Kind = rlqs.Allow
	case rule.Policy != "":
		if found.ID == "" {
			u.Kind = rlqs.Deny // the bucket names no caller
			break
		}
		limit, err := s.known.find(ctx, s, caller, now, rule.Policy, found.ID)
		if err != nil {
			s.quotas.unanswered.Add(1)
			return false
		}
		u.Kind, u.Limit, u.Learned = rlqs.Bucket, limit.limit, limit.at
	case rule.Requests == 0:
		u.Kind = rlqs.Deny
	default:
		u.Kind, u.Learned, u.Limit = rlqs.Bucket, now, rlqs.Limit{Capacity: int64(rule.Requests), Tokens: int64(rule.Requests), Period: rule.Period()}
	}
	if rule != nil {
		rule.Report(u.Allowed, u.Denied)
		if rule.Shadow {
			u.Kind = rlqs.Allow
		}
	}
	return true
}
