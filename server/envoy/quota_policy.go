package envoy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/rlqs"
)

// lookEvery is the time between two looks at the policy of a bucket.
const lookEvery = 10 * time.Second

// policyLimits caches the limits of policies that a stream looked up, by policy and caller.
type policyLimits struct {
	of map[[2]string]policyLimit
}

type policyLimit struct {
	limit rlqs.Limit
	err   error
	at    time.Duration // when it was looked up
}

// errPolicy is the error of a policy whose limit cannot be divided among Envoys.
var errPolicy = errors.New("a policy of quotas must have one limit, of the algorithms CL FW LB SL SW TB")

// find returns the limit of a caller in a policy.
func (p *policyLimits) find(ctx context.Context, s *quotaSession, caller gateway.Caller, now time.Duration, policy, id string) (policyLimit, error) {
	name := [2]string{policy, id}
	if known, is := p.of[name]; is && now < known.at+lookEvery {
		return known, known.err
	}
	if p.of == nil || len(p.of) > rlqs.MaxStreamBytes/64 {
		p.of = map[[2]string]policyLimit{}
	}
	found := policyLimit{at: now}
	found.limit, found.err = s.lookUp(ctx, caller, policy, id)
	if found.err != nil {
		s.quotas.warn("quotas of a policy are not assigned: Envoy follows its no_assignment_behavior", "policy", policy, "error", found.err)
	}
	p.of[name] = found
	return found, found.err
}

// lookUp reads a policy with the caller's rights.
func (s *quotaSession) lookUp(ctx context.Context, caller gateway.Caller, policy, id string) (rlqs.Limit, error) {
	ctx, cancel := context.WithTimeout(ctx, s.quotas.service.gateway.Config().CommandTimeout)
	defer cancel()
	words := command.NewWords("RL.POLICY", "GET", policy, id)
	reply, err := s.quotas.service.gateway.Do(ctx, caller, &words)
	switch {
	case err != nil:
		return rlqs.Limit{}, err
	case reply.Type == redcon.Error:
		return rlqs.Limit{}, errors.New(string(reply.Data))
	}
	fields := resp.Elements(reply)
	if len(fields) < 2 {
		return rlqs.Limit{}, command.ErrNoPolicy.With(policy)
	}
	specs := resp.Elements(fields[1])
	if len(specs) != 1 {
		return rlqs.Limit{}, fmt.Errorf("%w: it has %d", errPolicy, len(specs))
	}
	return limitOf(string(specs[0].Data))
}

// limitOf parses a limit in the reply of RL.POLICY GET: algorithm, key, capacity, and rate or window.
func limitOf(spec string) (l rlqs.Limit, err error) {
	words := strings.Fields(afterKey(spec))
	algorithm, _, _ := strings.Cut(spec, " ")
	if len(words) != 2 {
		return l, fmt.Errorf("%w, without options: it is %s", errPolicy, spec)
	}
	if l.Capacity, err = strconv.ParseInt(words[0], 10, 64); err != nil {
		return l, fmt.Errorf("%w: it is %s", errPolicy, spec)
	}
	switch algorithm {
	case "TB", "LB", "CL":
		rate, err := limits.ParseRate(words[1])
		if err != nil {
			return l, err
		}
		l.Tokens, l.Period = rate.Tokens, time.Duration(rate.Period)
	case "FW", "SW", "SL":
		_, nanos, err := limits.ParseWindow(words[1])
		if err != nil || nanos == 0 {
			return l, fmt.Errorf("%w, with windows of one length: it is %s", errPolicy, spec)
		}
		l.Tokens, l.Period = l.Capacity, time.Duration(nanos)
	default:
		return l, fmt.Errorf("%w: it is %s", errPolicy, spec)
	}
	return l, nil
}

// afterKey returns the text after the algorithm and the key, which may be quoted.
func afterKey(spec string) string {
	_, rest, _ := strings.Cut(spec, " ")
	if !strings.HasPrefix(rest, `"`) {
		_, rest, _ = strings.Cut(rest, " ")
		return rest
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return rest[i+1:]
		}
	}
	return ""
}
