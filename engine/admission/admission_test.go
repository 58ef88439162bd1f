package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

const sec = int64(time.Second)

var bucket = limits.Limit{Algorithm: limits.TokenBucket, Capacity: 2, Rate: limits.Rate{Tokens: 1, Period: sec}}

func newAdmission(replicated bool) *Admission {
	r := &Admission{}
	r.Init(replicated)
	return r
}

func restrict(r *Admission, beginning string, mode engine.NewKeys, delimiters string) engine.Status {
	var res engine.Result
	r.Restrict(&engine.Op{Verb: engine.Restrict, Key: []byte(beginning), Who: []byte(delimiters), NewKeys: mode}, &res)
	return res.Status
}

// modeFor is the treatment of a new key.
func modeFor(r *Admission, key string) engine.NewKeys {
	if rules := r.RulesFor([]byte(key), false, nil); rules != nil {
		return rules.NewKeys
	}
	return engine.AdmitNew
}

// The restriction with the longest beginning of a key holds for it.
func TestRestrictions(t *testing.T) {
	r := newAdmission(true)
	for i, c := range []struct {
		beginning       string
		mode            engine.NewKeys
		a, ab, abc, non engine.NewKeys // of the keys a, ab, abc and x afterwards
	}{
		{"ab", engine.AllowNew, engine.AdmitNew, engine.AllowNew, engine.AllowNew, engine.AdmitNew},
		{"", engine.DenyNew, engine.DenyNew, engine.AllowNew, engine.AllowNew, engine.DenyNew},
		{"abc", engine.OverflowNew, engine.DenyNew, engine.AllowNew, engine.OverflowNew, engine.DenyNew},
		{"ab", engine.DenyNew, engine.DenyNew, engine.DenyNew, engine.OverflowNew, engine.DenyNew},
		{"", engine.AdmitNew, engine.AdmitNew, engine.DenyNew, engine.OverflowNew, engine.AdmitNew},
		{"gone", engine.AdmitNew, engine.AdmitNew, engine.DenyNew, engine.OverflowNew, engine.AdmitNew},
	} {
		op := engine.Op{Verb: engine.Restrict, Key: []byte(c.beginning), NewKeys: c.mode}
		var res engine.Result
		if changes := !r.TryReadOnly(&op, &res); changes != (c.beginning != "gone") {
			t.Errorf("step %d: changes something: %v", i, changes)
		}
		r.Restrict(&op, &res)
		if !r.TryReadOnly(&op, &res) {
			t.Errorf("step %d changes something again", i)
		}
		got := [4]engine.NewKeys{modeFor(r, "a"), modeFor(r, "ab"), modeFor(r, "abc"), modeFor(r, "x")}
		if got != [4]engine.NewKeys{c.a, c.ab, c.abc, c.non} {
			t.Errorf("step %d: %v, want %+v", i, got, c)
		}
		again := newAdmission(true)
		r.RestrictOps(func(op *engine.Op) { again.Restrict(op, &res) })
		if got != [4]engine.NewKeys{modeFor(again, "a"), modeFor(again, "ab"), modeFor(again, "abc"), modeFor(again, "x")} {
			t.Errorf("step %d: restored otherwise", i)
		}
	}
}

func TestRestrictionsAreBounded(t *testing.T) {
	r := newAdmission(true)
	for i := range MaxRestrictions + 1 {
		if got := restrict(r, fmt.Sprint("key", i), engine.DenyNew, ""); (got == engine.TooMany) != (i == MaxRestrictions) {
			t.Fatalf("restriction %d: %v", i, got)
		}
	}
	if got := restrict(r, "key0", engine.AllowNew, ""); got != engine.OK {
		t.Errorf("one that is there can always be changed: %v", got)
	}
}

// The prefix of a key ends with the first delimiter in it.
func TestPrefixOf(t *testing.T) {
	for _, c := range []struct{ delimiters, key, want string }{
		{":", "user:1:2", "user:"}, {":", "user", ""}, {"", "user:1", ""}, {"/:", "a/b:c", "a/"}, {":", ":a", ":"}, {":", "", ""},
	} {
		rules := Rules{Delimiters: c.delimiters}
		if got := rules.PrefixOf([]byte(c.key)); got != c.want {
			t.Errorf("%q at %q: %q, want %q", c.key, c.delimiters, got, c.want)
		}
	}
}

// A key counts for each quota of which it begins with a text; the other keys of its request count too. Keys that are
// there already, and those of replicas, are kept.
func TestQuotas(t *testing.T) {
	quotas := NewQuotas([]Quota{{Name: "a", Prefixes: []string{"a", "b:"}, MaxKeys: 2}, {Name: "all", Prefixes: []string{""}, MaxKeys: 4}})
	r := newAdmission(false)
	r.Quotas.Store(quotas)
	for i, c := range []struct {
		add   string
		n     int64
		key   string
		other []string
		full  bool
	}{
		{"", 0, "a1", nil, false},
		{"a1", 1, "a2", nil, false},
		{"", 0, "a2", []string{"x"}, false},
		{"", 0, "a2", []string{"b:1"}, true}, // it would be the third
		{"b:1", 1, "a2", nil, true},
		{"", 0, "b1", nil, false},
		{"x", 1, "y", nil, false},
		{"", 0, "y", []string{"z"}, true},
		{"x2", 1, "y", nil, true},
		{"a1", -1, "y", nil, false},
	} {
		quotas.Add([]byte(c.add), c.n)
		var others [][]byte
		for _, other := range c.other {
			others = append(others, []byte(other))
		}
		if got := r.RulesFor([]byte(c.key), false, others) != nil; got != c.full {
			t.Errorf("step %d: full is %v, want %v", i, got, c.full)
		}
		if r.RulesFor([]byte(c.key), true, others) != nil {
			t.Errorf("step %d: a key that is there is not kept", i)
		}
	}
	replica := newAdmission(true)
	replica.Quotas.Store(quotas)
	quotas.Add([]byte("a"), 10)
	if replica.RulesFor([]byte("a"), false, nil) != nil {
		t.Error("a replica refuses a key by its own count")
	}
}

// The leader has the full quotas, and with full memory all keys, refused by operations.
func TestPressure(t *testing.T) {
	quotas := NewQuotas([]Quota{{Name: "a", Prefixes: []string{"a:", "b:"}, MaxKeys: 1}})
	r, follower := newAdmission(true), newAdmission(true)
	r.Quotas.Store(quotas)
	rules := Rules{NewKeys: engine.DenyNew}
	for i, c := range []struct {
		keys   int64
		full   bool
		ops    int
		a, any engine.NewKeys
	}{
		{0, false, 0, engine.AdmitNew, engine.AdmitNew},
		{1, false, 2, engine.DenyNew, engine.AdmitNew},
		{0, true, 1, engine.DenyNew, engine.DenyNew},
		{-1, true, 2, engine.DenyNew, engine.DenyNew},
		{0, false, 1, engine.AdmitNew, engine.AdmitNew},
	} {
		quotas.Add([]byte("a:1"), c.keys)
		ops := r.Pressure(rules, c.full)
		var res engine.Result
		for i := range ops {
			r.Restrict(&ops[i], &res)
		}
		if len(ops) != c.ops || modeFor(r, "a:2") != c.a || modeFor(r, "x") != c.any || len(r.Pressure(rules, c.full)) > 0 {
			t.Errorf("step %d: %d operations; a: is %v, others %v", i, len(ops), modeFor(r, "a:2"), modeFor(r, "x"))
		}
		for _, op := range follower.Follow(r) {
			follower.Restrict(&op, &res)
		}
		if modeFor(follower, "a:2") != c.a || modeFor(follower, "x") != c.any || len(follower.Follow(r)) > 0 {
			t.Errorf("step %d: the follower differs", i)
		}
	}
}

// New keys without room are denied, granted by an untouched limit, or decided by a limiter that all keys of a prefix
// share.
func TestDecide(t *testing.T) {
	deny, allow, overflow := &Rules{NewKeys: engine.DenyNew}, &Rules{NewKeys: engine.AllowNew}, &Rules{NewKeys: engine.OverflowNew, Delimiters: ":"}
	r := newAdmission(false)
	for i, c := range []struct {
		at      int64
		rules   *Rules
		key     string
		tokens  int64
		options engine.Option
		allowed bool
		left    int64
	}{
		{0, deny, "a", 1, 0, false, 0},
		{0, allow, "a", 2, 0, true, 0},
		{0, allow, "a", 2, 0, true, 0}, // nothing is kept
		{0, overflow, "x:1", 1, engine.Peek, true, 1},
		{0, overflow, "x:1", 1, 0, true, 1},
		{0, overflow, "x:2", 1, 0, true, 0}, // shares with x:1
		{0, overflow, "x:3", 1, 0, false, 0},
		{0, overflow, "y:1", 2, 0, true, 0},
		{sec, overflow, "x:1", 1, 0, true, 0},
	} {
		op := engine.Op{Verb: engine.Acquire, Key: []byte(c.key), Limit: bucket, Tokens: c.tokens, Options: c.options}
		var call algorithm.Call
		var res engine.Result
		call.Begin(1_700_000_000*sec+c.at, &op, &res)
		if r.Decide(&call, c.rules, false); res.Allowed != c.allowed || res.Remaining != c.left {
			t.Errorf("step %d: allowed %v, %d left; want %+v", i, res.Allowed, res.Remaining, c)
		}
	}
	if n := r.NewKeyCounts(); n.Denied != 1 || n.Allowed != 2 || n.Shared != 5 || n.SharedDenied != 1 || n.Limiters != 2 {
		t.Errorf("counted %+v", n)
	}
}

// What operations restore is checked before.
func TestCheck(t *testing.T) {
	long := make([]byte, engine.MaxKeyBytes+1)
	for i, c := range []struct {
		op engine.Op
		ok bool
	}{
		{engine.Op{Verb: engine.Restrict, Key: []byte("a"), NewKeys: engine.DenyNew}, true},
		{engine.Op{Verb: engine.Restrict, Key: long, NewKeys: engine.DenyNew}, false},
		{engine.Op{Verb: engine.Restrict, NewKeys: engine.OverflowNew + 1}, false},
		{engine.Op{Verb: engine.Restrict, Options: engine.Peek}, false},
		{engine.Op{Verb: engine.KeepOverflow}, false},
		{engine.Op{Verb: engine.KeepOverflow, Who: make([]byte, 16), Parts: []engine.Op{{Limit: bucket}}}, true},
		{engine.Op{Verb: engine.KeepOverflow, Who: make([]byte, 15), Parts: []engine.Op{{Limit: bucket}}}, true}, // zeros at the end may be missing
		{engine.Op{Verb: engine.KeepOverflow, Who: make([]byte, 17), Parts: []engine.Op{{Limit: bucket}}}, false},
		{engine.Op{Verb: engine.KeepOverflow, Instance: engine.MaxParts, Who: make([]byte, 16), Parts: []engine.Op{{Limit: bucket}}}, false},
		{engine.Op{Verb: engine.Acquire}, false},
	} {
		if err := Check(&c.op); (err == nil) != c.ok {
			t.Errorf("operation %d: %v", i, err)
		}
	}
}
