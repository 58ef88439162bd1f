package grouping

import (
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
)

// policyOp is a SetPolicy, or with an id a SetOverride, of keys, each behind the word of its algorithm.
func policyOp(t *testing.T, id string, limitsOf ...string) *engine.Op {
	t.Helper()
	kinds := map[string]limits.Limit{
		"TB": {Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 1e9}}, "SW": {Algorithm: limits.SlidingWindow, Capacity: 5, Rate: limits.Rate{Period: 1e9}},
		"FH": {Algorithm: limits.FixedWindow, Capacity: 5, Span: limits.EachDay, History: 3},
	}
	op := &engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Options: engine.NamedFields}
	if id != "" {
		op.Verb, op.Who = engine.SetOverride, []byte(id)
	}
	for _, text := range limitsOf {
		word, key, _ := strings.Cut(text, " ")
		op.Parts = append(op.Parts, engine.Op{Key: []byte(key), Limit: kinds[word]})
	}
	if text, err := op.CheckTemplates(); err != nil {
		t.Fatal(string(text), err)
	}
	return op
}

// A policy is refused exactly if its keys are not in one group for every caller.
func TestDividedPolicies(t *testing.T) {
	const no, yes, escaped = "", "divided", "escaped"
	for _, c := range []struct {
		shared, id string
		limits     []string
		want       string
	}{
		{limits: []string{"TB user:{}"}, want: no},
		{limits: []string{"TB {a}:{b}:{}"}, want: no},
		{limits: []string{"TB user:{}", "TB everyone"}, want: yes},
		{limits: []string{"TB user:{}", "TB minute:{}"}, want: yes},
		{limits: []string{"TB user:{{{}}}", "TB minute:{{{}}}"}, want: no},
		{limits: []string{"TB user:{{{}}}", "TB minute:{{{}}}", "TB hour:{}"}, want: yes},
		{limits: []string{"TB {{{}}}", "TB user:{}"}, want: yes},
		{limits: []string{"TB {{{}}}", "TB user"}, want: yes},
		{limits: []string{"TB {{acme}}:user:{}", "TB {{acme}}", "SW {{acme}}:{x}"}, want: no},
		{limits: []string{"TB {{acme}}:user:{}", "TB acme"}, want: no},   // a tag has the slot of its text
		{limits: []string{"TB {{acme}}:user:{}", "TB {{b}}"}, want: yes}, // another slot
		{limits: []string{"TB user:{}:{{acme}}", "TB {{acme}}"}, want: yes},
		{limits: []string{"TB {{}}{{x}}:{}", "TB x"}, want: yes}, // an empty tag is none
		{limits: []string{"TB {{{}:a", "TB {{{}:b"}, want: yes},  // nothing closes the tag
		{limits: []string{"TB {{a{}}}:1", "TB {{a{}}}:2"}, want: no},
		{limits: []string{"TB {{a{}}}:1", "TB {{b{}}}:2"}, want: yes},
		{limits: []string{"TB {{{t}}}:a:{}", "TB {{{t}}}:b"}, want: no},
		{limits: []string{"TB {{{t}}}:a:{}", "TB {{{u}}}:b"}, want: yes},
		{limits: []string{"TB {{{t}:{}}}:a", "TB {{{t}:{}}}:b"}, want: no},
		{limits: []string{"TB {{{t}:{}}}:a", "TB {{{t}}}:b"}, want: yes},
		{limits: []string{"TB {{{}}}:a", "TB {{{}}}:b:{m}"}, want: escaped},
		{limits: []string{"TB {{{}}}:a", "TB {{{}}}:b:{m}", "TB c"}, want: escaped},
		{limits: []string{"TB {{{}}}:a:{n}", "TB {{{}}}:b:{m}"}, want: no},
		{limits: []string{"TB a", "TB b"}, want: yes}, // groups 2 and 1

		{id: "y", limits: []string{"TB user:{}", "TB everyone"}, want: yes}, // user:y is in another group,
		{id: "x", limits: []string{"TB {{{}}}:a", "TB x"}, want: no},
		{id: "x", limits: []string{"TB {}", "TB {{x}}"}, want: no},
		{id: "x:y", limits: []string{"TB {{{}}}:a", "TB {{{}}}:b:{m}"}, want: yes}, // {x:y} and {x%3Ay}
		{id: "xy", limits: []string{"TB {{{}}}:a", "TB {{{}}}:b:{m}"}, want: no},
		{id: "{z}", limits: []string{"TB a{}", "TB {{z}}:{f}"}, want: no},

		{shared: "everyone", limits: []string{"TB user:{}", "TB everyone"}, want: no},
		{shared: "every*,global:*", limits: []string{"TB user:{}", "TB everyone", "TB global:a"}, want: no},
		{shared: "other:*", limits: []string{"TB user:{}", "TB everyone"}, want: yes},
		{shared: "everyone", limits: []string{"TB user:{}", "SW everyone"}, want: yes},
		{shared: "everyone", limits: []string{"TB user:{}", "FH everyone"}, want: yes},
		{shared: "everyone", limits: []string{"SW user:{}", "TB everyone"}, want: no},
		{shared: "everyone", limits: []string{"TB user:{}", "TB minute:{}", "TB everyone"}, want: yes},
		{shared: "tenant:*", limits: []string{"TB user:{}", "TB tenant:{t}"}, want: no},
		{shared: "tenant:a*", limits: []string{"TB user:{}", "TB tenant:{t}"}, want: yes}, // only the tenants with an a
		{shared: "tenant:?", limits: []string{"TB user:{}", "TB tenant:{t}"}, want: yes},
		{shared: "tenant:a*", id: "all", limits: []string{"TB user:{}", "TB tenant:{}"}, want: no},
		{shared: "*", limits: []string{"TB a:{}", "TB b:{}", "TB c"}, want: no},
		{shared: "*", limits: []string{"TB a:{}", "SW b:{}"}, want: yes}, // the first one's group decides
		{shared: "*", limits: []string{"SW b:{}", "TB a:{}"}, want: no},
	} {
		g := Groups{Count: 3}
		if c.shared != "" {
			g.Shared = strings.Split(c.shared, ",")
		}
		got := no
		if d := g.Divide(policyOp(t, c.id, c.limits...)); d != nil {
			if got = yes; d.Escaped {
				got = escaped
			}
		}
		if got != c.want {
			t.Errorf("%q of %q, shared %q: %q, want %q", c.limits, c.id, c.shared, got, c.want)
		}
		for _, count := range []int{0, 1} {
			if d := (&Groups{Count: count, Shared: g.Shared}).Divide(policyOp(t, c.id, c.limits...)); d != nil {
				t.Errorf("%q with %d groups: %v", c.limits, count, d)
			}
		}
	}
}

// No values that are tried divide a policy that is taken, but for those that begin with }.
func TestDividedByTrying(t *testing.T) {
	keys := []string{"a", "b:{}", "{}", "{x}", "{{{}}}", "k{{{}}}", "{{{}}}:{x}", "j{{{}}}:{x}", "{{{x}}}", "{{{x}}}:{}", "{{a}}", "{{a}}:{}", "{}:{{a}}", "{{{x}:{}}}", "l{{{x}:{}}}", "{{a{}}}", "m{{a{}}}", "{{}}", "{{{}", "g:{}", "g:{x}"}
	values := []string{"a", "b", "{", "}", "{}", "{a}", "a{b}", "a}b", "%", ":", "a:b", "}}", "{{}", "zz"}
	g := Groups{Count: 7, Shared: []string{"g:*"}}
	taken, refused := 0, 0
	for _, one := range keys {
		for _, other := range keys {
			if one == other { // which no policy may have
				continue
			}
			op := policyOp(t, "", "TB "+one, "TB "+other)
			divided := ""
			var parts []engine.Template
			for i := range op.Parts {
				part, _ := engine.ParseTemplate(op.Parts[i].Key)
				parts = append(parts, part)
			}
			for _, id := range values {
				for _, x := range values {
					groups := map[int]bool{}
					for i := range parts {
						if key, _ := parts[i].AppendTo(nil, []byte(id), [][]byte{[]byte("x"), []byte(x)}); !glob.Match("g:*", string(key)) {
							groups[slot.GroupOf(slot.Of(key), g.Count)] = true
						}
					}
					if len(groups) > 1 && id[0] != '}' && x[0] != '}' {
						divided = id + " and " + x
					}
				}
			}
			d := g.Divide(op)
			if d == nil && divided != "" {
				t.Errorf("%s and %s are taken, and divided for %s", one, other, divided)
			}
			if d == nil {
				taken++
			} else if refused++; divided == "" && !strings.Contains(one+other, "}:{{a}}") {
				t.Errorf("%s and %s are refused, and no values divide them", one, other)
			}
		}
	}
	if taken < 40 || refused < 40 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}
