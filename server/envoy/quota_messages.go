package envoy

import (
	"maps"
	"slices"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stintdb/stint/server/rlqs"
)

// The protocol cannot express that a bucket does not refill. One token per year is none, because assignments live for
// seconds.
const yearSeconds = 365 * 86400

// quotaResponse translates assignments. Before a changed bucket it denies all requests in the same message, so that
// Envoy's filter drops the old bucket and the new one begins full. Otherwise some versions only fill it as far as the
// old one was.
func quotaResponse(all []rlqs.Assignment) *quota.RateLimitQuotaResponse {
	out := &quota.RateLimitQuotaResponse{}
	add := func(id *quota.BucketId, strategy *kind.RateLimitStrategy) {
		action := &quota.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
			AssignmentTimeToLive: &durationpb.Duration{Seconds: int64(rlqs.TTL.Seconds())}, RateLimitStrategy: strategy,
		}
		out.BucketAction = append(out.BucketAction, &quota.RateLimitQuotaResponse_BucketAction{
			BucketId: id, BucketAction: &quota.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: action},
		})
	}
	for i := range all {
		a := &all[i]
		id := &quota.BucketId{Bucket: a.Pairs}
		switch a.Kind {
		case rlqs.Abandon:
			out.BucketAction = append(out.BucketAction, &quota.RateLimitQuotaResponse_BucketAction{
				BucketId:     id,
				BucketAction: &quota.RateLimitQuotaResponse_BucketAction_AbandonAction_{AbandonAction: &quota.RateLimitQuotaResponse_BucketAction_AbandonAction{}},
			})
		case rlqs.Allow:
			add(id, blanket(kind.RateLimitStrategy_ALLOW_ALL))
		case rlqs.Deny:
			add(id, blanket(kind.RateLimitStrategy_DENY_ALL))
		default:
			if a.Changed {
				add(id, blanket(kind.RateLimitStrategy_DENY_ALL))
			}
			add(id, bucketOf(a))
		}
	}
	return out
}

func blanket(rule kind.RateLimitStrategy_BlanketRule) *kind.RateLimitStrategy {
	return &kind.RateLimitStrategy{Strategy: &kind.RateLimitStrategy_BlanketRule_{BlanketRule: rule}}
}

func bucketOf(a *rlqs.Assignment) *kind.RateLimitStrategy {
	units, interval := a.Units, a.Interval
	if units == 0 {
		units, interval = 1, yearSeconds
	}
	return &kind.RateLimitStrategy{Strategy: &kind.RateLimitStrategy_TokenBucket{TokenBucket: &kind.TokenBucket{
		MaxTokens: uint32(a.Tokens), TokensPerFill: wrapperspb.UInt32(uint32(units)), FillInterval: &durationpb.Duration{Seconds: interval},
	}}}
}

// idOf returns a text that is unique for the pairs of a bucket's id.
func idOf(pairs map[string]string) string {
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		b = protowire.AppendString(protowire.AppendString(b, key), pairs[key])
	}
	return string(b)
}
