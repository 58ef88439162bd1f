package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// document is the part of openapi.json that is compared with the answers.
type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Parameters  []struct{ Name string }
	RequestBody struct{ Content content }
	Responses   map[string]struct {
		Headers map[string]any
		Content content
	}
}

type content map[string]struct{ Schema schema }

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Properties           map[string]schema
	Required             []string
	Items                *schema
	AdditionalProperties any
	OneOf                []schema
}

func readDocument(t *testing.T, h *host) (d document) {
	a := h.send(http.MethodGet, "/openapi.json", "")
	if err := json.Unmarshal([]byte(a.body), &d); err != nil || a.status != 200 {
		t.Fatal(a.status, err)
	}
	return d
}

// fits returns why a value is not one of a schema, or "".
func (d *document) fits(s schema, v any, at string) string {
	if name, is := strings.CutPrefix(s.Ref, "#/components/schemas/"); is {
		s = d.Components.Schemas[name]
	}
	for i := range s.OneOf {
		why := d.fits(s.OneOf[i], v, at)
		if why == "" || i == len(s.OneOf)-1 {
			return why
		}
	}
	if s.Type == "" {
		return "" // anything
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, is := v[name]; !is {
				return at + "." + name + " is missing"
			}
		}
		for name, member := range v {
			is, known := s.Properties[name]
			if !known {
				return at + "." + name + " is not in the document"
			}
			if why := d.fits(is, member, at+"."+name); why != "" {
				return why
			}
		}
		return mismatch(s, "object", at)
	case []any:
		for i, item := range v {
			if why := d.fits(*s.Items, item, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return mismatch(s, "array", at)
	case string:
		return mismatch(s, "string", at)
	case bool:
		return mismatch(s, "boolean", at)
	case float64:
		return mismatch(s, "integer", at)
	}
	return at + " is null"
}

func mismatch(s schema, kind, at string) string {
	if s.Type != kind {
		return at + " is a " + kind + ", not a " + s.Type
	}
	return ""
}

// The document has the paths, methods, parameters and request fields that there are, and no others.
func TestDocumentNamesWhatThereIs(t *testing.T) {
	d := readDocument(t, serve(t))
	if got, want := slices.Sorted(maps.Keys(d.Paths)), slices.Sorted(maps.Keys(routes)); !slices.Equal(got, want) {
		t.Errorf("paths: %v, the routes are %v", got, want)
	}
	for path, r := range routes {
		method := strings.ToLower(r.method)
		if method == "" {
			method = "get" // the document names the usual one
		}
		if _, is := d.Paths[path][method]; !is || len(d.Paths[path]) != 1 {
			t.Errorf("%s: %v, the method is %s", path, slices.Collect(maps.Keys(d.Paths[path])), method)
		}
	}
	var names []string
	for _, p := range d.Paths[authPath]["get"].Parameters {
		names = append(names, p.Name)
	}
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(parameters))) {
		t.Errorf("parameters: %v, not %v", names, parameters)
	}
}

// Each field of a request that the document names is taken, and one more is not.
func TestDocumentOfRequests(t *testing.T) {
	h := serve(t)
	d := readDocument(t, h)
	for path, name := range map[string]string{"/v1/check": "Check", "/v1/atmost": "AtMost", "/v1/extend": "Extend", "/v1/settle": "Settle", "/v1/cancel": "Cancel", "/v1/usage": "UsageOf"} {
		if ref := d.Paths[path]["post"].RequestBody.Content["application/json"].Schema.Ref; ref != "#/components/schemas/"+name {
			t.Errorf("%s takes %s", path, ref)
		}
		for field := range d.Components.Schemas[name].Properties {
			if a := h.post(path, `{"policy":"p","id":"x","`+field+`":null}`); strings.Contains(a.body, field+": is not a field") {
				t.Errorf("%s: %s is in the document, but not taken", path, field)
			}
		}
	}
}

// Every kind of answer is in the document, with its status, fields and body.
func TestDocumentOfAnswers(t *testing.T) {
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 1 1/h", "RL.POLICY SET wrong FW u:1 1 1m")
	d := readDocument(t, h)
	seen := map[string]bool{}
	for _, step := range []struct{ method, path, body, header string }{
		{http.MethodPost, "/v1/check", `{"policy":"api","id":"1","as":"call","for":"1m"}`, ""},
		{http.MethodPost, "/v1/check", `{"policy":"api","id":"1"}`, ""},
		{http.MethodPost, "/v1/check", `{"policy":"wrong","id":"1"}`, ""},
		{http.MethodPost, "/v1/check", `{"policy":"nosuch","id":"1"}`, ""},
		{http.MethodPost, "/v1/check", `{`, ""},
		{http.MethodPost, "/v1/check", `{}`, "Authorization: Bearer x:y"},
		{http.MethodPost, "/v1/check", `{}`, "Host: example.com"},
		{http.MethodPost, "/v1/check", strings.Repeat(" ", maxBodyBytes+1), ""},
		{http.MethodPost, "/v1/check", `{}`, "Content-Type: text/plain"},
		{http.MethodPost, "/v1/check", `{"limits":[{"algorithm":"TB","key":"b","capacity":9,"rate":"1/h"}],"as":"long","for":"1m"}`, ""},
		{http.MethodPost, "/v1/extend", `{"id":"long","n":1,"tokens":3}`, ""},
		{http.MethodPost, "/v1/extend", `{"id":"long","n":2,"tokens":6}`, ""},
		{http.MethodPost, "/v1/extend", `{"id":"long","n":3,"tokens":6}`, ""},
		{http.MethodPost, "/v1/extend", `{"id":"none","n":1,"tokens":3}`, ""},
		{http.MethodPost, "/v1/atmost", `{"algorithm":"TB","key":"believed","capacity":100,"rate":"10/s","tokens":40}`, ""},
		{http.MethodPost, "/v1/settle", `{"id":"call","tokens":1}`, ""},
		{http.MethodPost, "/v1/settle", `{"id":"none","tokens":1}`, ""},
		{http.MethodPost, "/v1/cancel", `{"id":"none"}`, ""},
		{http.MethodPost, "/v1/check", `{"limits":[{"algorithm":"FW","key":"kept","limit":5,"window":"@day","history":3}]}`, ""},
		{http.MethodPost, "/v1/usage", `{"key":"kept"}`, ""},
		{http.MethodPost, "/v1/usage", `{"key":"u:1"}`, ""},
		{http.MethodPost, "/v1/usage", `{"policy":"api","id":"1"}`, ""},
		{http.MethodPost, "/v1/usage", `{"policy":"api","cursor":0}`, ""},
		{http.MethodPost, "/v1/usage", `{"key":"none"}`, ""},
		{http.MethodGet, "/v1/auth?policy=api&id=2", "", ""},
		{http.MethodGet, "/v1/auth?policy=api&id=2", "", ""},
		{http.MethodGet, "/v1/auth?policy=nosuch&id=2", "", ""},
		{http.MethodPost, "/", `["ECHO","x"]`, ""},
		{http.MethodPost, "/", `["NOSUCH"]`, ""},
		{http.MethodPost, "/", `["ECHO","x"]`, "Authorization: Bearer x:y"},
		{http.MethodPost, "/", `["ECHO","x"]`, "Origin: https://example.com"},
		{http.MethodPost, "/", `["ECHO","x"]`, "Content-Type: text/plain"},
		{http.MethodPost, "/pipeline", `[["ECHO","x"],["NOSUCH"]]`, ""},
		{http.MethodPost, "/multi-exec", `[["INCR","n"]]`, ""},
		{http.MethodPost, "/multi-exec", `[["NOSUCH"]]`, ""},
		{http.MethodGet, "/healthz", "", ""},
		{http.MethodGet, "/readyz", "", ""},
	} {
		a := h.send(step.method, step.path, step.body, slices.DeleteFunc([]string{step.header}, func(h string) bool { return h == "" })...)
		path, _, _ := strings.Cut(step.path, "?")
		seen[fmt.Sprint(path, a.status)] = true
		response, is := d.Paths[path][strings.ToLower(step.method)].Responses[fmt.Sprint(a.status)]
		if !is {
			t.Errorf("%s %s: %d is not in the document", step.path, step.body, a.status)
			continue
		}
		for _, field := range []string{"RateLimit", "RateLimit-Policy", "Retry-After"} {
			if _, is := response.Headers[field]; is != (a.header.Get(field) != "") {
				t.Errorf("%s %d: %s: %q, in the document: %v", step.path, a.status, field, a.header.Get(field), is)
			}
		}
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		body, is := response.Content[kind]
		if is != (a.body != "") {
			t.Errorf("%s %d: %q is not in the document", step.path, a.status, kind)
		}
		if !strings.HasSuffix(kind, "json") {
			continue
		}
		if why := d.fits(body.Schema, h.read(a), "body"); why != "" {
			t.Errorf("%s %d: %s: %s", step.path, a.status, why, a.body)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d kinds of answers", len(seen))
	}
}
