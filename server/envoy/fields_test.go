package envoy

import (
	"context"
	"strings"
	"testing"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// fieldCase is a change of one field of a request. The changed request is refused with the error refused or, if that is
// empty, honoured: its answers differ from the answers to the original request.
type fieldCase struct {
	change  func(in *ratelimit.RateLimitRequest)
	refused string
}

func overridden(in *ratelimit.RateLimitRequest) *extension.RateLimitDescriptor_RateLimitOverride {
	if in.Descriptors[0].Limit == nil {
		in.Descriptors[0].Limit = &extension.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 2, Unit: kind.RateLimitUnit_MINUTE}
	}
	return in.Descriptors[0].Limit
}

const extensions = "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor."

// fieldCases has the fields of a request's messages by their full names.
var fieldCases = map[protoreflect.FullName][]fieldCase{
	"envoy.service.ratelimit.v3.RateLimitRequest.domain":      {{change: func(in *ratelimit.RateLimitRequest) { in.Domain = "other" }}},
	"envoy.service.ratelimit.v3.RateLimitRequest.descriptors": {{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors = append(in.Descriptors, in.Descriptors[0]) }}},
	"envoy.service.ratelimit.v3.RateLimitRequest.hits_addend": {{change: func(in *ratelimit.RateLimitRequest) { in.HitsAddend = 2 }}},
	extensions + "entries": {{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].Entries = nil }}},
	extensions + "limit": {
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).RequestsPerUnit = 7 }},
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).RequestsPerUnit = 7; in.Domain = "other" }},
	},
	extensions + "hits_addend": {
		{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].HitsAddend = wrapperspb.UInt64(2) }},
		{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].HitsAddend = wrapperspb.UInt64(0) }},
		{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].HitsAddend = wrapperspb.UInt64(1 << 63) }, refused: "hits_addend"},
	},
	extensions + "is_negative_hits": {{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].IsNegativeHits = true }, refused: "is_negative_hits"}},
	extensions + "Entry.key":        {{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].Entries[0].Key = "kind" }}},
	extensions + "Entry.value":      {{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].Entries[0].Value = "orders" }}},
	extensions + "RateLimitOverride.requests_per_unit": {
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).RequestsPerUnit = 0 }},
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).RequestsPerUnit = 3 }},
	},
	extensions + "RateLimitOverride.unit": {
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).Unit = kind.RateLimitUnit_HOUR }},
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).Unit = kind.RateLimitUnit_UNKNOWN }, refused: "has no unit"},
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).Unit = 99 }, refused: "has no unit"},
	},
	extensions + "RateLimitOverride.unit_multiplier": {
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).UnitMultiplier = wrapperspb.UInt32(5) }, refused: "unit_multiplier 5"},
		{change: func(in *ratelimit.RateLimitRequest) { overridden(in).UnitMultiplier = wrapperspb.UInt32(0) }, refused: "unit_multiplier 0"},
		{change: func(in *ratelimit.RateLimitRequest) {
			overridden(in).RequestsPerUnit, overridden(in).UnitMultiplier = 7, wrapperspb.UInt32(1)
		}},
	},
	"google.protobuf.UInt64Value.value": {{change: func(in *ratelimit.RateLimitRequest) { in.Descriptors[0].HitsAddend = wrapperspb.UInt64(2) }}},
	"google.protobuf.UInt32Value.value": {{change: func(in *ratelimit.RateLimitRequest) { overridden(in).UnitMultiplier = wrapperspb.UInt32(2) }, refused: "unit_multiplier 2"}},
}

// Each field of a request's messages has a case in which it is honoured or refused.
func TestFieldsAreHonouredOrRefused(t *testing.T) {
	h := newHost(t, nil)
	client := h.client()
	answers := func(in *ratelimit.RateLimitRequest) (all []string, err error) {
		h.do("FLUSHALL")
		for range 4 {
			out, err := client.ShouldRateLimit(context.Background(), in)
			if err != nil {
				return nil, err
			}
			all = append(all, show(out))
		}
		return all, nil
	}
	plain, err := answers(parse(t, "shop table=x"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range fieldsOf((*ratelimit.RateLimitRequest)(nil).ProtoReflect().Descriptor()) {
		if len(fieldCases[name]) == 0 {
			t.Errorf("no case has %s", name)
		}
		for i, c := range fieldCases[name] {
			in := parse(t, "shop table=x")
			c.change(in)
			if c.refused != "" {
				h.expect(context.Background(), client, in, codes.InvalidArgument, c.refused)
				continue
			}
			if got, err := answers(in); err != nil || strings.Join(got, ", ") == strings.Join(plain, ", ") {
				t.Errorf("%s, case %d: %v, %v", name, i, got, err)
			}
		}
	}
}

// fieldsOf lists the fields of a message, and of messages within it.
func fieldsOf(m protoreflect.MessageDescriptor) map[protoreflect.FullName]bool {
	found := map[protoreflect.FullName]bool{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		found[f.FullName()] = true
		if f.Message() != nil {
			for name := range fieldsOf(f.Message()) {
				found[name] = true
			}
		}
	}
	return found
}

// A field that this version does not know is refused in every message of a request.
func TestFieldsOfLaterVersions(t *testing.T) {
	h := newHost(t, nil)
	later := protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1)
	for i, at := range []func(in *ratelimit.RateLimitRequest) proto.Message{
		func(in *ratelimit.RateLimitRequest) proto.Message { return in },
		func(in *ratelimit.RateLimitRequest) proto.Message { return in.Descriptors[0] },
		func(in *ratelimit.RateLimitRequest) proto.Message { return in.Descriptors[0].Entries[0] },
		func(in *ratelimit.RateLimitRequest) proto.Message { return overridden(in) },
		func(in *ratelimit.RateLimitRequest) proto.Message {
			in.Descriptors[0].HitsAddend = wrapperspb.UInt64(1)
			return in.Descriptors[0].HitsAddend
		},
		func(in *ratelimit.RateLimitRequest) proto.Message {
			overridden(in).UnitMultiplier = wrapperspb.UInt32(1)
			return in.Descriptors[0].Limit.UnitMultiplier
		},
	} {
		in := parse(t, "shop table=x")
		at(in).ProtoReflect().SetUnknown(later)
		if _, err := h.client().ShouldRateLimit(context.Background(), in); err == nil || !strings.Contains(err.Error(), "has the field 77") {
			t.Errorf("message %d: %v", i, err)
		}
	}
}

// A request whose caller or field for a policy is empty or missing is denied, like an empty header over HTTP. It does
// not lead to a limit that all such requests share, or to an error, on which Envoy may grant.
func TestEmptyValuesOfAPolicy(t *testing.T) {
	h := newHost(t, nil)
	h.do("RL.POLICY SET plans TB plan:{} 2 1/h")
	h.do("RL.POLICY SET fields TB {tenant}:{} 2 1/h")
	h.play([]step{
		{"stint plan=", "OVER_LIMIT | OVER_LIMIT 0/0 UNKNOWN 315360000s plans"},
		{"stint tenant=,plan=x", "OVER_LIMIT | OVER_LIMIT 0/0 UNKNOWN 315360000s fields"},
		{"stint tenant=x,plan=", "OVER_LIMIT | OVER_LIMIT 0/0 UNKNOWN 315360000s fields"},
		{"stint plan=plan", "OK | OK 1/2 UNKNOWN 3600s plans"},
	})
}
