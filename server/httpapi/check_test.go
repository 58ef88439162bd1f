package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/config"
)

// The answers of RL.CHECK and RL.ALL, with their fields.
func TestCheck(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET warned TB w:{} 2 1/m WARN 100% SW x:{} 5 1h", "RL.POLICY SET api TB u:{} 2 1/m", "RL.POLICY SET llm TB {tenant}:{model} 10 1/s", "RL.POLICY SET jobs TB r:{} 10 1/m CC j:{} 5 1m {}")
	for _, step := range []struct {
		body                     string
		status                   int
		want, fields, policy, ra string
	}{
		{`{"policy":"api","id":"7"}`, 200, `{"allowed":true,"granted":1,"binding":-1,"wait_ms":0,"limits":[{"limit":2,"remaining":1,"reset_ms":60000}]}`, `"api";r=1`, `"api";q=2`, ""},
		{`{"policy":"api","id":7,"tokens":1}`, 200, `"remaining":0,"reset_ms":120000}]`, `"api";r=0`, `"api";q=2`, ""},
		{`{"policy":"api","id":"7"}`, 429, `"status":429,"violated-policies":["api"],"allowed":false,"granted":0,"binding":0,"wait_ms":60000,"limits":[{"limit":2,`, `"api";r=0;t=60`, `"api";q=2`, "60"},
		{`{"policy":"api","id":"7","tokens":"3"}`, 429, "more than the limit can ever grant", `"api";r=0`, `"api";q=2`, ""},
		{`{"policy":"api","id":"8","peek":true}`, 200, `"remaining":1`, `"api";r=1`, `"api";q=2`, ""},
		{`{"policy":"llm","id":"x","tokens":4,"with":{"tenant":"acme","model":"large"}}`, 200, `"remaining":6`, `"llm";r=6`, `"llm";q=10`, ""},
		{`{"policy":"llm","id":"x","tokens":4,"keep":"3","with":{"tenant":"acme","model":"large"}}`, 429, `"wait_ms":1000`, `"llm";r=6;t=1`, `"llm";q=10`, "1"},
		{`{"limits":[{"algorithm":"TB","key":"a","capacity":5,"rate":"1/h","cost":2},{"algorithm":"cc","key":"b","limit":1,"ttl":"1m","holder":"me"}]}`, 200,
			`"limits":[{"limit":5,"remaining":3,"reset_ms":7200000},{"limit":1,"remaining":0,"reset_ms":60000}]`, `"limits:1";r=0, "limits:0";r=3`, `"limits:1";q=1;qu="concurrent-requests", "limits:0";q=5`, ""},
		{`{"policy":"jobs","id":"7"}`, 200, `"remaining":4`, `"jobs:1";r=4, "jobs:0";r=9`, `"jobs:1";q=5;qu="concurrent-requests", "jobs:0";q=10`, ""},
		{`{"limits":[{"algorithm":"TB","key":"a","capacity":5,"rate":"1/h"}],"tokens":4}`, 429, `"binding":0,"wait_ms":3600000`, `"limits";r=3;t=3600`, `"limits";q=5`, "3600"},
		{`{"limits":[{"algorithm":"TB","key":"c","capacity":9,"rate":"1/h"},{"algorithm":"TB","key":"d","capacity":6,"rate":"1/h","cost":4}]}`, 200,
			`"remaining":8`, `"limits:1";r=2, "limits:0";r=8`, `"limits:1";q=6, "limits:0";q=9`, ""},
		{`{"limits":[{"algorithm":"TB","key":"c","capacity":9,"rate":"1/h"},{"algorithm":"TB","key":"d","capacity":6,"rate":"1/h","cost":4}]}`, 429,
			`"violated-policies":["limits:1"]`, `"limits:1";r=2;t=7200, "limits:0";r=8`, `"limits:1";q=6, "limits:0";q=9`, "7200"},
		{`{"policy":"warned","id":"7"}`, 200, `"limits":[{"limit":2,"remaining":1,"reset_ms":60000,"warn":false},{"limit":5,`, `"warned:0";r=1, "warned:1";r=4`, `"warned:0";q=2, "warned:1";q=5`, ""},
		{`{"policy":"warned","id":"7"}`, 200, `"reset_ms":120000,"warn":true},{"limit":5,`, `"warned:0";r=0;stint-warn, "warned:1";r=3`, `"warned:0";q=2, "warned:1";q=5`, ""},
		{`{"policy":"warned","id":"7"}`, 429, `"reset_ms":120000,"warn":true},{"limit":5,`, `"warned:0";r=0;t=60;stint-warn, "warned:1";r=3`, `"warned:0";q=2, "warned:1";q=5`, "60"},
		{`{"limits":[{"algorithm":"FW","key":"warns","limit":5,"window":"1h","warn":"20%"}]}`, 200, `"limits":[{"limit":5,"remaining":4,"reset_ms":3600000,"warn":true}]`, `"limits";r=4;stint-warn`, `"limits";q=5`, ""},
		{`{"limits":[{"algorithm":"FW","key":"plan","limit":5,"window":"1h"},{"algorithm":"BAL","key":"none","else":true}],"tokens":4}`, 200,
			`"limits":[{"limit":5,"remaining":1,"reset_ms":3600000,"granted":4},{"limit":0,"remaining":0,"reset_ms":0,"granted":0}]`, `"limits:0";r=1, "limits:1";r=0`, `"limits:0";q=5, "limits:1";q=0`, ""},
		{`{"limits":[{"algorithm":"FW","key":"plan","limit":5,"window":"1h"},{"algorithm":"BAL","key":"none","else":true}],"tokens":2}`, 429,
			`"binding":0,"wait_ms":3600000`, `"limits:0";r=1;t=3600, "limits:1";r=0`, `"limits:0";q=5, "limits:1";q=0`, "3600"},
		{`{"limits":[{"algorithm":"FW","key":"plan","limit":5,"window":"1h"},{"algorithm":"BAL","key":"none","else":true}],"tokens":6}`, 402,
			`{"type":"about:blank","title":"Payment Required","status":402,`, `"limits:1";r=0, "limits:0";r=1`, `"limits:1";q=0, "limits:0";q=5`, ""},
		{`{"limits":[{"algorithm":"FW","key":"plan","limit":5,"window":"1h"},{"algorithm":"PENALTY","key":"ban","denials":1,"window":"1m","ban":"2h","doubling":"1d"}],"tokens":2}`, 429,
			`"binding":1,"wait_ms":7200000`, `"limits:1";r=0;t=7200, "limits:0";r=1`, `"limits:1";q=1, "limits:0";q=5`, "7200"},
		{`{"limits":[{"algorithm":"FS","key":"pool","capacity":10,"rate":"1/h","member":"a","weight":2}]}`, 200, `"limits":[{"limit":10,`, `"limits";r=8`, `"limits";q=10`, ""},
	} {
		a := h.post("/v1/check", step.body)
		if a.status != step.status || !strings.Contains(a.body, step.want) {
			t.Errorf("%s: %d %s", step.body, a.status, a.body)
		}
		for name, want := range map[string]string{"RateLimit": step.fields, "RateLimit-Policy": step.policy, "Retry-After": step.ra} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s: %s, not %s", step.body, name, got, want)
			}
		}
		if want := map[bool]string{true: "application/json", false: "application/problem+json"}[step.status == 200]; a.header.Get("Content-Type") != want {
			t.Errorf("%s: %s", step.body, a.header.Get("Content-Type"))
		}
	}
	h.clock.Advance(time.Minute)
	if a := h.post("/v1/check", `{"policy":"api","id":"7"}`); a.status != 200 {
		t.Errorf("after Retry-After: %d %s", a.status, a.body)
	}
}

// A grant that is remembered can be settled and cancelled.
func TestSettle(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 10 1/h")
	for _, step := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/check", `{"policy":"api","id":"7","tokens":5,"as":"call:1","for":"1m"}`, 200, `"remaining":5`},
		{"/v1/check", `{"policy":"api","id":"7","tokens":5,"as":"call:1","for":"1m"}`, 200, `"remaining":5`},
		{"/v1/check", `{"policy":"api","id":"7","as":"call:2"}`, 400, "FOR"},
		{"/v1/extend", `{"id":"call:1","n":1,"tokens":2}`, 200, `{"allowed":true,"granted":2,"binding":-1,"wait_ms":0,"limits":[{"limit":10,"remaining":3,"reset_ms":25200000}],"total":7}`},
		{"/v1/extend", `{"id":"call:1","n":1,"tokens":2}`, 200, `"total":7`},
		{"/v1/extend", `{"id":"call:1","n":2,"tokens":4}`, 429, `"total":7`},
		{"/v1/extend", `{"id":"call:1","n":2,"tokens":4,"up_to":true,"for":"2m"}`, 200, `"granted":3,"binding":-1,"wait_ms":0,"limits":[{"limit":10,"remaining":0,"reset_ms":36000000}],"total":10}`},
		{"/v1/extend", `{"id":"call:1","n":4,"tokens":1}`, 400, "has the number 3"},
		{"/v1/extend", `{"id":"call:1","n":3}`, 400, "tokens"},
		{"/v1/extend", `{"id":"call:2","n":1,"tokens":1}`, 404, ""},
		{"/v1/check", `{"limits":[{"algorithm":"FW","key":"plan","limit":5,"window":"1h"},{"algorithm":"BAL","key":"credits","else":true}],"tokens":4,"as":"stream","for":"1m"}`, 200, `"granted":4`},
		{"/v1/extend", `{"id":"stream","n":1,"tokens":4}`, 429, `"binding":0,"wait_ms":3600000`},
		{"/v1/extend", `{"id":"stream","n":1,"tokens":6}`, 402, `"limits":[{"limit":5,"remaining":1,"reset_ms":3600000,"granted":4},{"limit":0,"remaining":0,"reset_ms":0,"granted":0}],"total":4}`},
		{"/v1/settle", `{"id":"call:1","tokens":7}`, 200, `{"limits":[{"charged":7,"limit":10,"remaining":3,"reset_ms":25200000}]}`},
		{"/v1/settle", `{"id":"call:1","tokens":6}`, 400, ""},
		{"/v1/settle", `{"id":"call:2","tokens":6}`, 404, ""},
		{"/v1/check", `{"policy":"api","id":"7","as":"call:3","for":60}`, 200, `"remaining":2`},
		{"/v1/settle", `{"id":"call:3","costs":[null]}`, 200, `"charged":1`},
		{"/v1/check", `{"policy":"api","id":"7","as":"call:4","for":60}`, 200, `"remaining":1`},
		{"/v1/cancel", `{"id":"call:4"}`, 200, `{"charged":0,"limit":10,"remaining":2`},
		{"/v1/cancel", `{"id":"nobody"}`, 404, ""},
		{"/v1/usage", `{"key":"u:7"}`, 200, `{"limit":10,"used":8,"lent":0,"remaining":2,"history":[]}`},
		{"/v1/usage", `{"key":"u:8"}`, 404, "the key does not exist"},
		{"/v1/usage", `{}`, 400, "give either policy and id, or key"},
		{"/v1/usage", `{"key":"u:7","policy":"api","id":"7"}`, 400, "give either policy and id, or key"},
		{"/v1/usage", `{"policy":"api","id":"7"}`, 200, `{"limits":[{"key":"u:7","limit":10,"used":8,"lent":0,"remaining":2,"history":[]}]}`},
		{"/v1/usage", `{"policy":"api","id":"8"}`, 200, `{"limits":[{"key":"u:8","limit":10,"used":0,`},
		{"/v1/usage", `{"policy":"api","id":"7","with":{"region":"eu"}}`, 400, "no limit of the policy asks for the field 'region'"},
		{"/v1/usage", `{"policy":"api"}`, 400, "id: is missing"},
		{"/v1/usage", `{"policy":"none","id":"7"}`, 404, "no such policy"},
		{"/v1/check", `{"limits":[{"algorithm":"FW","key":"kept","limit":9,"window":"@year","history":3}],"tokens":4,"as":"call:5","for":60}`, 200, `"remaining":5`},
		{"/v1/usage", `{"key":"kept"}`, 200, `"used":0,"reserved":4,"lent":0,"remaining":5,"start_ms":`},
		{"/v1/atmost", `{"algorithm":"FW","key":"api","limit":100,"window":"1h","tokens":40}`, 200, `{"taken":60,"limit":100,"remaining":40,"reset_ms":`},
		{"/v1/atmost", `{"algorithm":"FW","key":"api","limit":100,"window":"1h","tokens":50}`, 200, `{"taken":0,"limit":100,"remaining":40,"reset_ms":`},
		{"/v1/atmost", `{"algorithm":"CC","key":"api","limit":100,"ttl":"1h","holder":"me","tokens":50}`, 400, "spec: RL.ATMOST does not apply to 'CC'"},
		{"/v1/atmost", `{"algorithm":"XX","key":"api","tokens":50}`, 400, "algorithm: must be one of"},
		{"/v1/atmost", `{"algorithm":"TB","key":"api","capacity":1,"rate":"1/s"}`, 400, "tokens: is missing"},
		{"/v1/usage", `{"policy":"api","cursor":0}`, 200, `"callers":[{"id":"7","key":"u:7","limit":10,"used":8,"lent":0,"remaining":2}]}`},
		{"/v1/usage", `{"policy":"api","cursor":0,"count":1}`, 200, `"cursor":"`},
		{"/v1/usage", `{"policy":"none","cursor":"0"}`, 404, "no such policy"},
		{"/v1/usage", `{"policy":"api","id":"7","cursor":"0"}`, 400, "cursor: give it without id"},
		{"/v1/settle", `{"id":"call:1"}`, 400, "give either tokens or costs"},
		{"/v1/settle", `{"id":"call:1","costs":[[1]]}`, 400, "costs: must be numbers"},
	} {
		if a := h.post(step.path, step.body); a.status != step.status || !strings.Contains(a.body, step.want) {
			t.Errorf("%s %s: %d %s", step.path, step.body, a.status, a.body)
		}
	}
}

// A request over HTTP is a command like any other: of a user, within the user's rights, and counted.
func TestUsers(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.RequirePass = "#" + sha256Of("a:b") })
	h.run("RL.POLICY SET api TB u:{} 1 1/h", "ACL SETUSER alice on >secret ~u:alice +rl.check", "ACL SETUSER fast on >x ~* +@all max-rate=1")
	const body = `{"policy":"api","id":"alice"}`
	for _, step := range []struct {
		body, authorization string
		status              int
	}{
		{body, "", 401},
		{body, "Bearer wrong", 401},
		{body, "Basic YTpi", 401},
		{body, "Bearer ", 401},
		{body, "Bearer alice:wrong", 401},
		{body, "Bearer alice:secret", 200},
		{body, "Bearer alice:secret", 429},
		{`{"policy":"api","id":"bob"}`, "Bearer alice:secret", 403},
		{`{"limits":[{"algorithm":"TB","key":"u:alice","capacity":1,"rate":1}]}`, "Bearer alice:secret", 403},
		{`{"policy":"api","id":"carol"}`, "Bearer :a:b", 200},
		{`{"policy":"api","id":"fast"}`, "bearer fast:x", 200},
		{`{"policy":"api","id":"fast2"}`, "Bearer fast:x", 429},
	} {
		headers := []string{"Authorization: " + step.authorization}
		if step.authorization == "" {
			headers = nil
		}
		a := h.post("/v1/check", step.body, headers...)
		if a.status != step.status {
			t.Errorf("%s by %q: %d %s", step.body, step.authorization, a.status, a.body)
		}
		if challenge := a.header.Get("WWW-Authenticate"); (challenge != "") != (step.status == 401) {
			t.Errorf("%q: WWW-Authenticate: %q", step.authorization, challenge)
		}
	}
	if got := h.run("INFO commandstats").String(); !strings.Contains(got, "cmdstat_rl.check:calls=6,") {
		t.Errorf("commands: %s", got)
	}
	if got := string(h.run("RL.TOP").Raw); !strings.Contains(got, "u:alice") {
		t.Errorf("RL.TOP: %q", got)
	}
	if got := string(h.run("ACL LOG").Raw); !strings.Contains(got, "u:bob") {
		t.Errorf("ACL LOG: %q", got)
	}
	if got := h.run("CLIENT LIST").String(); !strings.Contains(got, "addr=127.0.0.1:") {
		t.Errorf("CLIENT LIST: %q", got)
	}
}

// The paths without a user.
func TestHealth(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.RequirePass = "#" + sha256Of("x") })
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if a := h.send(http.MethodGet, path, ""); a.status != 200 || a.body != want {
			t.Errorf("%s: %d %q", path, a.status, a.body)
		}
	}
	if a := h.send(http.MethodHead, "/healthz", ""); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
}

// What could not be decided is no denial: the status says so, and the code which.
func TestUndecided(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 1 1/h")
	for status, code := range map[engine.Status]string{engine.NoLeader: "CLUSTERDOWN", engine.Uncertain: "UNCERTAIN", engine.Overloaded: "BUSY", engine.NotDurable: "MISCONF"} {
		h.decider.status.Store(uint32(status))
		a := h.post("/v1/check", `{"policy":"api","id":"1"}`)
		if f, _ := h.read(a).(map[string]any); a.status != 503 || f["code"] != code || a.header.Get("RateLimit") != "" {
			t.Errorf("%s: %d %s", code, a.status, a.body)
		}
		if a := h.send(http.MethodGet, "/v1/auth?policy=api&id=1&deny=403", ""); a.status != 503 {
			t.Errorf("%s: a proxy gets %d", code, a.status)
		}
		if a := h.post("/", `["TB.ACQUIRE","k",1,1]`); a.status != 503 || !strings.HasPrefix(a.body, `{"error":"`+code+" ") {
			t.Errorf("%s: %d %s", code, a.status, a.body)
		}
	}
}

// A rate and a duration are numbers of JSON as languages print them, with exponents too.
func TestNumbersAsPrinted(t *testing.T) {
	h := serve(t)
	for _, step := range []struct {
		limit  string
		status int
		want   string
	}{
		{`"algorithm":"TB","capacity":5,"rate":1.1574074074074073e-05`, 200, `"reset_ms":86400001}`},
		{`"algorithm":"TB","capacity":5,"rate":1e-7`, 200, `"reset_ms":10000000000}`},
		{`"algorithm":"TB","capacity":5,"rate":"1e-7"`, 200, `"reset_ms":10000000000}`},
		{`"algorithm":"TB","capacity":5,"rate":1E+3`, 200, `"reset_ms":1}`},
		{`"algorithm":"TB","capacity":5,"rate":1.0E-5`, 200, `"reset_ms":100000000}`},
		{`"algorithm":"FW","limit":5,"window":1.5e1`, 200, `"reset_ms":15000}`},
		{`"algorithm":"CC","limit":5,"ttl":1e-3,"holder":"me"`, 200, `"reset_ms":1}`},
		{`"algorithm":"AD","capacity":5,"min":0.3333333333333333,"max":1`, 200, `"reset_ms":1000}`},
		{`"algorithm":"TB","capacity":5,"rate":1e-9`, 400, "not below 1 token in 10 years, got '1e-9'"},
		{`"algorithm":"TB","capacity":5,"rate":1e13`, 400, "at most 1000000000000 tokens"},
		{`"algorithm":"TB","capacity":5,"rate":-1e-5`, 400, "must be a rate such as"},
		{`"algorithm":"FW","limit":5,"window":1e-4`, 400, "must be a duration between 1ms and 10 years"},
		{`"algorithm":"TB","capacity":5e0,"rate":1`, 400, "must be an integer"},
	} {
		if a := h.post("/v1/check", `{"limits":[{"key":"`+strings.ReplaceAll(step.limit, `"`, "'")+`",`+step.limit+`}]}`); a.status != step.status || !strings.Contains(a.body, step.want) {
			t.Errorf("%s: %d %s", step.limit, a.status, a.body)
		}
	}
}

// --ratelimit-fields has other fields in their place, also for pages of web sites.
func TestStylesOfFields(t *testing.T) {
	h := serve(t, func(cfg *config.Config) {
		cfg.HTTPListen, cfg.RateLimitFields, cfg.HTTPOrigins = []string{"127.0.0.1:0"}, "draft-6,x-ratelimit", []string{"https://app.example.com"}
	})
	h.run("RL.POLICY SET api TB u:{} 2 1/m")
	h.post("/v1/check", `{"policy":"api","id":7,"tokens":2}`)
	a := h.post("/v1/check", `{"policy":"api","id":7}`, "Origin: https://app.example.com")
	for name, want := range map[string]string{
		"RateLimit": "", "RateLimit-Policy": "", "RateLimit-Limit": "2", "RateLimit-Remaining": "0", "RateLimit-Reset": "120", "X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0",
		"X-RateLimit-Reset": "120", "Retry-After": "60",
		"Access-Control-Expose-Headers": "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
