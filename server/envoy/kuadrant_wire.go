package envoy

import (
	"fmt"
	"unicode/utf8"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // has the codec of that name
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The messages of Reserve and Commit. Their fields have the numbers of Kuadrant's proto.
type (
	reserveRequest struct {
		domain      string                           // 1
		descriptors []*extension.RateLimitDescriptor // 2
		amount      uint64                           // 3
		ttl         *durationpb.Duration             // 4
	}
	reserveResponse struct {
		code ratelimit.RateLimitResponse_Code // 1
		id   string                           // 2, only with OK
	}
	commitRequest struct {
		domain      string                           // 1
		descriptors []*extension.RateLimitDescriptor // 2
		id          string                           // 3
		amount      uint64                           // 4
	}
	commitResponse struct {
		released bool // 1
	}
)

func (m *reserveRequest) read(b []byte) error {
	return readFields(b, map[protowire.Number]any{1: &m.domain, 2: &m.descriptors, 3: &m.amount, 4: &m.ttl})
}

func (m *commitRequest) read(b []byte) error {
	return readFields(b, map[protowire.Number]any{1: &m.domain, 2: &m.descriptors, 3: &m.id, 4: &m.amount})
}

func (m *reserveResponse) write() (b []byte) {
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), uint64(m.code))
	if m.id != "" {
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), m.id)
	}
	return b
}

func (m *commitResponse) write() (b []byte) {
	if m.released {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 1)
	}
	return b
}

// readFields parses a message into fields by their numbers. It refuses unknown fields.
func readFields(b []byte, fields map[protowire.Number]any) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		to, known := fields[number]
		if !known {
			return fmt.Errorf("the field %d is not known: leave it out, or upgrade Stint", number)
		}
		n, err := readField(b, kind, to)
		if err != nil {
			return fmt.Errorf("the field %d: %w", number, err)
		}
		b = b[n:]
	}
	return nil
}

// readField parses one value, and returns its length.
func readField(b []byte, kind protowire.Type, to any) (n int, err error) {
	if number, is := to.(*uint64); is {
		if kind != protowire.VarintType {
			return 0, fmt.Errorf("must be a number")
		}
		if *number, n = protowire.ConsumeVarint(b); n < 0 {
			return 0, protowire.ParseError(n)
		}
		return n, nil
	}
	if kind != protowire.BytesType {
		return 0, fmt.Errorf("must be a text or a message")
	}
	value, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return 0, protowire.ParseError(n)
	}
	switch to := to.(type) {
	case *string:
		if *to = string(value); !utf8.ValidString(*to) {
			err = fmt.Errorf("must be UTF-8")
		}
	case *[]*extension.RateLimitDescriptor:
		d := new(extension.RateLimitDescriptor)
		*to, err = append(*to, d), proto.Unmarshal(value, d)
	case **durationpb.Duration:
		*to = new(durationpb.Duration)
		err = proto.Unmarshal(value, *to)
	}
	return n, err
}

// codec is gRPC's codec for protobuf, extended by the messages above.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, is := v.(interface{ write() []byte }); is {
		return mem.BufferSlice{mem.SliceBuffer(m.write())}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, is := v.(interface{ read(b []byte) error }); is {
		return m.read(data.Materialize())
	}
	return c.CodecV2.Unmarshal(data, v)
}
