package store

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

func fairShare(capacity, tokens, period int64) limits.Limit {
	return limits.Limit{Algorithm: limits.FairShare, Capacity: capacity, Rate: limits.Rate{Tokens: tokens, Period: period}}
}

// shareOp asks a pool for a member.
func shareOp(limit limits.Limit, member string, weight, tokens int64) engine.Op {
	return engine.Op{Key: []byte("pool"), Limit: limit, Who: []byte(member), Weight: weight, Tokens: tokens}
}

// naiveShare is a pool without regard to time or space: the tokens taken in all as a fraction, and the units of each
// member by name.
type naiveShare struct {
	taken   *big.Rat // tokens, at time at
	at      int64
	rate    limits.Rate
	part    *big.Rat // of a unit, refilled and not shared yet
	left    int64    // units, refilled and not shared yet
	virtual int64
	tags    map[string]int64
	weights map[string]int64
}

// refill brings the pool up to a time.
func (n *naiveShare) refill(now int64) {
	if n.taken == nil || n.taken.Sign() == 0 {
		*n = naiveShare{taken: rat(0), at: now, part: rat(0), tags: map[string]int64{}, weights: map[string]int64{}}
		return
	}
	back := new(big.Rat).Quo(rat(now-n.at), nanosPerToken(n.rate))
	if back.Cmp(n.taken) > 0 {
		back = n.taken
	}
	n.taken = new(big.Rat).Sub(n.taken, back)
	n.part.Add(n.part, new(big.Rat).Mul(back, rat(layout.UnitsOfToken)))
	if n.at = now; n.taken.Sign() == 0 {
		n.refill(now)
		return
	}
	whole := floor(n.part).Int64()
	n.part.Sub(n.part, rat(whole))
	n.left += whole
	for len(n.tags) > 0 {
		first, weights := "", int64(0)
		for name, tag := range n.tags {
			weights += n.weights[name]
			if first == "" || tag < n.tags[first] {
				first = name
			}
		}
		if need := (n.tags[first] - n.virtual) * weights; need > n.left {
			n.virtual += n.left / weights
			n.left %= weights
			return
		} else {
			n.left -= need
		}
		n.virtual = n.tags[first]
		delete(n.tags, first)
	}
	n.left = 0
}

// units are those that a member has taken.
func (n *naiveShare) units(member string) int64 {
	if tag, is := n.tags[member]; is {
		return (tag - n.virtual) * n.weights[member]
	}
	return 0
}

// allows reports whether a member may take tokens.
func (n *naiveShare) allows(l limits.Limit, member string, weight, tokens int64) bool {
	after := new(big.Rat).Add(n.taken, rat(tokens))
	if after.Cmp(rat(l.Capacity)) > 0 {
		return false
	}
	free := new(big.Rat).Sub(rat(l.Capacity), after)
	share := big.NewRat(n.units(member)+tokens*layout.UnitsOfToken, layout.UnitsOfToken)
	free = new(big.Rat).SetFrac(floor(free.Mul(free, rat(layout.UnitsOfToken))), big.NewInt(layout.UnitsOfToken))
	return n.units(member) == 0 || share.Cmp(free.Mul(free, rat(algorithm.ShareFactor*weight))) <= 0
}

func (n *naiveShare) take(rate limits.Rate, member string, weight, tokens int64) {
	n.rate = rate
	units := n.units(member) + tokens*layout.UnitsOfToken
	n.taken = new(big.Rat).Add(n.taken, rat(tokens))
	n.tags[member], n.weights[member] = n.virtual+(units+weight-1)/weight, weight
}

// The engine equals the naive model: each decision, the remaining tokens of the member, and the list of members.
func TestFairShareEqualsNaiveModel(t *testing.T) {
	for seed := range uint64(testsize.Pick(60, 600)) {
		r := rand.New(rand.NewPCG(seed, 18))
		s, model := New(Config{Shards: 1}), &naiveShare{}
		limits := []limits.Limit{fairShare([]int64{1, 3, 20, 1000}[r.IntN(4)], 1+r.Int64N(100), []int64{7, sec, 60 * sec, sec / 3}[r.IntN(4)])}
		if r.IntN(2) == 0 { // other capacities, and rates of the same period: taken tokens carry over exactly
			limits = append(limits, fairShare(1+r.Int64N(50), 1+r.Int64N(9), limits[0].Rate.Period), fairShare(limits[0].Capacity+1, limits[0].Rate.Tokens, limits[0].Rate.Period))
		}
		members, now := []int{2, 5, 40}[r.IntN(3)], epoch
		for i := range 300 {
			l := limits[r.IntN(len(limits))]
			token := max(1, l.DurationOf(1))
			now += []int64{0, 0, 1, token, r.Int64N(3*token + 1), r.Int64N(token) / 9, l.DurationOf(l.Capacity) / 2}[r.IntN(7)]
			member, weight := fmt.Sprintf("m%d%s", r.IntN(members), "-long-name-of-a-member"[:r.IntN(3)*8]), 1+r.Int64N(3)*r.Int64N(3)
			op := shareOp(l, member, weight, []int64{1, 1, 2, 1 + r.Int64N(l.Capacity+1)}[r.IntN(4)])
			if weight == 1 {
				op.Weight = r.Int64N(2)
			}
			if r.IntN(4) == 0 {
				op.Options = engine.Peek
			}
			model.refill(now)
			want := model.allows(l, member, weight, op.Tokens)
			got := ask(s, now, op)
			if got.Allowed != want || got.Status != engine.OK {
				t.Fatalf("seed %d step %d: %+v of %s: %+v, want allowed=%v", seed, i, op, member, got, want)
			}
			if want && op.Options == 0 {
				model.take(l.Rate, member, weight, op.Tokens)
				checkRemaining(t, s, model, now, op, got)
			}
			if !want && model.rate == l.Rate { // a denial leaves the rate as it was
				checkShareWait(t, s, now, op, got)
			}
			if i%10 == 0 {
				checkMembers(t, s, model, now)
			}
		}
		s.Close()
	}
}

// checkRemaining asks for the remaining tokens, and for one more.
func checkRemaining(t *testing.T, s *Store, model *naiveShare, now int64, op engine.Op, got engine.Result) {
	t.Helper()
	op.Options = engine.Peek
	for more := range int64(2) {
		op.Tokens = got.Remaining + more
		if op.Tokens == 0 {
			continue
		}
		if allowed := ask(s, now, op).Allowed; allowed != (more == 0) || allowed != model.allows(op.Limit, string(op.Who), max(1, op.Weight), op.Tokens) {
			t.Fatalf("%d remain, and asking for %d: %v", got.Remaining, op.Tokens, allowed)
		}
	}
}

// checkShareWait asks again when a denied request should be granted.
func checkShareWait(t *testing.T, s *Store, now int64, op engine.Op, got engine.Result) {
	t.Helper()
	op.Options |= engine.Peek
	if (got.Wait == engine.NeverWait) != (op.Tokens > op.Limit.Capacity) || got.Wait == 0 {
		t.Fatalf("%+v: a wait of %d", op, got.Wait)
	}
	if got.Wait == engine.NeverWait {
		return
	}
	if again := ask(s, now+got.Wait, op); !again.Allowed {
		t.Fatalf("%s asks for %d of %v at weight %d: a wait of %d, reset %d; then a wait of %d, reset %d", op.Who, op.Tokens, op.Limit, op.Weight, got.Wait, got.Reset, again.Wait, again.Reset)
	}
	if got.Wait > max(0, got.Reset) {
		t.Fatalf("%+v: a wait of %d, and a full pool after %d", op, got.Wait, got.Reset)
	}
}

func checkMembers(t *testing.T, s *Store, model *naiveShare, now int64) {
	t.Helper()
	res := ask(s, now, engine.Op{Verb: engine.ListMembers, Key: []byte("pool")})
	var got, want []string
	for _, m := range res.Members() {
		got = append(got, fmt.Sprint(string(m.Name), m.Weight, m.Taken))
	}
	model.refill(now)
	for name := range model.tags {
		want = append(want, fmt.Sprint(name, model.weights[name], algorithm.RoundUnits(uint64(model.units(name)))))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("members %v, want %v", got, want)
	}
	s.Scan(0, 1<<20, now, func(e keyspace.Entry) {
		if err := e.Check(); err != nil {
			t.Fatalf("an unreadable state: %v", err)
		}
	})
}

// A member without taken tokens gets any that the pool has, so a capacity of 1 works.
func TestFairShareOfOneToken(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	l := fairShare(1, 1, sec)
	for i := range 10 {
		now := epoch + int64(i)*sec
		if got := ask(s, now, shareOp(l, fmt.Sprint(i%3), 0, 1)); !got.Allowed {
			t.Fatalf("request %d: %+v", i, got)
		}
		if got := ask(s, now, shareOp(l, "other", 0, 1)); got.Allowed || got.Wait != sec {
			t.Fatalf("request %d of another: %+v", i, got)
		}
	}
}

// The 4097th active member gets an error. Once the others have got everything back, it is a member.
func TestFairShareIsBounded(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	l := fairShare(1_000_000, 1, sec)
	for i := range engine.MaxMembers {
		if got := ask(s, epoch, shareOp(l, string(keyOf(i)), 0, 1)); !got.Allowed {
			t.Fatalf("member %d: %+v", i, got)
		}
	}
	if got := ask(s, epoch, shareOp(l, "one more", 0, 1)); got.Status != engine.TooManyMembers || got.Allowed {
		t.Errorf("one member too many: %+v", got)
	}
	if got := ask(s, epoch, shareOp(l, string(keyOf(7)), 0, 1)); !got.Allowed {
		t.Errorf("an active member: %+v", got)
	}
	look := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("pool")})
	if each := float64(look.Bytes) / engine.MaxMembers; each > 96 {
		t.Errorf("%.1f bytes for each member, want at most 96", each)
	}
	later := epoch + (engine.MaxMembers+1)*sec
	if got := ask(s, later, shareOp(l, "one more", 0, 1)); !got.Allowed || got.Remaining < 800_000 {
		t.Errorf("after the refill: %+v", got)
	}
	if members := ask(s, later, engine.Op{Verb: engine.ListMembers, Key: []byte("pool")}); len(members.Members()) != 1 {
		t.Errorf("%d members", len(members.Members()))
	}
}

// Settling gives tokens back to the member, and takes more for it at the weight that it has.
func TestFairShareIsSettled(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	l := fairShare(100, 1, sec)
	taken := func() (all string) {
		res := ask(s, epoch, engine.Op{Verb: engine.ListMembers, Key: []byte("pool")})
		for _, m := range res.Members() {
			all += fmt.Sprintf("%s %d %d,", m.Name, m.Weight, m.Taken)
		}
		return all
	}
	reserve := engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: 600 * sec, Parts: []engine.Op{{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{shareOp(l, "a", 4, 20)}}}}
	ask(s, epoch, shareOp(l, "b", 0, 5))
	if got := ask(s, epoch, reserve); !got.Allowed || taken() != "a 4 20,b 1 5," {
		t.Fatalf("members %s: %+v", taken(), got)
	}
	if got := ask(s, epoch, settleAt("id", 8)); got.Status != engine.OK || taken() != "a 4 8,b 1 5," {
		t.Errorf("settled at less: %+v, members %s", got, taken())
	}
	reserve.Key = []byte("id2")
	ask(s, epoch, reserve)
	if got := ask(s, epoch, settleAt("id2", 150)); got.Status != engine.OK || taken() != "a 4 158,b 1 5," {
		t.Errorf("settled at more: %+v, members %s", got, taken())
	}
	if look := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("pool")}); look.Remaining != -63 {
		t.Errorf("in debt: %+v", look)
	}
	if got := ask(s, epoch, engine.Op{Verb: engine.Refund, Key: []byte("pool"), Tokens: 1}); got.Status != engine.NotRefundable {
		t.Errorf("a refund without a member: %+v", got)
	}
}
