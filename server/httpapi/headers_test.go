package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// requestFields are the fields that requests may have, from the registry of the IANA and from practice, by their fate
// in a POST.
var requestFields = map[string]string{
	"honoured": "Access-Control-Request-Headers Access-Control-Request-Method Authorization Connection Content-Encoding Content-Length Content-Type Expect Host Origin Transfer-Encoding Upstash-Encoding",
	"refused":  "Content-Range Idempotency-Key If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since X-HTTP-Method X-HTTP-Method-Override X-Method-Override",
	// about the way, the client or caches; or for a form of the answer, which RFC 9110 leaves to the server
	"nothing": `A-IM Accept Accept-Charset Accept-Datetime Accept-Encoding Accept-Language Alt-Used Cache-Control CDN-Loop Content-Disposition Content-Language Content-Location Cookie DNT Date Early-Data
		Forwarded From Keep-Alive Max-Forwards Pragma Prefer Priority Proxy-Authorization Range Referer Sec-Fetch-Dest Sec-Fetch-Mode Sec-Fetch-Site Sec-GPC TE Traceparent Tracestate Trailer Upgrade
		Upgrade-Insecure-Requests Upstash-Sync-Token Upstash-Telemetry-Sdk User-Agent Via X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Real-IP X-Request-ID`,
}

// Each field is honoured, refused by its name, or of no consequence: the request is then answered like one without it.
func TestFieldsOfTheHeader(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 1000 1/h")
	const check = `{"policy":"api","id":"1","peek":true}`
	plain := h.post("/v1/check", check)
	for _, name := range strings.Fields(requestFields["nothing"]) {
		if a := h.post("/v1/check", check, name+": 1"); a.status != plain.status || a.body != plain.body {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	refused := strings.Fields(requestFields["refused"])
	for _, name := range refused {
		for _, path := range []string{"/v1/check", "/v1/atmost", "/v1/extend", "/v1/settle", "/v1/cancel", "/v1/usage", "/", "/pipeline", "/multi-exec"} {
			if a := h.post(path, check, name+": 1"); a.status != 400 || !strings.Contains(strings.ToLower(a.body), strings.ToLower(name)+" is not supported") {
				t.Errorf("%s %s: %d %s", path, name, a.status, a.body)
			}
		}
		if a := h.send(http.MethodGet, "/v1/auth?policy=api&id=1", "", name+": 1"); a.status != 200 {
			t.Errorf("%s of a request that a proxy asks about: %d %s", name, a.status, a.body)
		}
	}
	for name := range refusedFields {
		if !slices.ContainsFunc(refused, func(known string) bool { return strings.EqualFold(known, name) }) {
			t.Errorf("no case has %s", name)
		}
	}
}

// Codings and types of a body are taken or refused with the reason, parameters and bodies where there are none by name.
func TestForms(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 1000 1/h")
	const check = `{"policy":"api","id":"1"}`
	for _, step := range []struct {
		method, target, body, field string
		status                      int
		want                        string
	}{
		{"POST", "/v1/check", check, "Content-Encoding: gzip", 415, "Content-Encoding"},
		{"POST", "/v1/check", check, "Content-Encoding: br, gzip", 415, "br, gzip"},
		{"POST", "/v1/check", check, "Content-Encoding: x", 415, "Content-Encoding"},
		{"POST", "/", `["PING"]`, "Content-Encoding: deflate", 415, "Content-Encoding"},
		{"POST", "/v1/check", check, "Content-Encoding: identity", 200, ""},
		{"POST", "/v1/check", check, "Content-Type: application/json; charset=UTF-8", 200, ""},
		{"POST", "/v1/check", check, "Content-Type: application/json; charset=utf-16", 415, "UTF-8"},
		{"POST", "/v1/check", check, "Content-Type: text/plain", 415, "with --json"},
		{"POST", "/", `["PING"]`, "Upstash-Encoding: base64", 200, "UE9ORw"},
		{"POST", "/", `["PING"]`, "Upstash-Encoding: hex", 400, "Upstash-Encoding"},
		{"POST", "/v1/check?peek=true", check, "", 400, "peek=true"},
		{"POST", "/v1/check?", check, "", 400, "no parameters"},
		{"POST", "/v1/settle?tokens=1", check, "", 400, "tokens=1"},
		{"POST", "/v1/cancel?id=1", check, "", 400, "id=1"},
		{"POST", "/?_token=x", `["PING"]`, "", 400, "_token"},
		{"POST", "/pipeline?_token=x", `[["PING"]]`, "", 400, "_token"},
		{"POST", "/multi-exec?_token=x", `[["PING"]]`, "", 400, "_token"},
		{"GET", "/healthz?verbose", "", "", 400, "verbose"},
		{"GET", "/readyz?exclude=leader", "", "", 400, "exclude"},
		{"GET", "/openapi.json?x", "", "", 400, "no parameters"},
		{"GET", "/readyz", "{}", "", 400, "no body"},
		{"HEAD", "/readyz", "", "", 200, ""},
		{"POST", "/v1/auth?policy=api&id=1", "a=b", "Content-Encoding: gzip", 200, ""}, // of the request that it is about
		{"GET", "/v1/auth?policy=api&id=1&peek=1", "", "", 400, "peek"},
		{"GET", "/v1/auth?policy=api&id=", "", "", 400, "id: must not be empty"},
		{"GET", "/v1/auth?policy=api&id=1&tokens=", "", "", 400, "tokens: must not be empty"},
		{"GET", "/v1/auth?policy=api&id=1&with.x=", "", "", 400, "with.x: must not be empty"},
		{"POST", "/v1/check", `{"policy":"api","id":""}`, "", 400, "id: must not be empty"},
		{"POST", "/v1/check", `{"policy":"","id":"1"}`, "", 400, "policy: must not be empty"},
		{"POST", "/v1/check", `{"policy":"api","id":"1","tokens":0}`, "", 400, "between 1 and"},
		{"GET", "/v1/auth?policy=api&id=1&tokens=0", "", "", 400, "between 1 and"},
		{"POST", "/v1/check", `{"limits":[{"algorithm":"TB","key":"k","capacity":1,"rate":1}],"tokens":0}`, "", 400, "between 1 and"},
		{"POST", "/v1/check", `{"policy":"api","id":"1","as":"","for":"1m"}`, "", 400, "as: must not be empty"},
		{"POST", "/v1/check", `{"policy":"api","id":"1","with":{"a":""}}`, "", 400, "with.a: must not be empty"},
		{"POST", "/v1/check", `{"limits":[{"algorithm":"TB","key":"","capacity":1,"rate":1}]}`, "", 400, "limits[0].key: must not be empty"},
		{"POST", "/v1/settle", `{"id":"","tokens":1}`, "", 400, "id: must not be empty"},
		{"POST", "/v1/settle", `{"id":"x","costs":[""]}`, "", 400, "costs: must be an integer"},
		{"POST", "/v1/cancel", `{"id":""}`, "", 400, "id: must not be empty"},
	} {
		var fields []string
		if step.field != "" {
			fields = []string{step.field}
		}
		a := h.send(step.method, step.target, step.body, fields...)
		if a.status != step.status || !strings.Contains(a.body, step.want) || (a.header.Get("Accept-Encoding") == "identity") != (a.status == 415) {
			t.Errorf("%s %s %s %s: %d %s", step.method, step.target, step.body, step.field, a.status, a.body)
		}
	}
}

// Each path takes its method, a GET also as HEAD, and refuses all others with the one that it takes.
func TestMethods(t *testing.T) {
	h := serve(t)
	for path, to := range routes {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "get", "CHECK"} {
			a := h.send(method, path, "")
			taken := to.method == "" || to.method == method || to.method == "GET" && method == "HEAD"
			if taken != (a.status != 405) || !taken && a.header.Get("Allow") != to.method {
				t.Errorf("%s %s: %d, Allow: %s", method, path, a.status, a.header.Get("Allow"))
			}
		}
	}
}
