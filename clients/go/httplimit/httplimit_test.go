package httplimit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/clientip"
	"github.com/stintdb/stint/clients/go/httplimit"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

var address string

func TestMain(m *testing.M) { servertest.Main(m, &address) }

func connect(t *testing.T, address string, policy stint.Policy) *stint.Limiter {
	l := stint.Connect([]string{address}, policy, stint.Timeout(30*time.Second))
	t.Cleanup(func() { l.Close() })
	return l
}

// isAbout reports whether a field has a number of seconds, of which some have passed since.
func isAbout(field string, seconds int) bool {
	n, err := strconv.Atoi(field)
	return err == nil && n <= seconds && n > seconds-600
}

// ask sends a request through a middleware to a handler that answers "served".
func ask(m *httplimit.Middleware, change ...func(*http.Request)) *http.Response {
	r := httptest.NewRequest("GET", "/things/1", nil)
	r.RemoteAddr = "192.0.2.7:1234"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })).ServeHTTP(w, r)
	return w.Result()
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func from(remote string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = remote + ":1" }
}

var byIP = httplimit.ByIP(clientip.Resolver{})

func TestFieldsAndDenial(t *testing.T) {
	m := httplimit.New(connect(t, address, stint.FailClosed()), t.Name(), stint.PerDay(2), byIP)
	for remaining := 1; remaining >= 0; remaining-- {
		r := ask(m)
		if r.StatusCode != 200 || r.Header.Get("Ratelimit-Policy") != `"TestFieldsAndDenial";q=2;w=86400` ||
			r.Header.Get("X-Ratelimit-Limit") != "2" || r.Header.Get("X-Ratelimit-Remaining") != fmt.Sprint(remaining) || r.Header.Get("Retry-After") != "" {
			t.Errorf("%d %v", r.StatusCode, r.Header)
		}
		got := r.Header.Get("Ratelimit")
		if reset, is := strings.CutPrefix(got, fmt.Sprintf(`"TestFieldsAndDenial";r=%d;t=`, remaining)); !is || !isAbout(reset, 43200) { // until the next of two a day
			t.Errorf("RateLimit: %s", got)
		}
	}
	r := ask(m)
	var body struct {
		Type, Title string
		Status      int
		Violated    []string `json:"violated-policies"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Error(err)
	}
	if r.StatusCode != 429 || r.Header.Get("Content-Type") != "application/problem+json" || !strings.HasSuffix(body.Type, "#quota-exceeded") ||
		body.Status != 429 || body.Title == "" || len(body.Violated) != 1 || body.Violated[0] != t.Name() {
		t.Errorf("%d %v %+v", r.StatusCode, r.Header, body)
	}
	if after := r.Header.Get("Retry-After"); !isAbout(after, 43200) {
		t.Errorf("Retry-After: %s", after)
	}
	if r := ask(m, from("192.0.2.8")); r.StatusCode != 200 {
		t.Errorf("another client: %d", r.StatusCode)
	}
}

// TestFieldsHaveTimeUntilMore: t is the time until the next token and not until the bucket is full, and no later than
// Retry-After.
func TestFieldsHaveTimeUntilMore(t *testing.T) {
	l := connect(t, address, stint.FailClosed())
	m := httplimit.New(l, "m", stint.PerHour(1).Burst(10), func(*http.Request) string { return t.Name() })
	for range 10 {
		ask(m)
	}
	if r := ask(m); r.StatusCode != 429 || !isAbout(r.Header.Get("Retry-After"), 3600) || r.Header.Get("Ratelimit") != `"m";r=0;t=`+r.Header.Get("Retry-After") ||
		!isAbout(r.Header.Get("X-Ratelimit-Reset"), 36_000) {
		t.Errorf("bucket: %d %v", r.StatusCode, r.Header)
	}
	log := httplimit.New(l, "log", stint.SlidingLog(1, time.Hour), func(*http.Request) string { return t.Name() + "log" })
	if r := ask(log); r.Header.Get("Ratelimit") != `"log";r=0` {
		t.Errorf("a sliding log has no time until there is more: %v", r.Header)
	}
	if r := ask(log); !isAbout(r.Header.Get("Retry-After"), 3600) || r.Header.Get("Ratelimit") != `"log";r=0;t=`+r.Header.Get("Retry-After") {
		t.Errorf("denied by a sliding log: %v", r.Header)
	}
}

func TestOptions(t *testing.T) {
	l := connect(t, address, stint.FailClosed())
	one := stint.PerDay(1)
	limit := func(name string, options ...httplimit.Option) *httplimit.Middleware {
		return httplimit.New(l, t.Name()+name, one, byIP, options...)
	}
	status := func(m *httplimit.Middleware, change ...func(*http.Request)) int { return ask(m, change...).StatusCode }

	m := limit("skip", httplimit.Skip(httplimit.SkipMethods("OPTIONS")), httplimit.Skip(httplimit.SkipPaths("/health", "/static/")),
		httplimit.Skip(httplimit.SkipNetworks(clientip.Resolver{}, netip.MustParsePrefix("10.0.0.0/8"))))
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Method = "OPTIONS" }, func(r *http.Request) { r.URL.Path = "/health" },
		func(r *http.Request) { r.URL.Path = "/static/a.css" }, from("10.1.2.3"),
	} {
		if r := ask(m, change); r.StatusCode != 200 || r.Header.Get("Ratelimit") != "" {
			t.Errorf("not skipped: %d %v", r.StatusCode, r.Header)
		}
	}
	if a, b, c := status(m), status(m), status(m, func(r *http.Request) { r.URL.Path = "/healthy" }); a != 200 || b != 429 || c != 429 {
		t.Errorf("not to be skipped: %d %d %d", a, b, c)
	}

	m = limit("cost", httplimit.Cost(func(r *http.Request) int64 { return int64(len(r.Header.Get("X-Cost"))) }))
	if r := ask(m, header("X-Cost", "xx")); r.StatusCode != 429 || r.Header.Get("Retry-After")+r.Header.Get("X-RateLimit-Reset") != "" || strings.Contains(r.Header.Get("RateLimit"), ";t=") {
		t.Errorf("a request that costs more than the limit: %d, %v", r.StatusCode, r.Header)
	}
	if a, b := status(m), status(m, header("X-Cost", "x")); a != 200 || b != 200 {
		t.Errorf("costs: %d %d", a, b)
	}

	m = limit("tiers", httplimit.LimitFor(func(r *http.Request) stint.Limit {
		if r.Header.Get("Plan") == "gold" {
			return stint.PerDay(100)
		}
		return one
	}))
	if r := ask(m, header("Plan", "gold")); r.Header.Get("X-Ratelimit-Limit") != "100" {
		t.Errorf("the limit of a plan: %v", r.Header)
	}

	shadowed := 0
	m = limit("shadow", httplimit.Shadow(func(_ *http.Request, r stint.Result) { shadowed++ }))
	for range 3 {
		if r := ask(m); r.StatusCode != 200 || r.Header.Get("Ratelimit") != "" {
			t.Errorf("in the shadow: %d %v", r.StatusCode, r.Header)
		}
	}
	if shadowed != 2 {
		t.Errorf("%d reported in the shadow", shadowed)
	}

	m = limit("denied", httplimit.Denied(func(w http.ResponseWriter, _ *http.Request, r stint.Result) { http.Error(w, "no", http.StatusTeapot) }),
		httplimit.WithHeaders(httplimit.XRateLimitDate))
	ask(m)
	r := ask(m)
	if r.StatusCode != 418 || r.Header.Get("Retry-After") == "" || r.Header.Get("Ratelimit") != "" || len(r.Header.Get("X-Ratelimit-Reset")) != 10 {
		t.Errorf("own answer: %d %v", r.StatusCode, r.Header)
	}
}

func TestPolicyOfTheServer(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	if err := rdb.Do(t.Context(), "RL.POLICY", "SET", "api", "TB", "user:{}", 1, "1/d", "TB", "all", 100, "100/d").Err(); err != nil {
		t.Fatal(err)
	}
	m := httplimit.NewPolicy(connect(t, address, stint.FailClosed()), "api", byIP)
	if r := ask(m); r.StatusCode != 200 || r.Header.Get("Ratelimit-Policy") != `"api";q=1` {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	if r := ask(m); r.StatusCode != 429 {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
}

// TestWithoutStint: 503 and not 429 if the fallback denies, and no invented fields.
func TestWithoutStint(t *testing.T) {
	nowhere := servertest.Reserved(t)
	for policy, want := range map[stint.Policy]int{stint.FailOpen(): 200, stint.FailClosed(): 503} {
		r := ask(httplimit.New(connect(t, nowhere, policy), "api", stint.PerDay(2), byIP))
		if r.StatusCode != want || r.Header.Get("Ratelimit") != "" || (want == 503) != (r.Header.Get("Retry-After") != "") {
			t.Errorf("%v: %d %v", policy, r.StatusCode, r.Header)
		}
	}
	m := httplimit.New(connect(t, nowhere, stint.LocalShare(0.5)), "api", stint.PerDay(2), byIP)
	for _, want := range []int{200, 429} {
		if r := ask(m); r.StatusCode != want || r.Header.Get("X-Ratelimit-Limit") != "1" {
			t.Errorf("half of 2: %d %v, want %d", r.StatusCode, r.Header, want)
		}
	}
}

// TestMistakes: errors of a request deny it under every policy.
func TestMistakes(t *testing.T) {
	var failed error
	report := httplimit.Failed(func(_ *http.Request, err error) { failed = err })
	cost := func(n int64) httplimit.Option { return httplimit.Cost(func(*http.Request) int64 { return n }) }
	for _, policy := range []stint.Policy{stint.FailOpen(), stint.LocalShare(1), stint.FailClosed()} {
		l := connect(t, address, policy)
		for mistake, m := range map[string]*httplimit.Middleware{
			"no limit":          httplimit.New(l, "api", stint.Limit{}, byIP, report),
			"a negative cost":   httplimit.New(l, "api", stint.PerDay(5), byIP, report, cost(-1)),
			"an excessive cost": httplimit.New(l, "api", stint.PerDay(5), byIP, report, cost(1e12+1)),
			"no policy":         httplimit.NewPolicy(l, "no such policy", byIP, report),
		} {
			failed = nil
			if r := ask(m); r.StatusCode != 503 || failed == nil || errors.Is(failed, stint.ErrUnavailable) {
				t.Errorf("%v, %s: %d, %v", policy, mistake, r.StatusCode, failed)
			}
		}
	}
}

// TestLongKeysAreLimited: a long path or a long name does not escape the limit.
func TestLongKeysAreLimited(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	if err := rdb.Do(t.Context(), "RL.POLICY", "SET", t.Name(), "TB", t.Name()+":{}", 3, "3/d").Err(); err != nil {
		t.Fatal(err)
	}
	l, three := connect(t, address, stint.FailOpen()), stint.PerDay(3)
	user := httplimit.ByUser(func(r *http.Request) string { return r.Header.Get("User") })
	for name, m := range map[string]*httplimit.Middleware{
		"route":  httplimit.New(l, t.Name()+"route", three, httplimit.ByRoute),
		"joined": httplimit.New(l, t.Name()+"joined", three, httplimit.Join(byIP, user)),
		"first":  httplimit.New(l, t.Name()+"first", three, httplimit.FirstOf(user, byIP)),
		"policy": httplimit.NewPolicy(l, t.Name(), user),
	} {
		for _, end := range []string{"a", "b"} {
			long, passed := strings.Repeat("x", 5000)+end, 0
			for range 20 {
				if r := ask(m, header("User", long), func(r *http.Request) { r.URL.Path = "/" + long }); r.StatusCode == 200 {
					passed++
				}
			}
			if passed != 3 {
				t.Errorf("%s, ending in %s: %d of 20 passed a limit of 3", name, end, passed)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	trusting := clientip.Resolver{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	request := func(change ...func(*http.Request)) *http.Request {
		r := httptest.NewRequest("GET", "/things/1", nil)
		r.RemoteAddr = "10.0.0.1:1234"
		for _, c := range change {
			c(r)
		}
		return r
	}
	apiKey := httplimit.ByHeader("X-Api-Key")
	user := httplimit.ByUser(func(r *http.Request) string { return r.Header.Get("User") })
	for _, c := range []struct {
		name string
		got  string
		want string
	}{
		{"everybody", httplimit.Everybody(request()), "all"},
		{"address", byIP(request(header("X-Forwarded-For", "192.0.2.1"))), "10.0.0.1/32"},
		{"forwarded", httplimit.ByIP(trusting)(request(header("X-Forwarded-For", "192.0.2.1"))), "192.0.2.1/32"},
		{"other field", httplimit.ByIPFrom("X-Real-Ip", trusting)(request(header("X-Real-Ip", "2001:db8::1"))), "2001:db8::/64"},
		{"no address", byIP(request(func(r *http.Request) { r.RemoteAddr = "@" })), ""},
		{"no header", apiKey(request()), ""},
		{"user", user(request(header("User", "7"))), "7"},
		{"route without pattern", httplimit.ByRoute(request()), "GET /things/1"},
		{"route", httplimit.ByRoute(request(func(r *http.Request) { r.Pattern = "GET /things/{id}" })), "GET /things/{id}"},
		{"first", httplimit.FirstOf(user, byIP)(request(header("User", "7"))), "0:7"},
		{"second", httplimit.FirstOf(user, byIP)(request()), "1:10.0.0.1/32"},
		{"none", httplimit.FirstOf(user)(request()), ""},
		{"joined", httplimit.Join(user, httplimit.ByRoute)(request(header("User", "a|b"))), "a||b | GET /things/1"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	if a, b := apiKey(request(header("X-Api-Key", "secret"))), apiKey(request(header("X-Api-Key", "other"))); a == b || strings.Contains(a, "secret") || len(a) != 24 {
		t.Errorf("hashed: %q, %q", a, b)
	}
}

func Example() {
	limiter := stint.Connect([]string{address}, stint.FailOpen(), stint.Timeout(30*time.Second))
	defer limiter.Close()
	limits := httplimit.New(limiter, "api", stint.PerHour(1), httplimit.ByIP(clientip.Resolver{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") })
	server := httptest.NewServer(limits.Handler(mux))
	defer server.Close()

	for range 2 {
		response, err := http.Get(server.URL + "/hello")
		if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
		fmt.Println(response.Status, response.Header.Get("Retry-After") != "")
	}
	// Output:
	// 200 OK false
	// 429 Too Many Requests true
}
