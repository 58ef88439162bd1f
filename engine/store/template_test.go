package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// fields are names and values by turns.
func fields(words ...string) (all [][]byte) {
	for _, w := range words {
		all = append(all, []byte(w))
	}
	return all
}

func TestTemplates(t *testing.T) {
	long := strings.Repeat("n", engine.MaxFieldName)
	given := fields("tenant", "ac:me", "model", "50%", "A-b_9", "", long, "x")
	for _, c := range []struct{ text, named, literal string }{ // the keys of the caller "u:%"; "" is refused
		{"k", "k", "k"},
		{"", "", ""},
		{"u:{}", "u:u:%", "u:u:%"},
		{"{}", "u:%", "u:%"},
		{"tpm:{tenant}:{}", "tpm:ac%3Ame:u%3A%25", "tpm:{tenant}:u:%"},
		{"{tenant}:{model}", "ac%3Ame:50%25", "{tenant}:{model}"},
		{"{tenant}-:-{model}", "ac%3Ame-:-50%25", "{tenant}-:-{model}"},
		{"{A-b_9}:%:{}", ":%:u%3A%25", "{A-b_9}:%:u:%"},
		{"{" + long + "}", "x", "{" + long + "}"},
		{"{{tenant}}:{}", "{tenant}:u:%", "{{tenant}}:u:%"},
		{"{{}}", "{}", "{u:%}"},
		{"{{{}}}", "{u:%}", "{{u:%}}"},
		{"{{{tenant}}}", "{ac%3Ame}", "{{{tenant}}}"},
		{"}}{{", "}{", "}}{{"},
	} {
		for named, want := range map[bool]string{true: c.named, false: c.literal} {
			tmpl, err := engine.ReadTemplate([]byte(c.text), named)
			got, missing := tmpl.AppendTo(nil, []byte("u:%"), given)
			if err != nil || string(got) != want || missing != "" {
				t.Errorf("%s, named %t: %s, want %s; %v, missing %q", c.text, named, got, want, err, missing)
			}
		}
	}
	for text, reason := range map[string]string{
		"{": "each {", "}": "each {", "a{b": "each {", "a}b": "each {", "{}}": "each {", "{{}": "each {", "{{{}}": "each {", "{ten ant}": "each {", "{a{b}": "each {", "{é}": "each {",
		"{n" + long + "}": "at most 64 letters",
		"{}:{}":           "{} may stand only once", "{a}:{b}:{a}": "{a} may stand only once",
		"{a}{b}": "a : must stand between {a} and {b}", "{a}{}": "between {a} and {}", "{}/{a}": "between {} and {a}", "{a}:{b}%3A{c}": "between {b} and {c}",
	} {
		if _, err := engine.ReadTemplate([]byte(text), true); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %s", text, err, reason)
		}
	}
	for text, want := range map[string]bool{"": false, "k": false, "u:{}": false, "{a}": true, "{{": true, "u:{}}": true, "{{}}": true, "{}{}": true} {
		if engine.HasNames([]byte(text)) != want {
			t.Errorf("%s has names: %t", text, !want)
		}
	}
	tmpl, _ := engine.ReadTemplate([]byte("a:{b}:{c}:{}"), true)
	if got, missing := tmpl.AppendTo(nil, []byte("i"), fields("c", "x")); string(got) != "a:{b}:x:i" || missing != "b" {
		t.Errorf("without a field: %s, missing %s", got, missing)
	}
}

// randomText is of pieces that matter in templates and values.
func randomText(r *rand.Rand, pieces []string) []byte {
	var b []byte
	for range r.IntN(7) {
		b = append(b, pieces[r.IntN(len(pieces))]...)
	}
	return b
}

// In every template that is accepted, different values make different keys: none can be joined into another. And each
// template, once written, is read as the same.
func TestDifferentValuesMakeDifferentKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 3))
	several := 0
	for range 20_000 {
		text := randomText(r, []string{"{}", "{a}", "{b}", "{c}", ":", ":", "::", "%", "%3A", "{{", "}}", "a", "x:y", "/"})
		tmpl, err := engine.ReadTemplate(text, true)
		if err != nil || len(tmpl.Places) == 0 {
			continue
		}
		if again := tmpl.Written(true); !bytes.Equal(again, text) {
			t.Fatalf("%s is written as %s", text, again)
		}
		if len(tmpl.Places) > 1 {
			several++
		}
		made := map[string][]string{}
		for range 60 {
			values := map[string][]byte{}
			given, tuple := [][]byte{}, []string{}
			for _, p := range tmpl.Places {
				v := randomText(r, []string{":", "%", "%3A", "%25", "3A", "a", "{b}", "/", "x:y"})
				values[p.Name] = v
				given, tuple = append(given, []byte(p.Name), v), append(tuple, string(v))
			}
			key, missing := tmpl.AppendTo(nil, values[""], given)
			if before, known := made[string(key)]; missing != "" || known && !slices.Equal(before, tuple) {
				t.Fatalf("%s with %q and with %q is %s, missing %q", text, before, tuple, key, missing)
			}
			made[string(key)] = tuple
			id, read, ok := tmpl.Values(key)
			for i, p := range tmpl.Places {
				v, found := engine.FieldOf(read, p.Name)
				if p.Name == "" {
					v, found = id, true
				}
				if !ok || !found || string(v) != tuple[i] {
					t.Fatalf("%s: %s is of %q and %q, not of %q", text, key, id, read, tuple)
				}
			}
		}
	}
	if several < 300 {
		t.Errorf("only %d templates had several places", several)
	}
}

// A template of release 0.1.0 is shown in a form that makes the same keys when it is set again.
func TestLiteralTemplatesCanBeSetAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	for range 20_000 {
		text := randomText(r, []string{"{}", "{", "}", "{a}", "{{", "}}", ":", "x"})
		before, _ := engine.ReadTemplate(text, false)
		if again := before.Written(false); !bytes.Equal(again, text) {
			t.Fatalf("%s is written as %s", text, again)
		}
		after, err := engine.ReadTemplate(before.Written(true), true)
		id := randomText(r, []string{":", "%", "{}", "x"})
		want, _ := before.AppendTo(nil, id, nil)
		if got, missing := after.AppendTo(nil, id, nil); err != nil || !bytes.Equal(got, want) || missing != "" {
			t.Fatalf("%s is shown as %s, which makes %s and not %s: %v", text, before.Written(true), got, want, err)
		}
		if !engine.HasNames(text) && !bytes.Equal(before.Written(true), text) {
			t.Fatalf("%s is shown as %s", text, before.Written(true))
		}
	}
}

func TestChecksWithFields(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	hour := 3600 * sec
	part := func(key, who string) engine.Op {
		p := engine.Op{Key: []byte(key), Limit: bucket(2, 1, hour)}
		if who != "" {
			p.Who, p.Limit = []byte(who), limits.Limit{Algorithm: limits.Concurrency, Capacity: 5, Rate: limits.Rate{Period: hour}}
		}
		return p
	}
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Options: engine.NamedFields, Key: []byte("llm"), Parts: []engine.Op{part("tpm:{tenant}:{}", ""), part("calls", "{tenant}:{model}")}})
	ask(s, epoch, engine.Op{Verb: engine.SetOverride, Key: []byte("llm"), Who: []byte("vip"), Parts: []engine.Op{part("vip", "")}})
	ask(s, epoch, engine.Op{Verb: engine.SetOverride, Options: engine.NamedFields, Key: []byte("llm"), Who: []byte("eu"), Parts: []engine.Op{part("eu:{region}", "")}})
	for _, c := range []struct {
		id     string
		fields []string
		status engine.Status
		name   string
	}{
		{"u", nil, engine.MissingField, "tenant"},
		{"u", []string{"model", "x"}, engine.MissingField, "tenant"},
		{"u", []string{"tenant", "acme"}, engine.MissingField, "model"},
		{"u", []string{"model", "x", "tenant", "acme", "size", "9"}, engine.UnknownField, "size"},
		{"u", []string{"Tenant", "acme"}, engine.UnknownField, "Tenant"},
		{"vip", nil, engine.OK, ""},
		{"vip", []string{"tenant", "acme", "model", "x"}, engine.OK, ""}, // the caller need not know of the override
		{"vip", []string{"region", "eu"}, engine.UnknownField, "region"},
		{"eu", []string{"tenant", "acme"}, engine.MissingField, "region"},
		{"eu", []string{"tenant", "acme", "region", "1"}, engine.OK, ""},
	} {
		op := engine.Op{Verb: engine.Check, Options: engine.NamedFields | engine.Peek, Key: []byte("llm"), Who: []byte(c.id), Tokens: 1, Args: fields(c.fields...)}
		if c.fields == nil {
			op.Options = engine.Peek
		}
		for _, readOnly := range []bool{false, true} {
			res := engine.Result{Reply: []byte("of before")}
			if !readOnly {
				res = ask(s, epoch, op)
			} else if !s.TryReadOnly(epoch, &op, &res) {
				t.Errorf("%s %q is not answered without a change", c.id, c.fields)
			}
			if res.Status != c.status || c.name != "" && string(res.Reply) != c.name || res.Allowed != (c.status == engine.OK) {
				t.Errorf("%s %q: status %d, %q", c.id, c.fields, res.Status, res.Reply)
			}
		}
	}
	if s.Len() != 0 {
		t.Errorf("%d keys were made", s.Len())
	}
	check := func(id string, words ...string) engine.Result {
		res := ask(s, epoch, engine.Op{Verb: engine.Check, Options: engine.NamedFields, Key: []byte("llm"), Who: []byte(id), Tokens: 2, Args: fields(words...)})
		s.CountCheck([]byte("llm"), &res)
		return res
	}
	for _, c := range []struct {
		tenant, id string
		allowed    bool
	}{{"acme", "u", true}, {"acme", "u", false}, {"acme", "v", true}, {"acme:u", "", true}, {"acme", "u:", true}, {"acme:u", "", false}} {
		if res := check(c.id, "model", "m", "tenant", c.tenant); res.Allowed != c.allowed {
			t.Errorf("%s, %s: %+v", c.tenant, c.id, res)
		}
	}
	var holders []string
	for _, l := range ask(s, epoch, engine.Op{Verb: engine.Leases, Key: []byte("calls")}).Leases {
		holders = append(holders, string(l.Holder))
	}
	if slices.Sort(holders); fmt.Sprint(holders) != "[acme%3Au:m acme:m]" {
		t.Errorf("holders %q", holders)
	}
	p, _ := s.Policy("llm")
	if p.Granted != 4 || p.Denied != 2 {
		t.Errorf("an error was counted: %+v", p)
	}
}

// Policies are restored with the meaning that they were kept with; those whose braces were literal are named.
func TestPoliciesKeepTheirMeaning(t *testing.T) {
	s, restored := New(Config{Shards: 1}), New(Config{Shards: 1})
	defer s.Close()
	defer restored.Close()
	set := func(name string, options engine.Option, keys ...string) {
		op := engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Options: options}
		for _, k := range keys {
			op.Parts = append(op.Parts, engine.Op{Key: []byte(k), Limit: bucket(2, 1, sec)})
		}
		if res := ask(s, epoch, op); res.Status != engine.OK {
			t.Fatalf("%s: %+v", name, res)
		}
	}
	set("plain", 0, "a:{}", "b")
	set("before", engine.Shadow, "a:{}", "b:{tenant}")
	set("now", engine.NamedFields|engine.Shadow, "a:{}", "b:{tenant}:{{}}")
	set("override", 0, "a:{}")
	ask(s, epoch, engine.Op{Verb: engine.SetOverride, Key: []byte("override"), Who: []byte("x"), Parts: []engine.Op{{Key: []byte("}"), Limit: bucket(2, 1, sec)}}})
	s.PolicyOps(func(op *engine.Op) {
		if err := CheckPolicy(op); err != nil {
			t.Errorf("%+v: %v", op, err)
		}
		restored.Apply(epoch, []engine.Op{op.Clone()}, make([]engine.Result, 1))
	})
	if s.Digest(epoch) != restored.Digest(epoch) {
		t.Error("not restored as it was")
	}
	for name, want := range map[string]string{"plain": "a:{} b", "before": "a:{} b:{{tenant}}", "now": "a:{} b:{tenant}:{{}}"} {
		p, _ := restored.Policy(name)
		if got := string(p.Parts[0].Key) + " " + string(p.Parts[1].Key); got != want || p.Shadow != (name != "plain") {
			t.Errorf("%s: %s, shadow %t", name, got, p.Shadow)
		}
	}
	bad := engine.Op{Verb: engine.SetPolicy, Options: engine.NamedFields, Key: []byte("bad"), Parts: []engine.Op{{Key: []byte("{a}{b}"), Limit: bucket(2, 1, sec)}}}
	if CheckPolicy(&bad) == nil {
		t.Error("a template whose values can be joined is taken")
	}
	for bad.Parts = nil; len(bad.Parts) <= engine.MaxFields; {
		bad.Parts = append(bad.Parts, engine.Op{Key: fmt.Appendf(nil, "{f%d}", len(bad.Parts)), Limit: bucket(2, 1, sec)})
		if err := CheckPolicy(&bad); (err != nil) != (len(bad.Parts) > engine.MaxFields) {
			t.Errorf("%d fields: %v", len(bad.Parts), err)
		}
	}
}

func TestValuesOfKeys(t *testing.T) {
	for _, c := range []struct {
		template, key, values string // "" if the template does not make the key
	}{
		{"u:{}", "u:7", "7 []"}, {"u:{}", "u:", " []"}, {"u:{}", "v:7", ""}, {"{}:u", "7:u", "7 []"}, {"u:{}", "u:a%3A:b", "a%3A:b []"},
		{"a{}a", "a", ""}, {"all", "all", " []"}, {"all", "all2", ""}, {"a{}b", "axb", "x []"},
		{"t:{a}-:-{}", "t:x%3A-:-7", "7 [a x:]"}, {"t:{a}-:-{}", "t:x:-7", ""}, {"t:{a}-:-{}", "t:x-", ""}, {"t:{a}-:-{}", "t::", ""}, {"{a}", "%253A", " [a %3A]"},
	} {
		tmpl, _ := engine.ParseTemplate([]byte(c.template))
		id, given, ok := tmpl.Values([]byte(c.key))
		if got := fmt.Sprintf("%s %s", id, given); ok != (c.values != "") || ok && got != c.values {
			t.Errorf("%s of %s: %s, %t", c.key, c.template, got, ok)
		}
	}
}
