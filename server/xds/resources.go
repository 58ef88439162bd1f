package xds

import (
	"crypto/sha256"
	"fmt"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/stintdb/stint/server/rls"
)

// typeURL is the type of the resources.
const typeURL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"

// rulesOf parses resources.
func rulesOf(resources []*anypb.Any) (*rls.Rules, error) {
	rules := new(rls.Rules)
	for i, r := range resources {
		c := new(config.RateLimitConfig)
		if err := anypb.UnmarshalTo(r, c, proto.UnmarshalOptions{RecursionLimit: maxNesting}); err != nil {
			return nil, fmt.Errorf("resource %d: %w", i, err)
		}
		if err := checkKnown(c.ProtoReflect()); err != nil {
			return nil, fmt.Errorf("resource %d: %w", i, err)
		}
		if err := rules.AddPushed(c); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// maxNesting limits messages within messages. It is more than the depth to which rules may nest descriptors.
const maxNesting = 100

// checkKnown refuses a message with an unknown field, which might change the meaning of a limit.
func checkKnown(m protoreflect.Message) (err error) {
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return fmt.Errorf("%s has the field %d, which this version does not know: upgrade Stint", m.Descriptor().FullName(), number)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = checkKnown(v.List().Get(i).Message())
			}
		default:
			err = checkKnown(v.Message())
		}
		return err == nil
	})
	return err
}

// hashOf returns a hash of the resources of a push.
func hashOf(push *discovery.DiscoveryResponse) (hash [hashBytes]byte) {
	h := sha256.New()
	for _, r := range push.GetResources() {
		fmt.Fprintf(h, "%d %s %d ", len(r.GetTypeUrl()), r.GetTypeUrl(), len(r.GetValue()))
		h.Write(r.GetValue())
	}
	return [hashBytes]byte(h.Sum(hash[:0]))
}
