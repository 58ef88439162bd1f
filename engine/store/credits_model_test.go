package store

import (
	"fmt"
	"maps"
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

// unspent is the number of coins that are left, by the time at which they expire.
func (p purseOfCoins) unspent() map[int64]int64 {
	by := map[int64]int64{}
	for _, c := range p {
		if !c.spent {
			by[c.expires]++
		}
	}
	return by
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
	ids      []string // of charges, the newest last
}

// naiveCharge is a reservation.
type naiveCharge struct {
	request  engine.Op
	slices   []naiveSlice // of each included window, the newest last
	start    int64        // of the window of the limit with a cost of its own
	included int64        // tokens of each included window
	credits  int64
	fixed    int64 // of the limit with a cost of its own
	last     int64 // when the last credit would have expired
	settled  bool

	count       uint32 // of its extensions
	latest, all int64  // tokens granted by the last of them, and in all
}

// naiveSlice is what a request or one of its extensions took from each included window.
type naiveSlice struct {
	starts [2]int64
	tokens int64
}

func (n *naiveCredits) window(i int, now int64) (start, free, end int64) {
	l := creditLimits[i]
	start = now - now%l.Rate.Period
	return start, l.Capacity - n.used[i][start], start + l.Rate.Period
}

// ask returns what a request takes, or how long it has to wait. Of the limit with a cost of its own it takes fixed.
func (n *naiveCredits) ask(now, cost, fixed int64) (included, credits, wait int64, ok bool) {
	_, five, fiveEnd := n.window(0, now)
	_, seven, sevenEnd := n.window(1, now)
	_, requests, requestsEnd := n.window(2, now)
	included = max(0, min(cost, five, seven))
	credits = cost - included
	if requests < fixed {
		wait = requestsEnd - now
	}
	left := max(0, n.coins.left())
	if credits <= left {
		return included, credits, wait, requests >= fixed
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
	c := &naiveCharge{fixed: 1}
	c.start, _, _ = n.window(2, now)
	n.used[2][c.start]++
	n.takeMore(now, included, credits, c)
	c.count, c.latest = 0, 0
	return c
}

// takeMore takes a slice. Its credits go back as if they had been spent together with the credits of all other slices.
func (n *naiveCredits) takeMore(now, included, credits int64, c *naiveCharge) {
	slice := naiveSlice{tokens: included}
	for i := range slice.starts {
		slice.starts[i], _, _ = n.window(i, now)
		n.used[i][slice.starts[i]] += included
	}
	c.slices = append(c.slices, slice)
	c.included, c.credits, c.last = c.included+included, c.credits+credits, max(c.last, n.coins.spend(credits))
	c.count, c.latest, c.all = c.count+1, included+credits, c.all+included+credits
}

// extend takes more for a reservation, or less if it may.
func (n *naiveCredits) extend(now int64, op engine.Op) (status engine.Status, granted bool, amounts []int64, wait int64) {
	c := n.charges[string(op.Key)]
	switch {
	case c == nil:
		return engine.NotFound, false, nil, 0
	case c.settled:
		return engine.AlreadySettled, false, nil, 0
	case c.count > 0 && op.Nth == c.count:
		return engine.OK, true, c.amounts(), 0
	case op.Nth != c.count+1:
		return engine.NotNext, false, nil, 0
	}
	least := op.Tokens
	if op.Options&engine.UpTo != 0 {
		least = 1
	}
	for cost := op.Tokens; cost >= least; cost-- {
		if included, credits, _, ok := n.ask(now, cost, 0); ok {
			n.takeMore(now, included, credits, c)
			return engine.OK, true, c.amounts(), 0
		}
	}
	_, _, wait, _ = n.ask(now, least, 0)
	return engine.OK, false, c.amounts(), wait
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
		if c.fixed = 0; start == c.start {
			n.used[2][start]--
		}
	}
	for i := range 2 {
		start, _, _ := n.window(i, now)
		n.used[i][start] += max(0, included-c.included)
		less := max(0, c.included-included)
		for _, slice := range slices.Backward(c.slices) {
			back := min(less, slice.tokens)
			n.used[i][slice.starts[i]] -= back
			less -= back
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
	if len(n.ids) > 0 && r.IntN(2) > 0 {
		id = []byte(n.ids[max(0, len(n.ids)-1-r.IntN(6))])
	}
	if r.IntN(3) == 0 {
		return n.extension(r, id)
	}
	switch r.IntN(12) {
	case 0, 1:
		id := fmt.Appendf(nil, "payment:%d", r.IntN(120))
		op := engine.Op{Verb: engine.AddCredits, Key: []byte("bal:ann"), Limit: limits.Limit{Algorithm: limits.Balance}, Tokens: 1 + r.Int64N(18)}
		if r.IntN(3) > 0 {
			op.PriorAt = now + (r.Int64N(40)-4)*sec
		}
		if known, ok := n.payments[string(id)]; ok && r.IntN(4) > 0 {
			op = known
		}
		return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: limits.MaxDuration, Parts: []engine.Op{op}}
	case 2, 3, 4:
		return engine.Op{Verb: engine.Settle, Key: id, Tokens: r.Int64N(40)}
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

func (n *naiveCredits) extension(r *rand.Rand, id []byte) engine.Op {
	op := engine.Op{Verb: engine.Extend, Key: id, Nth: 1, Tokens: 1 + r.Int64N(30), Options: []engine.Option{0, engine.UpTo}[r.IntN(2)]}
	if c := n.charges[string(id)]; c != nil {
		op.Nth = c.count + 1
	}
	if r.IntN(6) == 0 {
		op.Nth = max(1, op.Nth-1+2*r.Uint32N(2))
	}
	return op
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
	case engine.Extend:
		return n.extend(now, op)
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
	included, credits, wait, ok := n.ask(now, op.Request().Tokens, 1)
	if !ok {
		return engine.OK, false, nil, wait
	}
	c := n.take(now, included, credits)
	c.request = *op.Request()
	n.charges[id], n.ids = c, append(n.ids, id)
	return engine.OK, true, c.amounts(), 0
}

// A policy divides its cost between two windows and a balance. After each of many random payments (some are repeated),
// requests, extensions, settlements, refunds and expiries, the limits and the balance are as the model says, on two
// replicas alike.
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
			list := ask(s, now, engine.Op{Verb: engine.ListCredits, Key: []byte("bal:ann")})
			listed := map[int64]int64{}
			for _, g := range list.Credits() {
				listed[g.Expires] = g.Added - g.Spent
			}
			if unspent := n.coins.unspent(); !maps.Equal(listed, unspent) {
				fail("%v are listed by expiry, but %v are left", listed, unspent)
			}
			if c := n.charges[string(op.Key)]; op.Verb == engine.Extend && granted && (res.Number != uint64(c.all) || res.Granted != c.latest) {
				fail("%+v\nbut granted are %d, in all %d", res, c.latest, c.all)
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
		fmt.Sprint(engine.Extend, engine.OK, true, 0, true, true), fmt.Sprint(engine.Extend, engine.OK, true, 0, true, false), fmt.Sprint(engine.Extend, engine.OK, true, 0, false, true),
		fmt.Sprint(engine.Extend, engine.OK, false, -1, true, true), fmt.Sprint(engine.Extend, engine.OK, false, 1, true, true),
		fmt.Sprint(engine.Extend, engine.NotNext, false, 0, false, false), fmt.Sprint(engine.Extend, engine.AlreadySettled, false, 0, false, false),
	} {
		if seen[what] < 10 {
			t.Errorf("%s: seen %d times", what, seen[what])
		}
	}
}
