package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/servertest"
)

// A word of the grammar that stands in any field of any request is refused, or is data like any other text: the answers
// to several requests, up to a denial, are those to a word that no command knows. An option would show in the tokens
// that are left, or in a denial.
func TestNoValueIsAWordOfTheGrammar(t *testing.T) {
	service := new(Service)
	h := serveBy(t, service)
	d := readDocument(t, h)
	caller := connTo(t, service.gateway)
	words := servertest.GrammarWords()
	if len(words) < 100 || !slices.Contains(words, "PEEK") || !slices.Contains(words, "costs") {
		t.Fatal(words)
	}
	covered := map[string]bool{}
	for _, r := range requestsToTry(d) {
		for _, field := range r.fields {
			covered[r.path+" "+field] = true
			want := h.answersTo(service, caller, r, field, "zqx")
			for _, word := range words {
				if isWholeValue(field, word) {
					continue
				}
				if got := h.answersTo(service, caller, r, field, word); got != want {
					t.Errorf("%s, %s = %q:\n%s\nand of another word\n%s", r.path, field, word, got, want)
				}
			}
		}
	}
	for path, name := range map[string]string{"/v1/check": "Check", "/v1/atmost": "AtMost", "/v1/extend": "Extend", "/v1/settle": "Settle", "/v1/cancel": "Cancel", "/v1/usage": "UsageOf"} {
		for field := range d.Components.Schemas[name].Properties {
			if !covered[path+" "+field] {
				t.Errorf("%s: no case has a word as %s", path, field)
			}
		}
	}
	for _, name := range append(slices.Clone(parameters), "with.tenant", "with-header.tenant") {
		if !covered[authPath+" "+name] {
			t.Errorf("%s: no case has a word as %s", authPath, name)
		}
	}
}

// isWholeValue reports whether a word is one of those that a field is there for.
func isWholeValue(field, word string) bool {
	_, isAlgorithm := limiter.SpecArguments(word)
	return strings.HasSuffix(field, "algorithm") && isAlgorithm
}

// attempt is a request in which one field after the other becomes a word.
type attempt struct {
	path   string
	body   string // in JSON; the query of authPath
	header string // of authPath, the value of X-Value
	fields []string
}

// requestsToTry has each field of each path, each limit with its arguments and options among them.
func requestsToTry(d document) []attempt {
	const check = "/v1/check"
	all := []attempt{
		{path: check, body: `{"policy":"api","id":"x","tokens":1,"keep":0,"with":{"tenant":"t"}}`, fields: []string{"policy", "id", "tokens", "keep", "with", "with.tenant"}},
		{path: check, body: `{"policy":"api","id":"x","max_wait":"1s","as":"a","for":"1m","with":{"tenant":"t"}}`, fields: []string{"id", "max_wait", "as", "for"}},
		{path: check, body: `{"policy":"api","id":"x","peek":false,"with":{"tenant":"t"}}`, fields: []string{"peek"}},
		{path: check, body: `{"limits":[{"algorithm":"TB","key":"k","capacity":2,"rate":"1/h"}],"tokens":1,"max_wait":"1s"}`, fields: []string{"limits", "tokens", "max_wait"}},
		{path: "/v1/extend", body: `{"id":"a","n":1,"tokens":1,"up_to":true,"for":"1m"}`, fields: []string{"id", "n", "tokens", "up_to", "for"}},
		{path: "/v1/atmost", body: `{"algorithm":"TB","key":"k","capacity":2,"rate":"1/h","tokens":1}`, fields: []string{"algorithm", "key", "capacity", "rate", "tokens"}},
		{path: "/v1/settle", body: `{"id":"a","tokens":1}`, fields: []string{"id", "tokens"}},
		{path: "/v1/settle", body: `{"id":"a","costs":[1]}`, fields: []string{"costs", "costs.0"}},
		{path: "/v1/cancel", body: `{"id":"a"}`, fields: []string{"id"}},
		{path: "/v1/usage", body: `{"key":"a"}`, fields: []string{"key"}},
		{path: "/v1/usage", body: `{"policy":"api","id":"x","with":{"tenant":"t"}}`, fields: []string{"policy", "id", "with", "with.tenant"}},
		{path: "/v1/usage", body: `{"policy":"api","cursor":0,"count":9}`, fields: []string{"policy", "cursor", "count"}},
		{path: authPath, body: "policy=api&id=x&tokens=1&keep=0&deny=403&with.tenant=t", fields: []string{"policy", "id", "tokens", "keep", "deny", "with.tenant"}},
		{path: authPath, body: "policy=api&id-header=X-Value&with-header.tenant=X-Value", header: "v", fields: []string{"id-header", "with-header.tenant", "X-Value"}},
	}
	example := map[string]any{"key": "k", "capacity": 2, "rate": "1/h", "limit": 2, "window": "1h", "max_burst": 1, "count": 1, "period": 3600, "ttl": "1h", "holder": "me", "member": "me",
		"min": "1/h", "max": "1/h", "rate_capacity": 2, "ceil_capacity": 2, "ceil": "1/h", "denials": 2, "ban": "1h"}
	options := map[string]any{"cost": 1, "keep": 0, "weight": 1, "tz": "Asia/Tokyo", "from": 3, "history": 2, "rollover": "50%", "segments": 6, "doubling": "1d", "warn": "80%", "spread": true}
	for _, word := range limiter.SpecWords() {
		limit := map[string]any{"algorithm": word}
		names, _ := limiter.SpecArguments(word)
		for _, name := range names {
			limit[name] = example[name]
		}
		fields := append(names, "algorithm")
		for _, option := range limiter.SpecOptions() {
			name := strings.ToLower(string(option.Word))
			if with := maps.Clone(limit); options[name] != nil {
				with[name] = options[name]
				all = append(all, limitsAttempt(with, []string{name}))
			}
		}
		all = append(all, limitsAttempt(limit, fields))
	}
	return all
}

func limitsAttempt(limit map[string]any, fields []string) attempt {
	limits := []any{limit}
	if limit["algorithm"] == "HT" {
		limits = append(limits, map[string]any{"algorithm": "UNDER", "key": "p", "capacity": 2, "rate": "1/h"})
	}
	body, _ := json.Marshal(map[string]any{"limits": limits})
	a := attempt{path: "/v1/check", body: string(body)}
	for _, name := range fields {
		a.fields = append(a.fields, "limits.0."+name)
	}
	return a
}

// answersTo are the answers of a new server to a request, five times: the statuses, and the decisions if there are any.
func (h *host) answersTo(service *Service, caller *gateway.Conn, r attempt, field, word string) (all string) {
	h.run("FLUSHALL", "RL.POLICY SET api TB u:{tenant}:{} 2 1/m TB t:{tenant} 9 1/m", "TB.ACQUIRE k:a 5 1/h 2 AS a FOR 1h")
	target, body, header := r.path, "", r.header
	if r.path == authPath {
		query, err := url.ParseQuery(r.body)
		if err != nil {
			h.Fatal(err)
		}
		if field == "X-Value" {
			header = word
		} else {
			query.Set(field, word)
		}
		target += "?" + query.Encode()
	} else {
		var v any
		if err := json.Unmarshal([]byte(r.body), &v); err != nil {
			h.Fatal(err)
		}
		text, err := json.Marshal(replaced(v, strings.Split(field, "."), word))
		if err != nil {
			h.Fatal(err)
		}
		body = string(text)
	}
	for range 3 { // the policy grants two
		in := httptest.NewRequestWithContext(context.WithValue(context.Background(), connKey{}, caller), http.MethodPost, "http://localhost"+target, strings.NewReader(body))
		in.Header.Set("Content-Type", typeJSON)
		in.Header["X-Value"] = []string{header}
		w := httptest.NewRecorder()
		service.ServeHTTP(w, in)
		all += fmt.Sprint(w.Code)
		if decided := w.Body.String(); strings.Contains(decided, `"allowed"`) {
			all += decided
		}
		all += "\n"
	}
	return all
}

// replaced is a value with a word at a path.
func replaced(v any, at []string, word string) any {
	if len(at) == 0 {
		return word
	}
	switch v := v.(type) {
	case map[string]any:
		v[at[0]] = replaced(v[at[0]], at[1:], word)
	case []any:
		v[0] = replaced(v[0], at[1:], word)
	}
	return v
}
