// Package testkuadrant is a client of Kuadrant's rate limit service for tests. Its messages are made from the field
// names and numbers of Kuadrant's proto, without the server's code for them.
package testkuadrant

import (
	"context"
	"errors"
	"strings"
	"time"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

const service = "/kuadrant.service.ratelimit.v1.RateLimitService/"

// Client asks a server.
type Client struct{ *grpc.ClientConn }

// Check asks whether a request would be granted.
func (c Client) Check(ctx context.Context, in *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	out := new(ratelimit.RateLimitResponse)
	return out, c.Invoke(ctx, service+"CheckRateLimit", in, out)
}

// Report books a request.
func (c Client) Report(ctx context.Context, in *ratelimit.RateLimitRequest) (*ratelimit.RateLimitResponse, error) {
	out := new(ratelimit.RateLimitResponse)
	return out, c.Invoke(ctx, service+"Report", in, out)
}

// Reserve takes an amount from the limits of a request; ttl 0 leaves the time out.
func (c Client) Reserve(ctx context.Context, of *ratelimit.RateLimitRequest, amount uint64, ttl time.Duration) (code ratelimit.RateLimitResponse_Code, id string, err error) {
	in, out := newMessage("ReserveRequest", of), newMessage("ReserveResponse", nil)
	set(in, "amount", protoreflect.ValueOfUint64(amount))
	if ttl != 0 {
		set(in, "ttl", protoreflect.ValueOfMessage(durationpb.New(ttl).ProtoReflect()))
	}
	err = c.Invoke(ctx, service+"Reserve", in, out)
	return ratelimit.RateLimitResponse_Code(get(out, "code").Enum()), get(out, "reservation_id").String(), err
}

// Commit books the amount that a request took.
func (c Client) Commit(ctx context.Context, of *ratelimit.RateLimitRequest, id string, amount uint64) (released bool, err error) {
	in, out := newMessage("CommitRequest", of), newMessage("CommitResponse", nil)
	set(in, "reservation_id", protoreflect.ValueOfString(id))
	set(in, "actual_amount", protoreflect.ValueOfUint64(amount))
	err = c.Invoke(ctx, service+"Commit", in, out)
	return get(out, "reservation_released").Bool(), err
}

// newMessage has the domain and descriptors of a request, if there is one.
func newMessage(name protoreflect.Name, of *ratelimit.RateLimitRequest) *dynamicpb.Message {
	m := dynamicpb.NewMessage(file.Messages().ByName(name))
	if of == nil {
		return m
	}
	set(m, "domain", protoreflect.ValueOfString(of.GetDomain()))
	list := m.Mutable(m.Descriptor().Fields().ByName("descriptors")).List()
	for _, d := range of.GetDescriptors() {
		b, err := proto.Marshal(d)
		if err == nil {
			err = proto.Unmarshal(b, list.AppendMutable().Message().Interface())
		}
		if err != nil {
			panic(err)
		}
	}
	return m
}

func set(m *dynamicpb.Message, field protoreflect.Name, v protoreflect.Value) {
	m.Set(m.Descriptor().Fields().ByName(field), v)
}

func get(m *dynamicpb.Message, field protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(field))
}

// file is the part of Kuadrant's proto that is not Envoy's.
var file = func() protoreflect.FileDescriptor {
	limited := extension.File_envoy_extensions_common_ratelimit_v3_ratelimit_proto
	answers := ratelimit.File_envoy_service_ratelimit_v3_rls_proto
	of := &descriptorpb.FileDescriptorProto{
		Name: proto.String("kuadrantrls.proto"), Package: proto.String("kuadrant.service.ratelimit.v1"), Syntax: proto.String("proto3"),
		Dependency: []string{limited.Path(), answers.Path(), durationpb.File_google_protobuf_duration_proto.Path()},
	}
	for _, line := range []string{
		"ReserveRequest domain:string descriptors:*.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor amount:uint64 ttl:.google.protobuf.Duration",
		"ReserveResponse code:#.envoy.service.ratelimit.v3.RateLimitResponse.Code reservation_id:string",
		"CommitRequest domain:string descriptors:*.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor reservation_id:string actual_amount:uint64",
		"CommitResponse reservation_released:bool",
	} {
		words := strings.Fields(line)
		m := &descriptorpb.DescriptorProto{Name: proto.String(words[0])}
		for i, word := range words[1:] {
			name, kind, _ := strings.Cut(word, ":")
			m.Field = append(m.Field, field(name, kind, int32(i+1)))
		}
		of.MessageType = append(of.MessageType, m)
	}
	made, err := protodesc.NewFile(of, protoregistry.GlobalFiles)
	if err != nil {
		panic(errors.Join(errors.New("testkuadrant"), err))
	}
	return made
}()

// field is one of a message: *TYPE for many messages, #TYPE for an enumeration.
func field(name, kind string, number int32) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(number), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	switch kind {
	case "string":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		return f
	case "uint64":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_UINT64.Enum()
		return f
	case "bool":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()
		return f
	}
	f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	if many, is := strings.CutPrefix(kind, "*"); is {
		kind, f.Label = many, descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if enum, is := strings.CutPrefix(kind, "#"); is {
		kind, f.Type = enum, descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
	}
	f.TypeName = proto.String(kind)
	return f
}
