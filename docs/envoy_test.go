package docs

import (
	"encoding/json"
	"strings"
	"testing"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/json_to_metadata/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rate_limit_quota/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	connections "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/rate_limit_descriptors/expr/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/stintdb/stint/server/rls"
)

const envoyPage, gatewaysPage = "docs/envoy.md", "docs/gateways.md"

// envoyTypes are the types of the page's blocks of Envoy, by the first word.
var envoyTypes = map[string]func() proto.Message{
	"static_resources:":        func() proto.Message { return &bootstrap.Bootstrap{} },
	"http_filters:":            func() proto.Message { return &connections.HttpConnectionManager{} },
	"typed_per_filter_config:": func() proto.Message { return &route.Route{} },
	"name:":                    func() proto.Message { return &connections.HttpFilter{} },
}

// TestEnvoyConfiguration reads the rules of the page as the server does, and the configuration of Envoy by Envoy's
// types.
func TestEnvoyConfiguration(t *testing.T) {
	found := map[string]int{}
	for _, b := range readPage(t, envoyPage).blocks() {
		if b.language != "yaml" || strings.Contains(b.text(), "kind: EnvoyGateway") { // which has types of Envoy Gateway
			continue
		}
		first := strings.Fields(b.text())[0]
		found[first]++
		if first == "domain:" {
			if err := new(rls.Rules).Add(envoyPage, []byte(b.text())); err != nil {
				t.Error(err)
			}
			continue
		}
		of := envoyTypes[first]
		if of == nil {
			t.Fatalf("%s:%d: no type for %s", envoyPage, b.line, first)
		}
		if err := readEnvoy(b.text(), of()); err != nil {
			t.Errorf("%s:%d: %v", envoyPage, b.line, err)
		}
	}
	if found["domain:"] != 2 || len(found) != 1+len(envoyTypes) {
		t.Errorf("found %v", found)
	}
}

// readEnvoy reads a block as a message of Envoy. A whole configuration is also checked for its bounds.
func readEnvoy(block string, into proto.Message) error {
	var tree any
	if err := yaml.Unmarshal([]byte(block), &tree); err != nil {
		return err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(text, into); err != nil {
		return err
	}
	if whole, is := into.(*bootstrap.Bootstrap); is {
		return whole.ValidateAll()
	}
	return nil
}
