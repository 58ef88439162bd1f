package admin

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// Readiness says whether requests are answered, and if not, why.
func TestReadiness(t *testing.T) {
	n := &nodes{}
	n.status.Store(&clusterstatus.Status{Healthy: true, LeaderID: "a"})
	h := newHost(t, func(_ *config.Config, o *server.Options) { o.Cluster = n })
	expect := func(status int, says string) {
		t.Helper()
		if got, body := h.get("/readyz"); got != status || !strings.HasPrefix(body, says) {
			t.Errorf("%d %q, want %d %q", got, body, status, says)
		}
		if got, _ := h.get("/healthz"); got != http.StatusOK {
			t.Errorf("the process is alive, and /healthz says %d", got)
		}
	}
	expect(503, "starting: state is being recovered")
	if status, _ := h.get("/metrics"); status != 503 {
		t.Errorf("metrics before there is a server: %d", status)
	}
	h.Attach(h.server)
	expect(503, "starting: clients cannot connect yet")
	h.serve()
	expect(200, "ready")
	n.status.Store(&clusterstatus.Status{Healthy: true, LeaderID: "a", LeaderlessText: "groups 3,4 have had no leader"})
	expect(200, "ready\ngroups 3,4 have had no leader")
	n.status.Store(&clusterstatus.Status{})
	expect(503, "no leader")
	n.status.Store(&clusterstatus.Status{Healthy: true, LeaderID: "b"})
	expect(200, "ready")
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	expect(503, "draining")
}

// With --admin-token, only health is readable without the token.
func TestToken(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) {
		cfg.Pprof = true
		s, _ := config.Lookup("admin-token")
		if err := s.Set(cfg, "secret"); err != nil {
			t.Fatal(err)
		}
	})
	h.serve()
	for path, open := range map[string]bool{
		"/healthz": true, "/readyz": true, "/": true, "/app.js": true,
		"/metrics": false, "/api/overview": false, "/api/policies": false, "/api/key?key=a": false, "/debug/pprof/": false, "/debug/pprof/heap": false,
	} {
		for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer ": 401, "secret": 401, "Basic secret": 401, "Bearer secret": 200, "bearer secret": 200} {
			if open {
				want = 200
			}
			if status, _ := h.get(path, "Authorization", token); status != want {
				t.Errorf("%s with %q: %d, want %d", path, token, status, want)
			}
		}
	}
	if status, _ := h.send(http.MethodPost, "/api/policy", `{"name":"p","limits":"TB a 1 1/s"}`); status != 401 {
		t.Errorf("a policy without the token: %d", status)
	}
	if status, _ := h.send(http.MethodPost, "/api/backup", ""); status != 401 {
		t.Errorf("a backup without the token: %d", status)
	}
}

// Pages of other sites, and requests to foreign host names, get nothing.
func TestOtherSites(t *testing.T) {
	t.Parallel() // it waits
	h := newHost(t, nil)
	h.serve()
	const draft = `{"name":"p","limits":"TB a 1 1/s"}`
	for _, tc := range []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"by address", http.MethodGet, "/api/overview", nil, 200},
		{"as localhost", http.MethodGet, "/api/overview", []string{"Host", "localhost:6380"}, 200},
		{"by another name", http.MethodGet, "/api/overview", []string{"Host", "evil.example"}, 403},
		{"metrics by another name", http.MethodGet, "/metrics", []string{"Host", "evil.example:6380"}, 403},
		{"from another site", http.MethodPost, "/api/policy", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"from another origin", http.MethodPost, "/api/policy", []string{"Origin", "http://evil.example"}, 403},
		{"from a sandbox", http.MethodPost, "/api/policy", []string{"Origin", "null"}, 403},
		{"from the page", http.MethodPost, "/api/policy", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"by a form, from a browser that names no origin", http.MethodPost, "/api/policy", []string{"Content-Type", "text/plain"}, 415},
		{"by a form of files", http.MethodPost, "/api/policy", []string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{"by a body without a type", http.MethodPost, "/api/policy", []string{"Content-Type", ""}, 415},
		{"with a charset", http.MethodPost, "/api/policy", []string{"Content-Type", "Application/JSON; charset=utf-8"}, 200},
		{"without profiles", http.MethodGet, "/debug/pprof/", nil, 404},
	} {
		if status, body := h.send(tc.method, tc.path, draft, tc.headers...); status != tc.want {
			t.Errorf("%s: %d %s, want %d", tc.name, status, body, tc.want)
		}
	}
	response, err := http.Get("http://" + h.Address() + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the page may do %q", policy)
	}
	if status, _ := h.send(http.MethodPost, "/api/policy", `{"name":"`+strings.Repeat("x", maxBodyBytes)+`"}`); status != 413 {
		t.Errorf("a body without end: %d", status)
	}
}

// A form of another site changes nothing, even from a browser that states neither site nor origin.
func TestForms(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET api TB user:{} 3 1/h", "TB.ACQUIRE user:a 3 1/h")
	for path, fields := range map[string]string{
		"/api/policy":         `{"name":"api","limits":"TB user:{} 999 1/h`,
		"/api/policy/preview": `{"name":"api","limits":"TB user:{} 999 1/h`,
		"/api/key/override":   `{"policy":"api","id":"a","limits":"TB user:{} 999 1/h`,
		"/api/key/reset":      `{"key":"user:a`,
	} {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"} {
			if status, body := h.send(http.MethodPost, path, fields+`"}`, "Content-Type", kind); status != http.StatusUnsupportedMediaType || !strings.Contains(body, "application/json") {
				t.Errorf("%s as %s: %d %s", path, kind, status, body)
			}
		}
	}
	if got := h.do(c, "RL.POLICY GET api", "EXISTS user:a"); strings.Contains(got, "999") || !strings.Contains(got, "\r\n:1\r\n") {
		t.Errorf("a form has changed something: %s", got)
	}
}

// If clients need a password, the admin address shows nothing protected without a token.
func TestPasswordsHoldHereToo(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) {
		s, _ := config.Lookup("requirepass")
		if err := s.Set(cfg, "secret"); err != nil {
			t.Fatal(err)
		}
	})
	h.serve()
	h.do(h.dial(), "AUTH secret", "TB.ACQUIRE user:7 1 1/h", "TB.ACQUIRE user:7 1 1/h")
	status, body := h.get("/metrics")
	if status != 200 || strings.Contains(body, "user:7") || !strings.Contains(body, `stint_top_denied{key="hash:`) {
		t.Errorf("%d, and the key is shown or missing", status)
	}
	if status, body := h.get("/api/key?key=user:7"); status != 403 || !strings.Contains(body, "--admin-token") {
		t.Errorf("%d %s", status, body)
	}
}

// The preview of a draft changes no state.
func TestPreview(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET p TB u:{} 10 1/h", "RL.POLICY OVERRIDE p vip TB u:{} 100 1/h", "RL.CHECK p a 3", "RL.CHECK p b 10", "RL.CHECK p vip 50", "TB.ACQUIRE other 1 1/h")
	for _, tc := range []struct{ draft, want string }{
		{"TB u:{} 3 1/h", `"before":"TB u:{} 10 1/1h","callers":2,"deniedNow":1,"deniedThen":2,"wrongType":0,"examples":[{"key":"u:a","nowAllowed":true,"thenAllowed":false,"nowRemaining":6`},
		{"TB u:{} 11 1/h", `"deniedNow":1,"deniedThen":0`},
		{"SW u:{} 5 1h", `"callers":2,"deniedNow":1,"deniedThen":2,"wrongType":2`},
		{"TB v:{} 5 1/h", `"before":"","callers":0`},
		{"TB other 1 1/h", `"callers":1,"deniedNow":0,"deniedThen":1`},
		{"nonsense", "must begin with one of"},
		{`TB "u:{} 5`, "unbalanced"},
		{"", "wrong number of arguments"},
	} {
		body := `{"name":"p","limits":` + quote(tc.draft) + `}`
		if _, got := h.send(http.MethodPost, "/api/policy/preview", body); !strings.Contains(got, tc.want) {
			t.Errorf("%s:\n%s\nwant …%s", tc.draft, got, tc.want)
		}
	}
	if reply := h.do(c, "TB.ACQUIRE u:a 10 1/h PEEK"); !strings.Contains(reply, ":6") {
		t.Errorf("the preview took something: %q", reply)
	}
	if _, body := h.get("/api/key?key=u:a"); !strings.Contains(body, `"remaining":7`) {
		t.Error(body)
	}
}

// A class is asked together with its ancestors, which keep the assured tokens of other classes.
func TestPreviewOfTrees(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET p HT plan:{} 2 1/h 9 1/h UNDER all 10 1/h", "RL.CHECK p gold 5", "RL.CHECK p silver")
	for _, tc := range []struct{ draft, want string }{
		{"HT plan:{} 2 1/h 9 1/h UNDER all 10 1/h", `"callers":2,"deniedNow":0,"deniedThen":0`},
		{"HT plan:{} 2 1/h 5 1/h UNDER all 10 1/h", `"nowAllowed":true,"thenAllowed":false,"nowRemaining":1`},
		{"HT plan:{} 2 1/h 9 1/h UNDER all 6 1/h", `"callers":2,"deniedNow":0,"deniedThen":2`},
	} {
		body := `{"name":"p","limits":` + quote(tc.draft) + `}`
		if _, got := h.send(http.MethodPost, "/api/policy/preview", body); !strings.Contains(got, tc.want) {
			t.Errorf("%s:\n%s\nwant …%s", tc.draft, got, tc.want)
		}
	}
	if _, body := h.get("/api/policies"); !strings.Contains(body, "UNDER all 10 1/1h") {
		t.Error(body)
	}
}

func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }

// The default address gives way to other uses; a chosen address does not.
func TestTakenAddress(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := config.Default()
	cfg.Admin = taken.Addr().String()
	if _, err := Listen(&cfg, maxConnections, log); err == nil || !strings.Contains(err.Error(), "choose another address with --admin") {
		t.Errorf("%v", err)
	}
	cfg = config.Default()
	cfg.Listen = []string{cfg.Admin}
	if a, err := Listen(&cfg, maxConnections, log); a != nil || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	cfg.Admin = ""
	if a, err := Listen(&cfg, maxConnections, log); a != nil || err != nil {
		t.Errorf("%v, %v", a, err)
	}
}
