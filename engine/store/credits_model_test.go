package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// purseOfCoins is the naive model of a balance: each credit is a coin. A debt is coins that were spent and never granted.
type purseOfCoins []coin

type coin struct {
	expires       int64
	spent, isDebt bool
}

func (p *purseOfCoins) expire(now int64) {
	*p = slices.DeleteFunc(*p, func(c coin) bool { return c.expires <= now })
}

func (p purseOfCoins) left() (n int64) {
	for _, c := range p {
		switch {
		case c.isDebt:
			n--
		case !c.spent:
			n++
		}
	}
	return n
}

// next is the coin that is spent next, -1 if there is none.
func (p purseOfCoins) next() (at int) {
	at = -1
	for i, c := range p {
		if !c.spent && (at < 0 || c.expires < p[at].expires) {
			at = i
		}
	}
	return at
}

// spend returns when the last of the coins would have expired.
func (p *purseOfCoins) spend(n int64) (last int64) {
	for range n {
		if i := p.next(); i >= 0 {
			(*p)[i].spent, last = true, (*p)[i].expires
			continue
		}
		*p, last = append(*p, coin{math.MaxInt64, true, true}), math.MaxInt64
	}
	return last
}

// payDebt spends coins on a debt.
func (p *purseOfCoins) payDebt() {
	for {
		debt, i := slices.IndexFunc(*p, func(c coin) bool { return c.isDebt }), p.next()
		if debt < 0 || i < 0 {
			return
		}
		(*p)[i].spent = true
		*p = slices.Delete(*p, debt, debt+1)
	}
}

func (p *purseOfCoins) add(now, n, expires int64) {
	if expires > now {
		for range n {
			*p = append(*p, coin{expires: expires})
		}
		p.payDebt()
	}
}

// giveBack undoes that coins were spent, beginning with the one that expires last.
func (p *purseOfCoins) giveBack(n, until int64) {
	for range n {
		at := -1
		for i, c := range *p {
			isLater := at < 0 || c.expires > (*p)[at].expires || c.expires == (*p)[at].expires && c.isDebt
			if c.spent && c.expires <= until && isLater {
				at = i
			}
		}
		switch {
		case at < 0:
		case (*p)[at].isDebt:
			*p = slices.Delete(*p, at, at+1)
		default:
			(*p)[at].spent = false
		}
	}
	p.payDebt()
}

// creditLimits are the limits of the model's policy: two included windows, and requests.
var creditLimits = []limits.Limit{
	{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 12, Rate: limits.Rate{Period: 7 * sec}},
	{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 30, Rate: limits.Rate{Period: 31 * sec}},
	{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 6, Rate: limits.Rate{Period: 5 * sec}},
}

// naiveCredits is the model of the policy for one caller.
type naiveCredits struct {
	used     [3]map[int64]int64 // by the start of the window
	coins    purseOfCoins
	payments map[string]engine.Op
	charges  map[string]*naiveCharge
}

// naiveCharge is a reservation.
type naiveCharge struct {
	request  engine.Op
	starts   [3]int64
	included int64 // tokens of each included window
	credits  int64
	fixed    int64 // of the limit with a cost of its own
	last     int64 // when the last credit would have expired
	settled  bool
}

func (n *naiveCredits) window(i int, now int64) (start, free, end int64) {
	l := creditLimits[i]
	start = now - now%l.Rate.Period
	return start, l.Capacity - n.used[i][start], start + l.Rate.Period
}

// ask returns what a request takes, or how long it has to wait.
func (n *naiveCredits) ask(now, cost int64) (included, credits, wait int64, ok bool) {
	_, five, fiveEnd := n.window(0, now)
	_, seven, sevenEnd := n.window(1, now)
	_, requests, requestsEnd := n.window(2, now)
	included = max(0, min(cost, five, seven))
	credits = cost - included
	if requests < 1 {
		wait = requestsEnd - now
	}
	left := max(0, n.coins.left())
	if credits <= left {
		return included, credits, wait, requests > 0
	}
	lacks := cost - left
	if lacks > creditLimits[0].Capacity || lacks > creditLimits[1].Capacity {
		return 0, 0, engine.NeverWait, false
	}
	if lacks > five {
		wait = max(wait, fiveEnd-now)
	}
	if lacks > seven {
		wait = max(wait, sevenEnd-now)
	}
	return 0, 0, wait, false
}

func (n *naiveCredits) take(now, included, credits int64) *naiveCharge {
	c := &naiveCharge{included: included, credits: credits, fixed: 1}
	for i, amount := range []int64{included, included, 1} {
		c.starts[i], _, _ = n.window(i, now)
		n.used[i][c.starts[i]] += amount
	}
	c.last = n.coins.spend(credits)
	return c
}

// settle charges what was used, and returns the amounts of each part.
func (n *naiveCredits) settle(now, used int64, cancels bool, c *naiveCharge) {
	included := min(used, c.included)
	if beyond := used - c.included - c.credits; beyond > 0 {
		_, five, _ := n.window(0, now)
		_, seven, _ := n.window(1, now)
		included += max(0, min(beyond, five, seven))
	}
	credits := used - included
	if start, _, _ := n.window(2, now); cancels {
		if c.fixed = 0; start == c.starts[2] {
			n.used[2][start]--
		}
	}
	for i := range 2 {
		start, _, _ := n.window(i, now)
		switch more := included - c.included; {
		case more > 0:
			n.used[i][start] += more
		case start == c.starts[i]:
			n.used[i][start] += more
		}
	}
	if credits > c.credits {
		n.coins.spend(credits - c.credits)
	} else {
		n.coins.giveBack(c.credits-credits, c.last)
	}
	c.included, c.credits, c.settled = included, credits, true
}

func (c *naiveCharge) amounts() []int64 { return []int64{c.included, c.included, c.fixed, c.credits} }

// creditStep is a random operation on the policy's limits.
func (n *naiveCredits) creditStep(r *rand.Rand, now int64) engine.Op {
	id := fmt.Appendf(nil, "call:%d", r.IntN(400))
	switch r.IntN(12) {
	case 0, 1:
		id := fmt.Appendf(nil, "payment:%d", r.IntN(120))
		op := engine.Op{Verb: engine.AddCredits, Key: []byte("bal:ann"), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 1 + r.Int64N(30)}
		if r.IntN(3) > 0 {
			op.PriorAt = now + (r.Int64N(40)-4)*sec
		}
		if known, ok := n.payments[string(id)]; ok && r.IntN(4) > 0 {
			op = known
		}
		return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: limits.MaxDuration, Parts: []engine.Op{op}}
	case 2, 3, 4:
		return engine.Op{Verb: engine.Settle, Key: id, Tokens: r.Int64N(25)}
	case 5:
		return engine.Op{Verb: engine.Settle, Key: id, Options: engine.Cancel, Tokens: 1}
	case 6:
		return engine.Op{Verb: engine.Acquire, Key: []byte("bal:ann"), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 1 + r.Int64N(9)}
	case 7:
		return engine.Op{Verb: engine.Refund, Key: []byte("bal:ann"), Tokens: 1 + r.Int64N(3)}
	}
	check := engine.Op{Verb: engine.Check, Key: []byte("plan"), Who: []byte("ann"), Tokens: 1 + r.Int64N(20)}
	if c := n.charges[string(id)]; c != nil {
		check = c.request
	}
	return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: limits.MaxDuration, Parts: []engine.Op{check}}
}

// carryOut does the operation to the model, and returns the status and the amounts that are expected; a wait if it is
// denied.
func (n *naiveCredits) carryOut(now int64, op engine.Op) (status engine.Status, granted bool, amounts []int64, wait int64) {
	id := string(op.Key)
	switch request := op.Request(); request.Verb {
	case engine.AddCredits:
		if known, ok := n.payments[id]; ok {
			if known.Tokens != request.Tokens || known.PriorAt != request.PriorAt {
				return engine.ReservationDiffers, false, nil, 0
			}
			return engine.OK, true, nil, 0
		}
		expires := request.PriorAt
		if expires == 0 {
			expires = math.MaxInt64
		}
		n.payments[id] = *request
		n.coins.add(now, request.Tokens, expires)
		return engine.OK, true, nil, 0
	case engine.Acquire:
		if n.coins.left() < request.Tokens {
			return engine.OK, false, nil, engine.NeverWait
		}
		n.coins.spend(request.Tokens)
		return engine.OK, true, nil, 0
	case engine.Refund:
		if len(n.coins) == 0 {
			return engine.NotFound, false, nil, 0
		}
		n.coins.giveBack(request.Tokens, math.MaxInt64)
		return engine.OK, false, nil, 0
	case engine.Settle:
		c := n.charges[id]
		used, cancels := op.Tokens, op.Options&engine.Cancel != 0
		if cancels {
			used = 0
		}
		switch {
		case c == nil:
			return engine.NotFound, false, nil, 0
		case c.settled && (used != c.included+c.credits || cancels && c.fixed > 0):
			return engine.SettledOtherwise, false, nil, 0
		case c.settled:
			return engine.OK, true, c.amounts(), 0
		}
		n.settle(now, used, cancels, c)
		return engine.OK, true, c.amounts(), 0
	}
	if c := n.charges[id]; c != nil {
		return engine.OK, true, c.amounts(), 0
	}
	included, credits, wait, ok := n.ask(now, op.Request().Tokens)
	if !ok {
		return engine.OK, false, nil, wait
	}
	c := n.take(now, included, credits)
	c.request = *op.Request()
	n.charges[id] = c
	return engine.OK, true, c.amounts(), 0
}

// Random payments, some of them again, requests through a policy whose cost two windows and a balance divide,
// settlements, refunds and expiries leave each limit and the balance as the model says, and equally on two replicas.
func TestCreditsEqualNaiveModel(t *testing.T) {
	window := func(key string, i int) engine.Op { return engine.Op{Key: []byte(key), Limit: creditLimits[i]} }
	requests := window("requests:{}", 2)
	requests.Options, requests.Tokens = engine.FixedCost, 1
	plan := engine.Op{Verb: engine.SetPolicy, Key: []byte("plan"), Parts: []engine.Op{window("five:{}", 0), window("seven:{}", 1), requests,
		{Key: []byte("bal:{}"), Limit: limits.Limit{Algorithm: limits.Balance}, Options: engine.Else}}}
	seen := map[string]int{}
	for seed := range uint64(testsize.Pick(8, 100)) {
		r := rand.New(rand.NewPCG(seed, 65))
		s, replica := New(Config{Shards: 4}), New(Config{Shards: 1})
		n := &naiveCredits{payments: map[string]engine.Op{}, charges: map[string]*naiveCharge{}}
		for i := range n.used {
			n.used[i] = map[int64]int64{}
		}
		now := epoch
		ask(s, now, plan)
		ask(replica, now, plan)
		for i := range 500 {
			if now += r.Int64N(sec / 2); r.IntN(20) == 0 {
				now += r.Int64N(12 * sec)
				s.Sweep(now, 1000)
			}
			n.coins.expire(now)
			op := n.creditStep(r, now)
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d step %d at %d: %+v\n%s", seed, i, now-epoch, op, fmt.Sprintf(format, args...))
			}
			res, _ := askTwice(t, s, now, op)
			ask(replica, now, op)
			status, granted, amounts, wait := n.carryOut(now, op)
			if res.Status != status || res.Allowed != granted || !granted && res.Status == engine.OK && op.Verb != engine.Refund && res.Wait != wait {
				fail("%+v\nbut the status is %d, granted %t, the wait %d", res, status, granted, wait)
			}
			for j, amount := range amounts {
				if got := res.Parts[j].Granted; got != amount {
					fail("%+v\nbut part %d gives %d", res, j, amount)
				}
			}
			for j, key := range []string{"five:ann", "seven:ann", "requests:ann"} {
				_, free, _ := n.window(j, now)
				look := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte(key)})
				if look.Status == engine.OK && look.Remaining != free || look.Status != engine.OK && free != creditLimits[j].Capacity {
					fail("%s is %+v, but %d are free", key, look, free)
				}
			}
			look := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte("bal:ann")})
			if look.Remaining != n.coins.left() || (look.Status == engine.OK) != (len(n.coins) > 0) {
				fail("the balance is %+v, but %d are left of %d", look, n.coins.left(), len(n.coins))
			}
			listed := int64(0)
			list := ask(s, now, engine.Op{Verb: engine.ListCredits, Key: []byte("bal:ann")})
			for _, g := range list.Credits() {
				listed += g.Added - g.Spent
			}
			if listed != max(0, n.coins.left()) {
				fail("%d are listed, but %d are left", listed, n.coins.left())
			}
			seen[fmt.Sprint(op.Request().Verb, status, granted, min(wait, 1), len(amounts) > 0 && amounts[0] > 0, len(amounts) > 0 && amounts[3] > 0)]++
			if n.coins.left() < 0 {
				seen["debt"]++
			}
		}
		if s.Digest(now) != replica.Digest(now) {
			t.Fatalf("seed %d: the replica differs", seed)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		s.Close()
		replica.Close()
	}
	t.Log(seen)
	for _, what := range []string{
		fmt.Sprint(engine.Check, engine.OK, true, 0, true, true), fmt.Sprint(engine.Check, engine.OK, true, 0, true, false), fmt.Sprint(engine.Check, engine.OK, true, 0, false, true),
		fmt.Sprint(engine.Check, engine.OK, false, -1, false, false), fmt.Sprint(engine.Check, engine.OK, false, 1, false, false), fmt.Sprint(engine.Settle, engine.OK, true, 0, true, true),
		fmt.Sprint(engine.AddCredits, engine.ReservationDiffers, false, 0, false, false), "debt",
	} {
		if seen[what] < 10 {
			t.Errorf("%s: seen %d times", what, seen[what])
		}
	}
}
