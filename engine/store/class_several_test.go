package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// together is one request for limits and trees of classes, each tree as its parts.
func together(n int64, options engine.Option, all ...[]engine.Op) engine.Op {
	op := engine.Op{Verb: engine.AcquireAll, Tokens: n, Options: options}
	for _, parts := range all {
		for _, p := range parts {
			p.Tokens, p.Options = n, options
			op.Parts = append(op.Parts, p)
		}
	}
	return op
}

// A tree beside other limits decides as it does alone: the request takes from all or from none, and registers its
// classes in any case.
func TestTreesBesideOtherLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 22))
	whole, apart, now := New(Config{}), New(Config{}), epoch
	defer whole.Close()
	defer apart.Close()
	deniedBy := map[int]int{}
	for i := range 6000 {
		now += r.Int64N(sec)
		tree, n := randomTree(r).Parts, 1+r.Int64N(4)
		before := []engine.Op{{Key: fmt.Append(nil, "user", r.IntN(3)), Limit: bucket(12, 2, sec)}}
		behind := []engine.Op{{Key: []byte("all"), Limit: bucket(30, 5, sec)}}
		second := treeOp(n, bucket(3, 1, sec), []string{"batch", "site"}, bucketOf(limits.Class, 9, 2, sec), bucketOf(limits.Class, 12, 4, sec)).Parts
		all := [][]engine.Op{before, tree, behind, second}
		binding, at, wait := -1, 0, int64(0)
		for _, parts := range all {
			peek := ask(apart, now, together(n, engine.Peek, parts))
			if !peek.Allowed && (binding < 0 || wait != engine.NeverWait && (peek.Wait == engine.NeverWait || peek.Wait > wait)) {
				binding, wait = at, peek.Wait
			}
			at += len(parts)
		}
		for _, parts := range all {
			switch {
			case binding < 0:
				ask(apart, now, together(n, 0, parts))
			case len(parts) > 1:
				ask(apart, now, together(0, 0, parts)) // registers the class
			}
		}
		request := together(n, 0, all...)
		res := engine.Result{}
		if !whole.TryReadOnly(now, &request, &res) {
			res = ask(whole, now, request)
		}
		if res.Status != engine.OK || res.Allowed != (binding < 0) || res.Binding != binding || res.Wait != wait || len(res.Parts) != len(request.Parts) {
			t.Fatalf("request %d: %+v, want %d with a wait of %d", i, res, binding, wait)
		}
		if deniedBy[binding]++; i%50 == 0 && whole.Digest(now) != apart.Digest(now) {
			t.Fatalf("request %d: the states differ", i)
		}
	}
	if len(deniedBy) < 4 {
		t.Errorf("requests by the limit that denied them, -1 if none: %v", deniedBy)
	}
}

// A request that is canceled gives its tokens back to all nodes, and the assured ones to the class. Class and ancestors
// are charged alike.
func TestTreesSettle(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	tree := treeOp(4, bucket(10, 1, 3600*sec), []string{"class", "root"}, bucketOf(limits.Class, 20, 1, 3600*sec), bucketOf(limits.Class, 30, 1, 3600*sec))
	other := engine.Op{Key: []byte("user"), Limit: bucket(50, 1, 3600*sec)}
	request := together(4, 0, tree.Parts, []engine.Op{other})
	remaining := func() (left [3]int64) {
		peek := ask(s, epoch, together(1, engine.Peek, tree.Parts, []engine.Op{other}))
		for i := range left {
			left[i] = peek.Parts[i].Remaining + 1 // a peek reports the tokens after it
		}
		return left
	}
	ask(s, epoch, together(0, 0, tree.Parts))
	ask(s, epoch, together(8, 0, tree.Parts, []engine.Op{other})) // leaves 2 of those assured
	before := remaining()
	ask(s, epoch, reserveOne("a", together(2, 0, tree.Parts, []engine.Op{other})))
	if res := ask(s, epoch, cancelOf("a")); res.Status != engine.OK || len(res.Parts) != 3 {
		t.Fatalf("%+v", res)
	}
	if after := remaining(); after != before {
		t.Errorf("%v remain after a request that was canceled, and %v before", after, before)
	}
	assured := func() int64 {
		left := int64(-1)
		s.Scan(0, 100, epoch, func(e keyspace.Entry) {
			if string(e.Key) == "class" {
				left = 10 - layout.LoadMeter(e.State[24:]).Taken(epoch, bucket(10, 1, 3600*sec).Rate).DivideUp(uint64(3600*sec))
			}
		})
		return left
	}
	if left := assured(); left != 2 {
		t.Errorf("%d of the assured tokens are left after a request that was canceled, want 2", left)
	}
	if res := ask(s, epoch, reserveOne("b", together(2, 0, tree.Parts))); !res.Allowed || assured() != 0 {
		t.Errorf("%+v, and %d assured tokens left", res, assured())
	}
	res := ask(s, epoch, engine.Op{Verb: engine.Settle, Key: []byte("b"), Parts: []engine.Op{{Tokens: 25, Options: engine.FixedCost}, {Tokens: 1, Options: engine.FixedCost}}})
	if res.Status != engine.OK || res.Parts[0].Granted != 25 || res.Parts[1].Granted != 25 || res.Parts[0].Remaining != -13 || res.Parts[1].Remaining != -3 {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch, request); res.Allowed {
		t.Errorf("granted in debt: %+v", res)
	}
}

// A policy keeps a tree, whatever bytes its assured rate comes to, and restores it.
func TestPoliciesWithTrees(t *testing.T) {
	s, restored := New(Config{}), New(Config{})
	defer s.Close()
	defer restored.Close()
	braces := bucket('{', '}', sec)
	tree := treeOp(1, braces, []string{"plan:{}", "root"}, bucketOf(limits.Class, 200, 1, sec), bucketOf(limits.Class, 1000, 1, sec))
	for _, named := range []engine.Option{0, engine.NamedFields} {
		parts := append([]engine.Op{{Key: []byte("user:{}"), Limit: bucket(150, 1, sec)}}, tree.Parts...)
		set := engine.Op{Verb: engine.SetPolicy, Key: fmt.Append(nil, "p", named), Options: named, Parts: parts}
		if err := CheckPolicy(&set); err != nil {
			t.Fatal(err)
		}
		ask(s, epoch, set)
		if set.HasNames() {
			t.Error("the bytes of the assured rate are taken for a field")
		}
	}
	s.PolicyOps(func(op *engine.Op) {
		if err := CheckPolicy(op); err != nil {
			t.Error(err)
		}
		ask(restored, epoch, *op)
	})
	for name := range map[string]bool{"p0": true, fmt.Sprint("p", engine.NamedFields): true} {
		p, _ := restored.Policy(name)
		if len(p.Parts) != 3 || !bytes.Equal(p.Parts[1].Who, tree.Parts[0].Who) {
			t.Fatalf("%s: %+v", name, p)
		}
		check := engine.Op{Verb: engine.Check, Key: []byte(name), Who: fmt.Append(nil, "id", name), Tokens: '{'}
		if res := ask(restored, epoch, check); !res.Allowed || res.Parts[1].Remaining != 200-'{' {
			t.Errorf("%s: %+v", name, res)
		}
		if res := ask(restored, epoch, check); res.Allowed || res.Binding != 1 && res.Binding != 0 {
			t.Errorf("%s again: %+v", name, res)
		}
	}
	tree.Parts[0].Who = tree.Parts[0].Who[1:]
	if set := (engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: tree.Parts}); CheckPolicy(&set) == nil {
		t.Error("a policy with a class that is assured nothing")
	}
}
