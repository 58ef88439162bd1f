package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/slot"
)

const groups = 4

// fakeGroup answers each operation with its position among all that it was given, at once or when the test lets it.
type fakeGroup struct {
	mu     sync.Mutex
	number int
	seen   []string // verb and key of each operation
	status engine.Status
	later  bool
	wait   []func()
}

func (g *fakeGroup) Decide(b *engine.Batch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	answer := func() {
		for i := range b.Ops {
			b.Results[i].Clear()
			b.Results[i].Status, b.Results[i].Granted = g.status, int64(g.number*1000+len(g.seen))
			g.seen = append(g.seen, fmt.Sprint(b.Ops[i].Verb, " ", string(b.Ops[i].Key)))
		}
	}
	if !g.later {
		answer()
		return true
	}
	g.wait = append(g.wait, func() {
		answer()
		b.Done()
	})
	return false
}

// policyOf is a policy whose key is the caller's id.
type policyOf struct {
	known   bool
	present []string // of any policy, one after the other; the last one stays
}

func (p *policyOf) PresentPolicy(op *engine.Op) []engine.Op {
	present := engine.Op{Verb: op.Verb, Key: op.Key}
	if len(p.present) > 0 {
		present.Key = []byte(p.present[0])
		p.present = p.present[min(1, len(p.present)-1):]
	}
	return []engine.Op{present}
}

func (p *policyOf) AppendPolicyKey(b, _, id []byte, _ [][]byte, part int) []byte {
	if !p.known || part != 0 {
		return b
	}
	return append(b, id...)
}

func newTestRouter(p *policyOf, catchUp func(context.Context) error) (*Router, []*fakeGroup) {
	if catchUp == nil {
		catchUp = func(context.Context) error { return nil }
	}
	r := New(context.Background(), groups, p, catchUp)
	fakes, all := make([]*fakeGroup, groups+1), make([]Group, groups+1)
	for i := range fakes {
		fakes[i] = &fakeGroup{number: i}
		all[i] = fakes[i]
	}
	r.Begin(all)
	return r, fakes
}

// in returns a key of a group.
func in(group, i int) []byte {
	for try := 0; ; try++ {
		if key := fmt.Appendf(nil, "k%d.%d.%d", group, i, try); slot.GroupOf(slot.Of(key), groups) == group {
			return key
		}
	}
}

func take(group, i int) engine.Op {
	return engine.Op{Verb: engine.Acquire, Key: in(group, i), Tokens: 1}
}

func command(write bool, words ...[]byte) engine.Op {
	op := engine.Op{Verb: engine.Command, Args: words, KeyFrom: 1, KeyCount: uint32(len(words) - 1)}
	if !write {
		op.Options = engine.Peek
	}
	return op
}

func TestPlaces(t *testing.T) {
	r, _ := newTestRouter(&policyOf{known: true}, nil)
	a, b := in(1, 0), in(3, 0)
	script := command(true, []byte("script"), []byte("LOAD"))
	script.Verb = engine.Script
	script.KeyCount = 0
	publish := command(true, []byte("PUBLISH"), a)
	publish.KeyCount = 0
	for _, c := range []struct {
		name string
		op   engine.Op
		want int
	}{
		{"a limit", take(2, 0), 2},
		{"a tag", engine.Op{Verb: engine.Look, Key: append([]byte("x{"), append(b, '}')...)}, 3},
		{"a command", command(true, []byte("SET"), a), 1},
		{"a command on keys of two groups", command(true, []byte("MSET"), a, b), crossing},
		{"two limits of one group", engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{take(3, 0), take(3, 1)}}, 3},
		{"limits of two groups", engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{take(3, 0), take(4, 1)}}, crossing},
		{"an id elsewhere", engine.Op{Verb: engine.Reserve, Key: a, Parts: []engine.Op{take(3, 0)}}, crossing},
		{"an id in the same group", engine.Op{Verb: engine.Reserve, Key: in(3, 5), Parts: []engine.Op{take(3, 0)}}, 3},
		{"a policy", engine.Op{Verb: engine.Check, Key: a, Who: b}, 3},
		{"everything", engine.Op{Verb: engine.Flush}, everywhere},
		{"a policy's limits", engine.Op{Verb: engine.SetPolicy, Key: a, Parts: []engine.Op{take(3, 0)}}, everywhere},
		{"SCRIPT LOAD", script, everywhere},
		{"PUBLISH", publish, anywhere},
	} {
		if got := r.Place(&c.op); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A batch for several groups is divided, and its results come back in their places. Every group carries out an
// operation for all groups in its place.
func TestSplit(t *testing.T) {
	for _, later := range []bool{false, true} {
		r, fakes := newTestRouter(&policyOf{}, nil)
		for _, f := range fakes {
			f.later = later
		}
		b := &engine.Batch{Ops: []engine.Op{take(1, 0), take(2, 0), {Verb: engine.Flush}, take(1, 1), take(2, 1)}}
		b.Results = make([]engine.Result, len(b.Ops))
		done := 0
		b.Done = func() { done++ }
		if finished := r.Decide(b); finished == later {
			t.Fatalf("finished %v", finished)
		}
		for i := len(fakes) - 1; i >= 0; i-- {
			if done > 0 {
				t.Error("it is done before all groups have answered")
			}
			for _, answer := range fakes[i].wait {
				answer()
			}
		}
		if later && done != 1 {
			t.Errorf("done %d times", done)
		}
		var got []int64
		for _, res := range b.Results {
			got = append(got, res.Granted)
		}
		if want := []int64{1000, 2000, 0, 1002, 2002}; !slices.Equal(got, want) {
			t.Errorf("results %v, want %v", got, want)
		}
		if want := []string{"0 " + string(in(1, 0)), "8 ", "0 " + string(in(1, 1))}; !slices.Equal(fakes[1].seen, want) {
			t.Errorf("group 1 carried out %v, want %v", fakes[1].seen, want)
		}
	}
}

// A transaction is decided by one group, whole, or by none.
func TestTransactionsAreNotSplit(t *testing.T) {
	r, fakes := newTestRouter(&policyOf{}, nil)
	publish := command(true, []byte("PUBLISH"), []byte("c"))
	publish.KeyCount = 0
	for _, c := range []struct {
		ops   []engine.Op
		group int // -1 if no group decides
	}{
		{[]engine.Op{take(2, 0), take(2, 1)}, 2},
		{[]engine.Op{take(2, 0), publish}, 2},
		{[]engine.Op{publish, take(2, 0)}, 2},
		{[]engine.Op{take(2, 0), take(3, 1)}, -1},
		{[]engine.Op{take(2, 0), {Verb: engine.Flush}}, -1},
	} {
		b := &engine.Batch{Ops: c.ops, Atomic: true, Results: make([]engine.Result, len(c.ops))}
		if !r.Decide(b) {
			t.Fatal("not finished")
		}
		for i, f := range fakes {
			if want := len(c.ops); i == c.group && len(f.seen) != want || i != c.group && len(f.seen) != 0 {
				t.Errorf("group %d carried out %v of a transaction of group %d", i, f.seen, c.group)
			}
			f.seen = nil
		}
		if is := b.Results[0].Status == engine.CrossSlot; is != (c.group < 0) {
			t.Errorf("status %d of a transaction of group %d", b.Results[0].Status, c.group)
		}
	}
}

// What only some groups have carried out is uncertain.
func TestEveryGroup(t *testing.T) {
	for _, c := range []struct{ one, others, want engine.Status }{
		{engine.OK, engine.OK, engine.OK}, {engine.NoLeader, engine.OK, engine.Uncertain}, {engine.NoLeader, engine.NoLeader,
			engine.NoLeader},
		{engine.NotFound, engine.OK, engine.OK}, {engine.Uncertain, engine.OK, engine.Uncertain},
	} {
		for odd := range groups + 1 {
			r, fakes := newTestRouter(&policyOf{}, nil)
			for i, f := range fakes {
				if f.status = c.others; i == odd {
					f.status = c.one
				}
			}
			b := &engine.Batch{Ops: []engine.Op{{Verb: engine.Flush}}, Results: make([]engine.Result, 1)}
			if r.Decide(b); b.Results[0].Status != c.want {
				t.Errorf("group %d answers %d and the others %d: %d, want %d", odd, c.one, c.others, b.Results[0].Status, c.want)
			}
		}
	}
}

// A check of a policy that this node does not know yet is decided once the node knows it; if it knew the policy before,
// the group's refusal stands.
func TestChecksOfUnknownPolicies(t *testing.T) {
	for _, c := range []struct {
		name   string
		known  bool // before the check
		learns bool
		err    error
		want   engine.Status
	}{
		{"learnt", false, true, nil, engine.OK}, {"known", true, true, nil, engine.CrossSlot},
		{"no leader", false, false, errors.New("none"), engine.NoLeader},
	} {
		p := &policyOf{known: c.known}
		r, fakes := newTestRouter(p, func(context.Context) error { p.known = p.known || c.learns; return c.err })
		if fakes[0].status = engine.CrossSlot; c.known {
			fakes[2].status = engine.CrossSlot
		}
		caller, done := in(2, 0), make(chan struct{})
		b := &engine.Batch{Ops: []engine.Op{{Verb: engine.Check, Key: []byte("p"), Who: caller}},
			Results: make([]engine.Result, 1), Done: func() { close(done) }}
		if !r.Decide(b) {
			<-done
		}
		if b.Results[0].Status != c.want {
			t.Errorf("%s: status %d, want %d", c.name, b.Results[0].Status, c.want)
		}
	}
}

// Changes of policies are carried out by group 0 first. The others get what group 0 has, again if that was changed
// meanwhile, and nothing if group 0 refuses the change.
func TestPoliciesFollowGroup0(t *testing.T) {
	set := engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{}}}
	expect := engine.ExpectPolicies([engine.PoliciesSumBytes]byte{})
	for name, c := range map[string]struct {
		ops     []engine.Op
		atomic  bool
		present []string
		zero    engine.Status // of group 0
		others  engine.Status
		err     error // of catching up
		first   string
		sent    string // to each of the others
		want    engine.Status
	}{
		"a change":                    {ops: []engine.Op{set}, first: "p", sent: "p"},
		"overtaken once":              {ops: []engine.Op{set}, present: []string{"1", "2"}, first: "p", sent: "1 2"},
		"refused":                     {ops: []engine.Op{set}, zero: engine.TooMany, first: "p", want: engine.TooMany},
		"uncertain":                   {ops: []engine.Op{set}, zero: engine.Uncertain, first: "p", sent: "p", want: engine.Uncertain},
		"not known here":              {ops: []engine.Op{set}, err: errors.New("none"), first: "p", sent: "p p p p", want: engine.Uncertain},
		"not done by another":         {ops: []engine.Op{set}, others: engine.NoLeader, first: "p", sent: "p p p p", want: engine.Uncertain},
		"together, if they are so":    {ops: []engine.Op{expect, set, set}, atomic: true, first: " p p", sent: "p p"},
		"together, if they are not":   {ops: []engine.Op{expect, set}, atomic: true, zero: engine.KeyChanged, first: " p", want: engine.KeyChanged},
		"among others":                {ops: []engine.Op{set, {Verb: engine.Flush}, set}, first: "p  p", sent: "p  p"},
		"together with other changes": {ops: []engine.Op{set, {Verb: engine.Flush}}, atomic: true, want: engine.CrossSlot},
	} {
		r, fakes := newTestRouter(&policyOf{present: c.present}, func(context.Context) error { return c.err })
		for i, f := range fakes {
			if f.status = c.zero; i > 0 {
				f.status = c.others
			}
		}
		done := make(chan struct{})
		b := &engine.Batch{Ops: c.ops, Atomic: c.atomic, Results: make([]engine.Result, len(c.ops)), Done: func() { close(done) }}
		if !r.Decide(b) {
			<-done
		}
		for i, f := range fakes {
			var keys []string
			for _, seen := range f.seen {
				_, key, _ := strings.Cut(seen, " ")
				keys = append(keys, key)
			}
			if got := strings.Join(keys, " "); i == 0 && got != c.first || i > 0 && got != c.sent {
				t.Errorf("%s: group %d carried out %q", name, i, got)
			}
		}
		if got := b.Results[len(b.Results)-1].Status; got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}
