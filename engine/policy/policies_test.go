package policy

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// limit is a limit of 2 tokens, with one more in a second.
var limit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: 2, Rate: limits.Rate{Tokens: 1, Period: 1e9}}

func set(p *Policies, name, key string, options engine.Option) engine.Status {
	var res engine.Result
	p.Set(&engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Options: options, Parts: []engine.Op{{Key: []byte(key), Limit: limit}}}, &res)
	return res.Status
}

func drop(p *Policies, name string) engine.Status {
	var res engine.Result
	p.Drop(&engine.Op{Verb: engine.DropPolicy, Key: []byte(name)}, &res)
	return res.Status
}

// override holds a caller to the limit on a key, "" to end this.
func override(p *Policies, name, id, key string) engine.Status {
	op := engine.Op{Verb: engine.SetOverride, Key: []byte(name), Who: []byte(id)}
	if key != "" {
		op.Parts = []engine.Op{{Key: []byte(key), Limit: limit}}
	}
	var res engine.Result
	p.Override(&op, &res)
	return res.Status
}

func TestPoliciesAreBounded(t *testing.T) {
	p := New(&keyspace.Changes{})
	for i := range MaxPolicies + 1 {
		if got := set(p, fmt.Sprint(i), "{}", 0); (got == engine.TooMany) != (i == MaxPolicies) {
			t.Fatalf("policy %d: %v", i, got)
		}
	}
	if got := set(p, "0", "{}", 0); got != engine.OK {
		t.Errorf("one that is there can always be changed: %v", got)
	}
}

// Policies take no more memory than their bound, and give it back.
func TestPoliciesAreBoundedInBytes(t *testing.T) {
	p := New(&keyspace.Changes{})
	big := string(make([]byte, 1<<20))
	set(p, "p", big, 0)
	n := 0
	for ; n < 1000; n++ {
		if override(p, "p", fmt.Sprint(n), big) == engine.TooMany {
			break
		}
	}
	if n < 60 || n > 64 {
		t.Errorf("%d overrides of a megabyte fit", n)
	}
	override(p, "p", "0", "")
	if got := override(p, "p", fmt.Sprint(n), big); got != engine.OK {
		t.Errorf("no room after one was ended: %v", got)
	}
	drop(p, "p")
	if p.bytes != 0 || p.overrides != 0 {
		t.Errorf("%d bytes, %d overrides left", p.bytes, p.overrides)
	}
}

// Strict policies are counted, so that an operation on a key is compared with policies only if one of them is strict.
func TestStrictPoliciesAreCounted(t *testing.T) {
	p := New(&keyspace.Changes{})
	for _, c := range []struct {
		what string
		do   func()
		want int64
	}{
		{"none", func() {}, 0},
		{"one", func() { set(p, "strict", "strict:{}", engine.Strict) }, 1},
		{"one again", func() { set(p, "strict", "strict:{}", engine.Strict|engine.Shadow) }, 1},
		{"a loose one beside it", func() { set(p, "loose", "loose:{}", 0) }, 1},
		{"no longer strict", func() { set(p, "strict", "strict:{}", 0) }, 0},
		{"dropped", func() { set(p, "strict", "strict:{}", engine.Strict); drop(p, "strict") }, 0},
		{"cleared", func() { set(p, "strict", "strict:{}", engine.Strict); p.Clear() }, 0},
	} {
		if c.do(); p.strict.Load() != c.want {
			t.Errorf("%s: %d are strict, want %d", c.what, p.strict.Load(), c.want)
		}
		key := engine.Op{Verb: engine.Acquire, Key: []byte("strict:1"), Limit: limit}
		if got := p.IsStrict(&key); got != (c.want > 0) {
			t.Errorf("%s: a key is strict: %v", c.what, got)
		}
	}
}

// The checks of only so many policies are counted; those of policies that are there stay.
func TestCountsAreBounded(t *testing.T) {
	p := New(&keyspace.Changes{})
	granted := engine.Result{Allowed: true, Binding: -1}
	set(p, "api", "{}", 0)
	p.CountCheck([]byte("api"), &granted)
	for i := range 3 * maxCounted {
		p.CountCheck([]byte(fmt.Sprint(i)), &granted)
	}
	if len(p.checks) > maxCounted {
		t.Errorf("checks of %d policies are counted", len(p.checks))
	}
	if known, _ := p.Find("api"); known.Granted != 1 {
		t.Errorf("counted %+v", known)
	}
}

// A snapshot shows the policies of its instant, whatever changes after it.
func TestSnapshot(t *testing.T) {
	texts := func(ops func(visit func(*engine.Op))) (all []string) {
		ops(func(op *engine.Op) {
			all = append(all, fmt.Sprintf("%v %s %s %v", op.Verb, op.Key, op.Who, op.Options))
		})
		return all
	}
	p := New(&keyspace.Changes{})
	set(p, "a", "a:{}", engine.Strict)
	override(p, "a", "ann", "own:{}")
	set(p, "b", "b:{}", 0)
	want := fmt.Sprint(texts(p.Ops))
	for what, change := range map[string]func(){
		"nothing":     func() {},
		"a policy":    func() { set(p, "c", "c:{}", 0) },
		"an override": func() { override(p, "a", "bob", "own:{}"); override(p, "a", "ann", "") },
		"dropped":     func() { drop(p, "a") },
		"cleared":     func() { p.Clear() },
	} {
		p.Clear()
		set(p, "a", "a:{}", engine.Strict)
		override(p, "a", "ann", "own:{}")
		set(p, "b", "b:{}", 0)
		s := p.Snapshot()
		change()
		if got := fmt.Sprint(texts(s.Ops)); got != want {
			t.Errorf("%s: the snapshot has %s, want %s", what, got, want)
		}
		s.Release()
		if p.snapshot != nil {
			t.Errorf("%s: the snapshot is still there", what)
		}
	}
}

// The journal gets the operations in their order, once.
func TestChanges(t *testing.T) {
	keys := &keyspace.Keyspace{}
	keys.Init(keyspace.Config{Shards: 1})
	defer keys.Close()
	keys.Track(true)
	p := New(keys.JournalNotes())
	set(p, "a", "a:{}", 0)
	p.NoteOther(&engine.Op{Verb: engine.DropScripts})
	override(p, "a", "ann", "own:{}")
	override(p, "a", "bob", "") // changes nothing
	drop(p, "a")
	drop(p, "a")
	if !p.HasChanges() {
		t.Error("no changes")
	}
	var got []engine.Verb
	p.TakeChanges(func(op *engine.Op) { got = append(got, op.Verb) })
	if want := []engine.Verb{engine.SetPolicy, engine.DropScripts, engine.SetOverride, engine.DropPolicy}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changes %v, want %v", got, want)
	}
	if p.TakeChanges(func(op *engine.Op) { t.Errorf("%v again", op.Verb) }); p.HasChanges() {
		t.Error("there are changes after they were taken")
	}
}
