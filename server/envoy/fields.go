package envoy

import (
	"fmt"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// checkFields refuses a request with a field that would change its meaning and that [requestOf] does not translate. It
// also refuses fields of later versions of the protocol, whose meaning is unknown.
func checkFields(in *ratelimit.RateLimitRequest) error {
	if err := checkKnown(in); err != nil {
		return err
	}
	for i, d := range in.GetDescriptors() {
		if err := checkDescriptor(d); err != nil {
			return fmt.Errorf("descriptor %d: %w", i, err)
		}
	}
	return nil
}

func checkDescriptor(d *extension.RateLimitDescriptor) error {
	for _, e := range d.GetEntries() {
		if err := checkKnown(e); err != nil {
			return err
		}
	}
	if d.GetIsNegativeHits() {
		return fmt.Errorf("is_negative_hits: hits cannot be given back here; leave it out")
	}
	if hits := d.GetHitsAddend(); hits != nil {
		if err := checkKnown(hits); err != nil {
			return err
		}
	}
	if limit := d.GetLimit(); limit != nil {
		if err := checkKnown(limit); err != nil {
			return err
		}
		if m := limit.GetUnitMultiplier(); m != nil {
			if err := checkKnown(m); err != nil {
				return err
			}
			if m.GetValue() != 1 {
				return fmt.Errorf("unit_multiplier %d: a limit is for one unit here; leave it out", m.GetValue())
			}
		}
	}
	return checkKnown(d)
}

// checkKnown refuses a message with a field that this version does not know.
func checkKnown(m protoreflect.ProtoMessage) error {
	r := m.ProtoReflect()
	if unknown := r.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return fmt.Errorf("%s has the field %d, which this version does not know: leave it out, or upgrade Stint", r.Descriptor().FullName(), number)
	}
	return nil
}
