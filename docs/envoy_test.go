package docs

import (
	"encoding/json"
	"strings"
	"testing"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
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

	"github.com/stintdb/stint/server/rls"
)

const envoyPage, gatewaysPage = "docs/envoy.md", "docs/gateways.md"

// TestEnvoyConfiguration reads the rules of the page as the server does, and the configuration of Envoy by Envoy's types.
func TestEnvoyConfiguration(t *testing.T) {
	rules, envoys, filters := 0, 0, 0
	for _, b := range readPage(t, envoyPage).blocks() {
		switch {
		case b.language != "yaml", strings.Contains(b.text(), "kind: EnvoyGateway"): // which has types of Envoy Gateway
		case strings.HasPrefix(b.text(), "domain:"):
			rules++
			if err := new(rls.Rules).Add(envoyPage, []byte(b.text())); err != nil {
				t.Error(err)
			}
		default:
			envoys++
			var tree any
			if err := yaml.Unmarshal([]byte(b.text()), &tree); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(b.text(), "http_filters:") {
				envoys, filters = envoys-1, filters+1
				if err := protojson.Unmarshal(text, &connections.HttpConnectionManager{}); err != nil {
					t.Errorf("%s:%d: %v", envoyPage, b.line, err)
				}
				continue
			}
			var config bootstrap.Bootstrap
			if err := protojson.Unmarshal(text, &config); err != nil {
				t.Errorf("%s:%d: %v", envoyPage, b.line, err)
			} else if err := config.ValidateAll(); err != nil {
				t.Errorf("%s:%d: %v", envoyPage, b.line, err)
			}
		}
	}
	if rules != 2 || envoys != 1 || filters != 1 {
		t.Errorf("%d blocks of rules, %d of Envoy and %d of filters, want 2, 1 and 1", rules, envoys, filters)
	}
}
