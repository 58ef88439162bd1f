package rls

import (
	"strings"
	"testing"
	"time"
)

const header = "domain: d\ndescriptors:\n"

// A mistake is refused with its line and a remedy.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty file", "", "f.yaml:1: the file is empty"},
		{"broken", "domain: d\ndescriptors: [", "f.yaml:2: "},
		{"a tab", "domain: d\n\tx: 1\n", "f.yaml:2: "},
		{"no domain", "descriptors: []\n", "f.yaml:1: the file needs a domain"},
		{"a list of domains", "domain: [a]\n", "f.yaml:1: must be one value, got a list"},
		{"two documents", header + "---\ndomain: e\n", "f.yaml:3: a second document"},
		{"a list at the top", "- domain: d\n", "f.yaml:1: must be names and values"},
		{"a wrong name", header + "  - key: a\n    ratelimit: {unit: day}\n", `f.yaml:4: unknown name "ratelimit", must be one of key, value, rate_limit`},
		{"a name in the wrong place", header + "  - key: a\n    rate_limit:\n      shadow_mode: true\n", `f.yaml:5: unknown name "shadow_mode"`},
		{"a number as a name", header + "  - key: a\n    0.25: 1\n", `f.yaml:4: unknown name "0.25"`},
		{"no key", header + "  - value: a\n", "f.yaml:3: a descriptor needs a key"},
		{"an empty key", header + "  - key: \"\"\n", "f.yaml:3: a descriptor needs a key"},
		{"text for a descriptor", header + "  - a\n", `f.yaml:3: must be names and values, one of key`},
		{"no list", "domain: d\ndescriptors: 7\n", `f.yaml:2: descriptors must be a list, got "7"`},
		{"the same twice", header + "  - key: a\n  - key: a\n", `f.yaml:4: the descriptor "d.a" is there twice`},
		{"the same value twice", header + "  - {key: a, value: b}\n  - {key: a, value: b}\n", `f.yaml:4: the descriptor "d.a_b" is there twice`},
		{"a name twice", header + "  - key: a\n    key: b\n", "f.yaml:4: key is there twice"},
		{"no unit", header + "  - key: a\n    rate_limit: {requests_per_unit: 1}\n", `f.yaml:4: unit must be one of second, minute, hour, day, week, month, year, got ""`},
		{"a wrong unit", header + "  - key: a\n    rate_limit:\n      unit: foo\n      requests_per_unit: 1\n", `f.yaml:5: unit must be one of second, minute, hour, day, week, month, year, got "foo"`},
		{"no number", header + "  - key: a\n    rate_limit: {unit: day}\n", "f.yaml:4: requests_per_unit is missing"},
		{"a negative number", header + "  - key: a\n    rate_limit: {unit: day, requests_per_unit: -1}\n", `f.yaml:4: requests_per_unit must be an integer between 0 and 4294967295, got "-1"`},
		{"too high a number", header + "  - key: a\n    rate_limit: {unit: day, requests_per_unit: 4294967296}\n", `got "4294967296"`},
		{"unlimited a day", header + "  - key: a\n    rate_limit: {unlimited: true, unit: day}\n", "f.yaml:4: unit has no effect together with unlimited"},
		{"maybe unlimited", header + "  - key: a\n    rate_limit: {unlimited: maybe}\n", `f.yaml:4: unlimited must be true or false, got "maybe"`},
		{"it replaces nothing", header + "  - key: a\n    rate_limit:\n      replaces:\n        - name:\n", "f.yaml:6: replaces needs the name"},
		{"it replaces itself", header + "  - key: a\n    rate_limit: {name: x, replaces: [{name: x}]}\n", `f.yaml:4: the limit "x" replaces itself`},
		{"no stars to share", header + "  - {key: a, value: b, share_threshold: true}\n", `f.yaml:3: share_threshold needs a value with a *, got "b"`},
		{"a wrong algorithm", header + "  - key: a\n    rate_limit: {unit: day, requests_per_unit: 1, algorithm: leaky-queue}\n", "f.yaml:4: algorithm must be one of gcra, token-bucket"},
		{"a policy a day", header + "  - key: a\n    rate_limit: {policy: p, unit: day}\n", "f.yaml:4: unit has no effect together with policy"},
		{"fields of no policy", header + "  - key: a\n    rate_limit: {unit: day, requests_per_unit: 1, with: [a]}\n", "f.yaml:4: with has no effect together with"},
		{"no field's name", header + "  - key: a\n    rate_limit: {policy: p, with: [\"a b\"]}\n", `f.yaml:4: with takes up to`},
		{"a bomb", bomb(), "the file expands to more than 200000 values"},
		{"a ring", "domain: d\ndescriptors: &x\n  - key: a\n    descriptors: *x\n", "nested more than 64 deep"},
		{"a ring of merges", header + "  - &x\n    key: a\n    <<: *x\n", "f.yaml:3: << is nested more than 64 deep"},
		{"deep", header + deep(65), "nested more than 64 deep"},
		{"a long file", strings.Repeat("#", MaxFileBytes+1), "f.yaml: 4194305 bytes are too many"},
	} {
		r := &Rules{}
		err := r.Add("f.yaml", []byte(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
		if domains, _ := r.Counts(); domains != 0 {
			t.Errorf("%s: the domain was kept", tc.name)
		}
	}
}

// bomb is a short file that stands for 10^7 descriptors.
func bomb() string {
	text := "domain: d\ndescriptors:\n  - key: a0\n    descriptors: &a0 [{key: x}]\n"
	for i := range 7 {
		this, before := string(rune('1'+i)), string(rune('0'+i))
		text += "  - key: a" + this + "\n    descriptors: &a" + this + "\n"
		for j := range 10 {
			text += "      - {key: k" + string(rune('0'+j)) + ", descriptors: *a" + before + "}\n"
		}
	}
	return text
}

// deep returns descriptors nested a number of levels deep.
func deep(levels int) string {
	return "  - " + strings.Repeat("{key: a, descriptors: [", levels) + strings.Repeat("]}", levels) + "\n"
}

// Two files with the same domain are refused, and the error names both.
func TestDomainTwice(t *testing.T) {
	r := &Rules{}
	if err := r.Add("a.yaml", []byte("domain: d\n")); err != nil {
		t.Fatal(err)
	}
	err := r.Add("b.yaml", []byte("domain: d\n"))
	if err == nil || !strings.Contains(err.Error(), `b.yaml: the domain "d" is in a.yaml already`) {
		t.Error(err)
	}
}

// Anchors, aliases and merges are replaced by their values.
func TestAliases(t *testing.T) {
	r := rules(t, `
domain: d
descriptors:
  - key: a
    rate_limit: &hourly {unit: hour, requests_per_unit: 7}
  - key: b
    rate_limit: *hourly
  - key: c
    rate_limit:
      <<: *hourly
      requests_per_unit: 8
  - &d
    key: d
    shadow_mode: true
    rate_limit: {<<: [*hourly], name: d}
`)
	for key, want := range map[string]uint32{"a": 7, "b": 7, "c": 8, "d": 7} {
		rule := r.domains["d"].match([]Entry{{key, ""}}).rule
		if rule == nil || rule.Requests != want || rule.Unit != Hour {
			t.Errorf("%s: %+v, want %d an hour", key, rule, want)
		}
	}
}

func rules(t *testing.T, text string) *Rules {
	t.Helper()
	r := &Rules{}
	if err := r.Add("f.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

// A star stands for any bytes, including none.
func TestStars(t *testing.T) {
	for pattern, values := range map[string]map[string]bool{
		"a*":      {"a": true, "ab": true, "b": false, "": false},
		"*a":      {"a": true, "ba": true, "ab": false},
		"a*a":     {"a": false, "aa": true, "aba": true, "ab": false},
		"a*b*a":   {"aba": true, "abba": true, "aa": false, "a-b-a": true, "aXa": false},
		"*":       {"": true, "x": true},
		"**":      {"": true, "x": true},
		"ab*bc":   {"abc": false, "abbc": true},
		"a*bc*cd": {"abcd": false, "abccd": true},
	} {
		w := wildcard{parts: strings.Split(pattern, "*")}
		for value, want := range values {
			if got := w.matches(value); got != want {
				t.Errorf("%s matches %q: %t", pattern, value, got)
			}
		}
	}
}

// No two descriptors have the same key.
func TestKeys(t *testing.T) {
	r := rules(t, `
domain: a:b
descriptors:
  - key: k
    rate_limit: {unit: day, requests_per_unit: 1}
    descriptors:
      - key: l
        rate_limit: {unit: day, requests_per_unit: 1, algorithm: sliding-window}
  - key: k=l
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: p
    value: /x/*
    share_threshold: true
    rate_limit: {unit: day, requests_per_unit: 1}
`)
	for _, tc := range []struct {
		entries []Entry
		want    string
	}{
		{[]Entry{{"k", "v"}}, "rls.a%3Ab:k=v"},
		{[]Entry{{"k", "v|l=w"}}, "rls.a%3Ab:k=v%7Cl=w"},
		{[]Entry{{"k", "v"}, {"l", "w%"}}, "rls.a%3Ab:k=v|l=w%25|SW"},
		{[]Entry{{"k=l", ""}}, "rls.a%3Ab:k%3Dl="},
		{[]Entry{{"p", "/x/1"}}, "rls.a%3Ab:p=/x/*"},
		{[]Entry{{"k", "::1"}}, "rls.a%3Ab:k=::1"},
	} {
		p, err := r.Plan(&Request{"a:b", []Descriptor{{Entries: tc.entries, Hits: 1}}, 4096}, time.Unix(0, 0))
		if err != nil || len(p.Commands) != 1 {
			t.Errorf("%v: %v, %d commands", tc.entries, err, len(p.Commands))
		} else if got := p.key(0); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.entries, got, tc.want)
		}
	}
}

// A request that no rule can answer is refused.
func TestInvalidRequests(t *testing.T) {
	one := Descriptor{Entries: []Entry{{"k", "v"}}, Hits: 1}
	for want, req := range map[string]*Request{
		"its domain is empty":             {"", []Descriptor{one}, 4096},
		"it has no descriptors":           {"d", nil, 4096},
		"it has 65 descriptors":           {"d", make([]Descriptor, 65), 4096},
		"the hits_addend of descriptor 1": {"d", []Descriptor{one, {Hits: 1<<64 - 1}}, 4096},
		"the limit of descriptor 0":       {"d", []Descriptor{{Override: &Override{Requests: 1}}}, 4096},
	} {
		if _, err := (&Rules{}).Plan(req, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzAdd reads arbitrary files: a mistake is an error, never a panic, and rules that were read can be asked.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(bomb()), "a", "b")
	f.Add([]byte(header+"  - {key: a, value: b*, rate_limit: {unit: day, requests_per_unit: 1}}\n"), "a", "bc")
	f.Add([]byte(header+"  - &x\n    key: a\n    <<: *x\n"), "a", "")
	f.Fuzz(func(t *testing.T, text []byte, key, value string) {
		r := &Rules{}
		if err := r.Add("f.yaml", text); err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Error(err)
			}
			return
		}
		for name := range r.domains {
			if _, err := r.Plan(&Request{name, []Descriptor{{Entries: []Entry{{key, value}}, Hits: 1}}, 4096}, time.Unix(0, 0)); err != nil {
				t.Error(err)
			}
		}
	})
}
