package envoy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// parse makes a request from "DOMAIN KEY=VALUE,KEY=VALUE KEY=VALUE", one word for each descriptor. HITS@ before a
// descriptor is its own number of hits; the word +HITS is the request's number.
func parse(t testing.TB, line string) *ratelimit.RateLimitRequest {
	words := strings.Fields(line)
	in := &ratelimit.RateLimitRequest{Domain: words[0]}
	for _, w := range words[1:] {
		if hits, is := strings.CutPrefix(w, "+"); is {
			in.HitsAddend = uint32(number(t, hits))
			continue
		}
		d := &extension.RateLimitDescriptor{}
		if hits, rest, is := strings.Cut(w, "@"); is {
			d.HitsAddend, w = wrapperspb.UInt64(uint64(number(t, hits))), rest
		}
		for pair := range strings.SplitSeq(w, ",") {
			key, value, _ := strings.Cut(pair, "=")
			d.Entries = append(d.Entries, &extension.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		in.Descriptors = append(in.Descriptors, d)
	}
	return in
}

func number(t testing.TB, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// show formats an answer: the overall code, and "CODE REMAINING/LIMIT UNIT reset SECONDS" for each descriptor, with -
// for no limit.
func show(out *ratelimit.RateLimitResponse) string {
	parts := []string{out.OverallCode.String()}
	for _, s := range out.Statuses {
		text := s.Code.String() + " " + strconv.FormatUint(uint64(s.LimitRemaining), 10)
		if l := s.CurrentLimit; l != nil {
			text += fmt.Sprintf("/%d %s %ds", l.RequestsPerUnit, l.Unit, s.DurationUntilReset.AsDuration()/time.Second)
			if l.Name != "" {
				text += " " + l.Name
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " | ")
}

type step struct{ request, answer string }

func (h *host) play(steps []step) {
	h.Helper()
	client := h.client()
	for _, s := range steps {
		if wait, is := strings.CutPrefix(s.request, "advance "); is {
			d, err := time.ParseDuration(wait)
			if err != nil {
				h.Fatal(err)
			}
			h.clock.Advance(d)
			continue
		}
		out, err := client.ShouldRateLimit(context.Background(), parse(h, s.request))
		if err != nil {
			h.Errorf("%s: %v", s.request, err)
		} else if got := show(out); got != s.answer {
			h.Errorf("%s\n got %s\nwant %s", s.request, got, s.answer)
		}
	}
}

// The answers are the same as envoyproxy/ratelimit gives to the same requests with the same rules, according to its
// README and its code.
func TestAnswersOfEnvoyproxyRatelimit(t *testing.T) {
	for name, steps := range map[string][]step{
		"a value before no value": {
			{"shop table=orders +5", "OK | OK 0/5 SECOND 1s"},
			{"shop table=orders", "OVER_LIMIT | OVER_LIMIT 0/5 SECOND 1s"},
			{"advance 1s", ""},
			{"shop table=orders", "OK | OK 4/5 SECOND 1s"},
			{"shop table=users", "OK | OK 1/2 MINUTE 34s"},
			{"shop table=users", "OK | OK 0/2 MINUTE 34s"},
			{"shop table=users", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 34s"},
			{"shop table=items", "OK | OK 1/2 MINUTE 34s"},
			{"advance 34s", ""},
			{"shop table=users", "OK | OK 1/2 MINUTE 60s"},
		},
		"no limit": {
			{"shop table=internal", "OK | OK 0"},
			{"shop other=1", "OK | OK 0"},
			{"shop free=1", "OK | OK 4294967295"},
			{"nowhere table=orders", "OK | OK 0"},
			{"shop table=orders,more=1", "OK | OK 0"},
			{"shop from=web", "OK | OK 0"},
			{"shop from=web,to=other", "OK | OK 0"},
			{"shop from=other,to=billing", "OK | OK 0"},
			{"shop =", "OK | OK 0"},
			{"shop table=", "OK | OK 1/2 MINUTE 35s"},
		},
		"nested": {
			{"shop kind=mail", "OK | OK 2/3 DAY 75335s"},
			{"shop kind=mail,to=1", "OK | OK 0/1 HOUR 3335s"},
			{"shop kind=mail,to=1", "OVER_LIMIT | OVER_LIMIT 0/1 HOUR 3335s"},
			{"shop kind=mail,to=2 kind=mail", "OK | OK 0/1 HOUR 3335s | OK 1/3 DAY 75335s"},
			{"shop from=web,to=billing", "OK | OK 0/1 MINUTE 35s"},
		},
		"one of several over its limit: the others count": {
			{"shop kind=mail,to=1 kind=mail", "OK | OK 0/1 HOUR 3335s | OK 2/3 DAY 75335s"},
			{"shop kind=mail,to=1 kind=mail", "OVER_LIMIT | OVER_LIMIT 0/1 HOUR 3335s | OK 1/3 DAY 75335s"},
			{"shop kind=mail", "OK | OK 0/3 DAY 75335s"},
		},
		"nothing granted": {
			{"shop banned=1", "OVER_LIMIT | OVER_LIMIT 0/0 MINUTE 35s"},
			{"shop 0@banned=1", "OVER_LIMIT | OVER_LIMIT 0/0 MINUTE 35s"},
		},
		"hits": {
			{"shop kind=mail +2", "OK | OK 1/3 DAY 75335s"},
			{"shop 1@kind=mail +9", "OK | OK 0/3 DAY 75335s"},
			{"advance 24h", ""},
			{"shop 0@kind=mail", "OK | OK 3/3 DAY 75335s"},
			{"shop kind=mail +4", "OVER_LIMIT | OVER_LIMIT 0/3 DAY 75335s"},
			{"shop 0@kind=mail", "OVER_LIMIT | OVER_LIMIT 0/3 DAY 75335s"},
			{"shop kind=mail", "OVER_LIMIT | OVER_LIMIT 0/3 DAY 75335s"},
			{"advance 24h", ""},
			{"shop kind=mail", "OK | OK 2/3 DAY 75335s"},
		},
		"shadow mode": {
			{"shop trial=1", "OK | OK 0/1 MINUTE 35s"},
			{"shop trial=1", "OK | OK 0/1 MINUTE 35s"},
		},
		"replaces": {
			{"shop read=1 path=/cheap", "OK | OK 0 | OK 2/3 MINUTE 35s"},
			{"shop read=1", "OK | OK 0/1 MINUTE 35s all_reads"},
			{"shop read=1", "OVER_LIMIT | OVER_LIMIT 0/1 MINUTE 35s all_reads"},
			{"shop read=1 path=/cheap", "OK | OK 0 | OK 1/3 MINUTE 35s"},
		},
		"stars": {
			{"shop file=/img/1/small", "OK | OK 0/1 MINUTE 35s"},
			{"shop file=/img/2/small", "OK | OK 0/1 MINUTE 35s"},
			{"shop file=/img/1/small", "OVER_LIMIT | OVER_LIMIT 0/1 MINUTE 35s"},
			{"shop file=/img/small", "OK | OK 0"},
			{"shop file=/img/1/large", "OK | OK 0"},
			{"shop file=/doc/1", "OK | OK 1/2 MINUTE 35s"},
			{"shop file=/doc/2", "OK | OK 0/2 MINUTE 35s"},
			{"shop file=/doc/", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 35s"},
		},
		"quotas": {
			{"shop backend=a backend=b", "OK | OK 0/1 MINUTE 35s | OK 1/2 MINUTE 35s"},
			{"shop backend=a backend=b", "OK | OVER_LIMIT 0/1 MINUTE 35s | OK 0/2 MINUTE 35s"},
			{"shop backend=a backend=b", "OVER_LIMIT | OVER_LIMIT 0/1 MINUTE 35s | OVER_LIMIT 0/2 MINUTE 35s"},
		},
	} {
		t.Run(name, func(t *testing.T) { newHost(t, nil).play(steps) })
	}
}

// Stint differs on purpose in some answers, and has additions.
func TestAnswersOfStint(t *testing.T) {
	for name, steps := range map[string][]step{
		"a limit that is just used up is reported as over": {
			{"shop trial=1 kind=mail,to=1", "OK | OK 0/1 MINUTE 35s | OK 0/1 HOUR 3335s"},
			{"shop 0@kind=mail,to=1", "OVER_LIMIT | OVER_LIMIT 0/1 HOUR 3335s"},
		},
		"algorithms": {
			{"stint bucket=1 +2", "OK | OK 0/2 MINUTE 60s"},
			{"stint bucket=1", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 60s"},
			{"advance 30s", ""},
			{"stint bucket=1", "OK | OK 0/2 MINUTE 60s"},
			{"stint window=1", "OK | OK 2/3 MINUTE 65s"},
			{"stint gcra=1", "OK | OK 1/2 MINUTE 30s"},
		},
		"all or nothing": {
			{"stint bucket=1", "OK | OK 1/2 MINUTE 30s"},
			{"stint bucket=1 window=1 +2", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 30s | OK 3/3 MINUTE 0s"},
			{"stint window=1", "OK | OK 2/3 MINUTE 95s"},
			{"stint bucket=1 bucket=1", "OVER_LIMIT | OK 0/2 MINUTE 60s | OVER_LIMIT 0/2 MINUTE 60s"},
		},
		"policies": {
			{"stint tenant=acme,plan=ann", "OK | OK 4/5 UNKNOWN 60s fields"},
			{"stint plan=ann", "OK | OK 1/2 UNKNOWN 60s plans"},
			{"stint plan=ann +2", "OVER_LIMIT | OVER_LIMIT 0/2 UNKNOWN 60s plans"},
			{"stint 0@plan=ann", "OK | OK 1/2 UNKNOWN 120s plans"},
			{"stint plan=bob +2", "OK | OK 0/2 UNKNOWN 120s plans"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, nil)
			h.do("RL.POLICY SET plans TB plan:{} 2 1/m")
			h.do("RL.POLICY SET fields TB plan:{tenant}:{} 5 1/m")
			h.play(steps)
		})
	}
}

// A request that will never be granted has a reset far in the future, whether the bucket is full, partly used or used
// up. If the reset were 0 or soon, an obedient client would ask again forever.
func TestNeverGranted(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.RLSHeaders = true })
	h.do("RL.POLICY SET plans TB plan:{} 2 1/h FW day:{} 50 @day")
	h.do("RL.POLICY SET fields TB {tenant}:{} 2 1/h SHADOW")
	h.play([]step{
		{"stint 3@bucket=a", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 315360000s"},
		{"stint bucket=a", "OK | OK 1/2 MINUTE 30s"},
		{"stint 3@bucket=a", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 315360000s"},
		{"stint 3@gcra=a", "OVER_LIMIT | OVER_LIMIT 0/2 MINUTE 315360000s"},
		{"stint 4@window=a", "OVER_LIMIT | OVER_LIMIT 0/3 MINUTE 315360000s"},
		{"stint bucket=b 3@gcra=b", "OVER_LIMIT | OK 2/2 MINUTE 0s | OVER_LIMIT 0/2 MINUTE 315360000s"},
		{"stint 3@plan=a", "OVER_LIMIT | OVER_LIMIT 0/2 UNKNOWN 315360000s plans"},
		{"stint plan=a", "OK | OK 1/2 UNKNOWN 3600s plans"},
		{"stint 2@plan=a", "OVER_LIMIT | OVER_LIMIT 0/2 UNKNOWN 3600s plans"},
		{"stint tenant=a,plan=b", "OK | OK 1/2 UNKNOWN 3600s fields"},
	})
	out, err := h.client().ShouldRateLimit(context.Background(), parse(t, "stint 3@bucket=c"))
	if err != nil || out.ResponseHeadersToAdd[2].Value != "315360000" {
		t.Errorf("%v, %v", out, err)
	}
}

// A policy with a penalty shows the limit of its requests, until there is a ban.
func TestBan(t *testing.T) {
	h := newHost(t, nil)
	h.do("RL.POLICY SET plans TB plan:{} 9 1/h PENALTY ban:{} 2 1m 2h")
	h.play([]step{
		{"stint plan=a", "OK | OK 8/9 UNKNOWN 3600s plans"},
		{"stint 9@plan=a", "OVER_LIMIT | OVER_LIMIT 0/9 UNKNOWN 3600s plans"},
		{"stint 9@plan=a", "OVER_LIMIT | OVER_LIMIT 0/2 UNKNOWN 7200s plans"},
		{"stint plan=a", "OVER_LIMIT | OVER_LIMIT 0/2 UNKNOWN 7200s plans"},
	})
}
