package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// naivePlan is the model of a request with ELSE, and of what it has taken: the ledger has the limits before the balance.
type naivePlan struct {
	ledger
	included []engine.Op
	left     int64 // of the balance

	id      string       // of the request that is under way, empty without one
	parts   []bookedPart // of the request
	took    int64        // from each limit before the balance
	credits int64
	count   uint32 // of its extensions
}

// reach is how many tokens all limits before the balance can give, at most some.
func (n *naivePlan) reach(now, most int64) int64 {
	for _, p := range n.included {
		most = min(most, max(0, n.of(now, p.Key, p.Limit).remaining(now)))
	}
	return most
}

// take takes tokens, or fewer if it may, and returns how many. The request has one more slice.
func (n *naivePlan) take(now, tokens int64, options engine.Option) int64 {
	reach, left := n.reach(now, tokens), max(0, n.left)
	if tokens > reach+left {
		if tokens = reach + left; options&engine.UpTo == 0 || tokens == 0 {
			return 0
		}
	}
	n.charge(now, reach, options, true)
	n.left, n.credits = n.left-(tokens-reach), n.credits+tokens-reach
	return tokens
}

// charge takes tokens from each limit before the balance.
func (n *naivePlan) charge(now, tokens int64, options engine.Option, isSlice bool) {
	parts := slices.Clone(n.included)
	for i := range parts {
		if parts[i].Tokens, parts[i].Options = tokens, options; tokens == 0 {
			parts[i].Options = engine.FixedCost
		}
	}
	taken, status, fits := n.request(now, parts)
	if !fits {
		panic(fmt.Sprint("the limits have less than they reach: ", status))
	}
	if n.took += tokens; !isSlice {
		return
	}
	if n.parts == nil {
		n.parts = taken
		return
	}
	for i := range n.parts {
		p := &n.parts[i]
		p.charged, p.more = p.charged+tokens, append(p.more, engine.Grant{Time: taken[i].at, Tokens: tokens})
	}
}

// settle charges what was used, and returns how much of it each limit before the balance gives.
func (n *naivePlan) settle(now, used int64) (included int64) {
	included = min(used, n.took)
	if beyond := used - n.took - n.credits; beyond > 0 {
		more := n.reach(now, beyond)
		n.charge(now, more, engine.Force, false)
		included += more
	}
	for i := range n.parts {
		p := &n.parts[i]
		p.giveBack(n.of(now, p.op.Key, p.op.Limit), now, max(0, n.took-included))
	}
	n.left += n.credits - (used - included)
	n.id, n.parts, n.took, n.credits, n.count = "", nil, 0, 0, 0
	return included
}

// compare looks at each limit and at the balance.
func (n *naivePlan) compare(t *testing.T, s *Store, now int64) {
	t.Helper()
	for _, p := range n.included {
		a := n.of(now, p.Key, p.Limit)
		look := ask(s, now, engine.Op{Verb: engine.Look, Key: p.Key})
		if isEmpty := a.isEmpty(now); isEmpty != (look.Status == engine.NotFound) || !isEmpty && look.Remaining != a.remaining(now) {
			t.Errorf("%s: %+v, but %d remain of %+v", p.Key, look, a.remaining(now), p.Limit)
		}
	}
	if look := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte("balance")}); look.Remaining != n.left {
		t.Errorf("the balance is %+v, but %d are left", look, n.left)
	}
}

// step does a random operation to both, and returns what it was.
func (n *naivePlan) step(t *testing.T, s *Store, r *rand.Rand, now int64) (what string) {
	t.Helper()
	tokens := 1 + r.Int64N(15)
	switch {
	case r.IntN(5) == 0:
		p := n.included[r.IntN(len(n.included))]
		p.Tokens = 1 + r.Int64N(3)
		_, _, fits := n.request(now, []engine.Op{p})
		if res := ask(s, now, p); res.Allowed != fits {
			t.Fatalf("another request, fits %t: %+v", fits, res)
		}
		return "other"
	case n.id == "":
		id := fmt.Sprint("call-", now)
		parts := append(slices.Clone(n.included), engine.Op{Key: []byte("balance"), Limit: limits.Limit{Algorithm: limits.Balance}, Options: engine.Else})
		res := ask(s, now, reserveOne(id, severalOf(tokens, parts...)))
		granted := n.take(now, tokens, 0)
		if n.id = id; granted == 0 {
			n.id = ""
		}
		n.expect(t, &res, granted, granted)
		return fmt.Sprint("reserve ", res.Allowed)
	case r.IntN(4) > 0:
		op := extendBy(n.id, n.count+1, tokens, []engine.Option{0, engine.UpTo}[r.IntN(2)])
		res, same := askTwice(t, s, now, op)
		granted := n.take(now, tokens, op.Options)
		if n.expect(t, &res, granted, n.took+n.credits); granted > 0 {
			n.count++
			again := ask(s, now, op)
			n.expect(t, &again, granted, n.took+n.credits)
		} else if !same {
			t.Fatalf("a denial changes something: %+v", res)
		}
		return fmt.Sprint("extend ", granted == tokens, granted > 0)
	}
	all, id := n.took+n.credits, n.id
	used := []int64{0, r.Int64N(all + 1), all, all + r.Int64N(20)}[r.IntN(4)]
	included := n.settle(now, used)
	for range 2 {
		res := ask(s, now, settleAt(id, used))
		if last := len(n.included); res.Status != engine.OK || res.Parts[0].Granted != included || res.Parts[last].Granted != used-included {
			t.Fatalf("%d of %d are used, %d from the limits: %+v", used, all, included, res)
		}
	}
	return fmt.Sprint("settle ", used < all, used > all)
}

// expect checks the reply to a request or an extension. Of an extension all is what its request has taken.
func (n *naivePlan) expect(t *testing.T, res *engine.Result, granted, all int64) {
	t.Helper()
	isExtension := n.id != "" && all != granted
	if res.Status != engine.OK || res.Allowed != (granted > 0) || res.Granted != granted || isExtension && res.Number != uint64(all) {
		t.Fatalf("%+v, but granted %d of %d", res, granted, all)
	}
	for i := range res.Parts {
		want := n.took
		if i == len(n.included) {
			want = n.credits
		}
		if res.Parts[i].Granted != want {
			t.Fatalf("part %d: %+v, but it gave %d", i, res.Parts[i], want)
		}
	}
}

// Requests over windows, logs, segments and buckets with a balance after them, extended at random while time passes and
// others ask too, take and give back what the naive model says.
func TestExtensionsWithElseOverEveryAlgorithm(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(testsize.Pick(150, 2000)) {
		r := rand.New(rand.NewPCG(seed, 66))
		s := New(Config{Shards: 2})
		n := naivePlan{ledger: ledger{accounts: map[string]*account{}}, left: 60}
		for _, i := range r.Perm(len(ledgerLimits))[:4] {
			if l := ledgerLimits[i]; l.Algorithm.Keeps() {
				l.Capacity = 5 + r.Int64N(20)
				n.included = append(n.included, engine.Op{Key: fmt.Appendf(nil, "limit-%d", i), Limit: l})
			}
		}
		payment := engine.Op{Verb: engine.AddCredits, Key: []byte("balance"), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: n.left}
		now := epoch
		ask(s, now, reserveOne("payment", payment))
		for i := range 120 {
			now += 1 + r.Int64N(sec/2)
			what := n.step(t, s, r, now)
			seen[what]++
			if n.compare(t, s, now); t.Failed() {
				t.Fatalf("seed %d step %d: %s", seed, i, what)
			}
		}
		s.Close()
	}
	t.Log(seen)
	for _, what := range []string{"other", "reserve true", "reserve false", "extend true true", "extend false true", "extend false false", "settle true false", "settle false false", "settle false true"} {
		if seen[what] < 50 {
			t.Errorf("%s: seen %d times", what, seen[what])
		}
	}
}
