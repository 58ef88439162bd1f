//go:build e2e

package compattest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

var envoyGateway = flag.String("envoy-gateway", "", "with this version of Envoy Gateway, TestEnvoyGateway pushes the rules that its translator makes; building it takes minutes")

// TestEnvoyGateway reads the resource of docs/envoy.md as Envoy Gateway does, and pushes the output of Envoy Gateway's translator for the inputs of its tests. Each is taken, and each of its limits is found by the
// descriptor that leads to it.
func TestEnvoyGateway(t *testing.T) {
	if *envoyGateway == "" {
		t.Skip("-envoy-gateway is not given")
	}
	lines := translate(t, *envoyGateway)
	t.Run("container", func(t *testing.T) { runContainer(t, lines[0]) })
	translated, limits := lines[1:], 0
	control := startControlPlane(t, "envoy-ratelimit")
	server := startAsRateLimit(t, control, nil)
	for _, line := range translated {
		name, rules, _ := strings.Cut(line, " ")
		if got := control.push(t, rules); !strings.HasSuffix(got, `refused because ""`) {
			t.Errorf("%s: %s", name, got)
		}
		var texts []json.RawMessage
		if err := json.Unmarshal([]byte(rules), &texts); err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			c := new(config.RateLimitConfig)
			if err := protojson.Unmarshal(text, c); err != nil {
				t.Fatal(err)
			}
			visitLimits(c.GetDescriptors(), nil, func(entries []*extension.RateLimitDescriptor_Entry, want *config.RateLimitPolicy) {
				limits++
				out, err := rateLimits(t, server).ShouldRateLimit(t.Context(), &ratelimit.RateLimitRequest{Domain: c.GetDomain(), Descriptors: []*extension.RateLimitDescriptor{{Entries: entries}}})
				if err != nil {
					t.Fatal(name, err)
				}
				if got := out.GetStatuses()[0].GetCurrentLimit(); got.GetRequestsPerUnit() != want.GetRequestsPerUnit() || got.GetUnit().String() != want.GetUnit().String() {
					t.Errorf("%s: %v has the limit %v, want %v", name, entries, got, want)
				}
			})
		}
	}
	t.Logf("%d inputs with %d limits", len(translated), limits)
	if limits < len(translated) {
		t.Errorf("%d inputs have %d limits", len(translated), limits)
	}
}

// runContainer runs the server with the variables of the container that Envoy Gateway makes of the page's resource. Addresses and certificates are not those
// of a cluster.
func runContainer(t *testing.T, text string) {
	var all []struct {
		Image   string
		Command []string
		Env     []struct{ Name, Value string }
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 1 {
		t.Fatal(text, err)
	}
	if c := all[0]; !strings.HasPrefix(c.Image, "stint:") || strings.Join(c.Command, " ") != "/bin/ratelimit" {
		t.Errorf("the image is %s, the command %v", c.Image, c.Command)
	}
	env := map[string]string{}
	for _, e := range all[0].Env {
		env[e.Name] = e.Value
	}
	for name, want := range map[string]string{"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_NODE_ID": "envoy-ratelimit", "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true", "GRPC_SERVER_USE_TLS": "true"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for name := range env {
		if strings.Contains(name, "_TLS") { // TestTLS of server/xds has certificates
			delete(env, name)
		}
	}
	control := startControlPlane(t, env["CONFIG_GRPC_XDS_NODE_ID"])
	delete(env, "CONFIG_GRPC_XDS_SERVER_URL")
	server := startAsRateLimit(t, control, env)
	if got, want := control.push(t, "[]"), `answer: version "1", refused because ""`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	without := regexp.MustCompile(`variable=(REDIS_|USE_PROMETHEUS|PROMETHEUS_|GRPC_HOST )`) // without effect here; the last has one with TLS
	for _, line := range strings.Split(server.Output(), "\n") {
		if strings.Contains(line, "variable=") && !without.MatchString(line) {
			t.Error(line)
		}
	}
}

// visitLimits visits the limits below some entries. A descriptor without a value stands for any.
func visitLimits(all []*config.RateLimitDescriptor, entries []*extension.RateLimitDescriptor_Entry, visit func([]*extension.RateLimitDescriptor_Entry, *config.RateLimitPolicy)) {
	for _, d := range all {
		entry := &extension.RateLimitDescriptor_Entry{Key: d.GetKey(), Value: d.GetValue()}
		if entry.Value == "" {
			entry.Value = "any"
		}
		next := append(entries[:len(entries):len(entries)], entry)
		if limit := d.GetRateLimit(); limit != nil && !limit.GetUnlimited() {
			visit(next, limit)
		}
		visitLimits(d.GetDescriptors(), next, visit)
	}
}

// translate builds a program within Envoy Gateway's module, by a name below it, with the versions of that go.mod and go.sum; and returns its output.
func translate(t *testing.T, version string) []string {
	t.Helper()
	const module = "github.com/envoyproxy/gateway"
	var found struct{ Dir, Sum, GoModSum string }
	if err := json.Unmarshal(inFolder(t, ".", "go", "mod", "download", "-json", module+"@"+version), &found); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	goMod := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(read(filepath.Join(found.Dir, "go.mod")), "module "+module+"/translate")
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  goMod + "\nrequire " + module + " " + version + "\n",
		"go.sum":  read(filepath.Join(found.Dir, "go.sum")) + fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", module, version, found.Sum, found.GoModSum),
		"main.go": read(filepath.Join("testdata", "envoygateway", "main.go")),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inFolder(t, folder, "go", "build", "-o", "translate", ".")
	page := read(filepath.Join("..", "..", "docs", "envoy.md"))
	resource := regexp.MustCompile("(?s)```yaml\n(apiVersion: gateway.envoyproxy.io/.*?)```").FindStringSubmatch(page)
	if resource == nil {
		t.Fatal("docs/envoy.md has no resource of Envoy Gateway")
	}
	file := filepath.Join(folder, "resource.yaml")
	if err := os.WriteFile(file, []byte(resource[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(inFolder(t, folder, filepath.Join(folder, "translate"), found.Dir, file))), "\n")
}
