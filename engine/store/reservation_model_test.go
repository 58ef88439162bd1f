package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// request decides several limits, all or nothing, and keeps their decisions.
func (l *ledger) request(now int64, parts []engine.Op) (taken []bookedPart, status engine.Status, fits bool) {
	next := make([]*account, len(parts))
	fits = true
	for i, op := range parts {
		a := l.of(now, op.Key, op.Limit).copied()
		next[i] = a
		if op.AsksNothing() {
			if a.limit.Algorithm != op.Limit.Algorithm {
				status, fits = engine.WrongType, false
			}
			next[i] = nil
			taken = append(taken, bookedPart{op: op})
			continue
		}
		granted, where, st, ok := a.take(now, op)
		if fits = fits && ok; st != engine.OK && status == engine.OK {
			status = st
		}
		taken = append(taken, bookedPart{op: op, charged: granted, at: where})
	}
	if !fits {
		return nil, status, false
	}
	for i, a := range next {
		if a != nil {
			l.accounts[string(parts[i].Key)] = a
		}
	}
	return taken, engine.OK, true
}

// settle charges other amounts, or fails and changes nothing.
func (l *ledger) settle(now int64, op engine.Op) (charged []int64, status engine.Status) {
	b := l.booked[string(op.Key)]
	if b == nil || b.end <= now {
		return nil, engine.NotFound
	}
	if len(op.Parts) > 0 && len(op.Parts) != len(b.parts) {
		return nil, engine.WrongAmounts
	}
	for i, p := range b.parts {
		n := op.Tokens
		switch {
		case p.op.Limit.Algorithm == limits.Concurrency || op.Options&engine.Cancel != 0:
			n = 0
		case len(op.Parts) > 0 && op.Parts[i].Options&engine.FixedCost != 0:
			n = op.Parts[i].Tokens
		case len(op.Parts) > 0 || p.op.Options&engine.FixedCost != 0:
			n = p.charged
		}
		charged = append(charged, n)
	}
	if b.settled {
		for i, p := range b.parts {
			if charged[i] != p.charged {
				return nil, engine.SettledOtherwise
			}
		}
		return charged, engine.OK
	}
	more := []engine.Op{}
	for i, p := range b.parts {
		if n := charged[i] - p.charged; n > 0 {
			a := l.of(now, p.op.Key, p.op.Limit)
			limit := p.op.Limit
			if a.limit.Algorithm == limit.Algorithm {
				limit = a.limit
			}
			more = append(more, engine.Op{Key: p.op.Key, Limit: limit, Tokens: n, Options: engine.Force})
		}
	}
	if _, status, fits := l.request(now, more); !fits {
		return nil, status
	}
	for i := range b.parts {
		p := &b.parts[i]
		a := l.of(now, p.op.Key, p.op.Limit)
		if n := p.charged - charged[i]; n > 0 && a.limit.Algorithm == p.op.Limit.Algorithm {
			p.giveBack(a, now, n)
		}
		p.charged = charged[i]
	}
	b.settled = true
	return charged, engine.OK
}

// extend takes more tokens for a reservation, or fails and changes nothing.
func (l *ledger) extend(now int64, op engine.Op) (granted int64, status engine.Status) {
	b := l.booked[string(op.Key)]
	switch {
	case b == nil || b.end <= now:
		return 0, engine.NotFound
	case b.settled:
		return 0, engine.AlreadySettled
	case b.count > 0 && op.Nth == b.count:
		return b.last, engine.OK
	case op.Nth != b.count+1:
		return 0, engine.NotNext
	}
	least := op.Tokens
	if op.Options&engine.UpTo != 0 {
		least = 1
	}
	for n := op.Tokens; n >= least; n-- {
		parts := []engine.Op{}
		for _, p := range b.parts {
			part := engine.Op{Key: p.op.Key, Who: p.op.Who, Limit: p.op.Limit, Tokens: n}
			if isLease := p.op.Limit.Algorithm == limits.Concurrency; isLease && p.charged == 0 || !isLease && p.op.Options&engine.FixedCost != 0 {
				part.Options, part.Tokens = engine.FixedCost, 0
			}
			parts = append(parts, part)
		}
		taken, status, fits := l.request(now, parts)
		if status != engine.OK {
			return 0, status
		}
		if !fits {
			continue
		}
		for i := range b.parts {
			if p := &b.parts[i]; p.op.Limit.Algorithm != limits.Concurrency {
				p.charged, p.more = p.charged+taken[i].charged, append(p.more, engine.Grant{Time: taken[i].at, Tokens: taken[i].charged})
			}
		}
		b.count, b.last = op.Nth, n
		if op.MaxWait > 0 {
			b.end = max(b.end, now+op.MaxWait)
		}
		return n, engine.OK
	}
	return 0, engine.OK
}

// ledgerExtension extends one of a few ids.
func ledgerExtension(r *rand.Rand, l *ledger, id []byte) engine.Op {
	op := engine.Op{Verb: engine.Extend, Key: id, Nth: 1 + r.Uint32N(3), Tokens: 1 + r.Int64N(9), Options: []engine.Option{0, engine.UpTo}[r.IntN(2)]}
	if b := l.booked[string(id)]; b != nil && r.IntN(6) > 0 {
		op.Nth = b.count + 1
	}
	if r.IntN(3) == 0 {
		op.MaxWait = 1 + r.Int64N(20*sec)
	}
	return op
}

// ledgerLimits are of every algorithm; each is that of some keys.
var ledgerLimits = []limits.Limit{
	{Algorithm: limits.TokenBucket, Capacity: 20, Rate: limits.Rate{Tokens: 7, Period: sec}}, {Algorithm: limits.LeakyBucket, Capacity: 9, Rate: limits.Rate{Tokens: 3, Period: sec}}, {Algorithm: limits.GCRA, Capacity: 12, Rate: limits.Rate{Tokens: 11, Period: 3 * sec}}, {Algorithm: limits.LeakyQueue, Capacity: 8, Rate: limits.Rate{Tokens: 5, Period: sec}},
	{Algorithm: limits.FixedWindow, Capacity: 15, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}}, {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 15, Rate: limits.Rate{Tokens: 0, Period: 3 * sec}}, {Algorithm: limits.SlidingWindow, Capacity: 14, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}},
	{Algorithm: limits.SlidingLog, Capacity: 400, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}}, {Algorithm: limits.Concurrency, Capacity: 4, Rate: limits.Rate{Tokens: 0, Period: 5 * sec}}, {Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 100 * sec}},
	{Algorithm: limits.SlidingSegments, Segments: 5, Capacity: 14, Rate: limits.Rate{Period: 2 * sec}},
}

// ledgerPart asks one of a few keys, whose limit now and then changes.
func ledgerPart(r *rand.Rand, n int) engine.Op {
	n %= 2 * len(ledgerLimits)
	l := ledgerLimits[n/2]
	if r.IntN(12) == 0 {
		l.Capacity = 300 + r.Int64N(200)
	}
	if r.IntN(6) == 0 && l.Algorithm != limits.SlidingLog {
		l.Capacity = 1 + r.Int64N(25)
	}
	if isMeter(l.Algorithm) && r.IntN(6) == 0 {
		l.Rate.Tokens = 1 + r.Int64N(20)
	}
	op := engine.Op{Key: fmt.Appendf(nil, "key-%d", n), Limit: l, Tokens: 1 + r.Int64N(6)}
	if l.Algorithm == limits.Concurrency {
		op.Who = fmt.Appendf(nil, "holder-%d", r.IntN(6))
	}
	if other := ledgerLimits[[]int{0, 1, 2, 3, 6, 7}[r.IntN(6)]]; r.IntN(15) == 0 && l.Algorithm != limits.Concurrency && l.Algorithm != other.Algorithm {
		op.Limit = other
	}
	return op
}

// ledgerRequest is a request that can be reserved.
func ledgerRequest(r *rand.Rand) engine.Op {
	if op := ledgerPart(r, r.IntN(2*len(ledgerLimits))); r.IntN(2) == 0 && op.Limit.Algorithm.Keeps() {
		op.Options = []engine.Option{0, 0, engine.UpTo, engine.Force}[r.IntN(4)]
		if r.IntN(4) == 0 && isMeter(op.Limit.Algorithm) && op.Options&engine.Force == 0 {
			op.MaxWait = r.Int64N(2 * sec)
		}
		return op
	}
	n, parts := r.IntN(100), []engine.Op{}
	for i := range 1 + r.IntN(4) {
		p := ledgerPart(r, n+i*3)
		if r.IntN(3) == 0 {
			p.Options, p.Tokens = engine.FixedCost, r.Int64N(4)
		}
		parts = append(parts, p)
	}
	return severalOf(1+r.Int64N(6), parts...)
}

// ledgerSettlement settles one of a few ids.
func ledgerSettlement(r *rand.Rand, l *ledger, id []byte) engine.Op {
	op := engine.Op{Verb: engine.Settle, Key: id, Tokens: r.Int64N(9)}
	if r.IntN(10) == 0 {
		op.Tokens = limits.MaxTokens - r.Int64N(3)
	}
	switch b := l.booked[string(id)]; {
	case r.IntN(3) == 0:
		op.Options, op.Tokens = engine.Cancel, 1
	case r.IntN(2) == 0 && b != nil:
		for range len(b.parts) + r.IntN(30)/29 {
			p := engine.Op{}
			if r.IntN(3) > 0 {
				p = engine.Op{Tokens: r.Int64N(9), Options: engine.FixedCost}
			}
			op.Parts = append(op.Parts, p)
		}
	}
	return op
}

// asked are the limits of a request.
func asked(request *engine.Op) []engine.Op {
	if request.Verb == engine.AcquireAll {
		return request.Parts
	}
	return []engine.Op{*request}
}

// Random requests with ids, sent again, settled and canceled, among ordinary ones, take and give back as many tokens as
// the ledger says, and a failure changes nothing.
func TestReservationsAgainstLedger(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(testsize.Pick(40, 150)) {
		r := rand.New(rand.NewPCG(seed, 16))
		s := New(Config{Shards: 4})
		l := &ledger{accounts: map[string]*account{}, booked: map[string]*booking{}}
		now := epoch
		for i := range 600 {
			switch r.IntN(30) {
			case 0: // expired entries do not come back
				s.Sweep(now, 1000)
				l.sweep(now)
			case 1:
				now += r.Int64N(6 * sec)
			default:
				now += r.Int64N(sec / 4)
			}
			id := fmt.Appendf(nil, "id-%d", r.IntN(12))
			fail := func(op engine.Op, format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d step %d at %d: %+v\n%s", seed, i, now-epoch, op, fmt.Sprintf(format, args...))
			}
			b := l.booked[string(id)]
			if b != nil && b.end <= now {
				b = nil
			}
			switch r.IntN(12) {
			case 0:
				op := engine.Op{Verb: engine.Delete, Key: id}
				if r.IntN(2) == 0 {
					op.Key = ledgerPart(r, r.IntN(100)).Key
				}
				ask(s, now, op)
				delete(l.booked, string(op.Key))
				delete(l.accounts, string(op.Key))
			case 1, 2:
				op := ledgerRequest(r)
				res, _ := askTwice(t, s, now, op)
				_, status, fits := l.request(now, asked(&op))
				if res.Allowed != fits || res.Status != status {
					fail(op, "%+v, but fits %t, status %d", res, fits, status)
				}
			case 3, 4, 5:
				op := ledgerSettlement(r, l, id)
				res, same := askTwice(t, s, now, op)
				was := b != nil && b.settled
				charged, status := l.settle(now, op)
				if res.Status != status || same != (status != engine.OK || was) {
					fail(op, "%+v, but the status is %d; same %t", res, status, same)
				}
				for j := range charged {
					if got := &res.Parts[j]; got.Granted != charged[j] {
						fail(op, "part %d: %+v, but charged %d", j, got, charged[j])
					}
				}
				seen[fmt.Sprint("settle ", status, was, status == engine.OK && op.Tokens > 9)]++
			case 6, 7:
				op := ledgerExtension(r, l, id)
				res, same := askTwice(t, s, now, op)
				isAgain := b != nil && b.count > 0 && b.count == op.Nth
				granted, status := l.extend(now, op)
				if res.Status != status || res.Granted != granted || res.Allowed && !isAgain && res.Wait != longestWait(&res) || res.Allowed != (granted > 0) || same != (granted == 0 || isAgain) {
					fail(op, "%+v, but granted %d, status %d; same %t", res, granted, status, same)
				}
				seen[fmt.Sprint("extend ", status, granted == op.Tokens, granted > 0, isAgain)]++
			default:
				op := engine.Op{Verb: engine.Reserve, Key: id, MaxWait: 1 + r.Int64N(20*sec), Parts: []engine.Op{ledgerRequest(r)}}
				if b != nil && r.IntN(4) > 0 {
					op = b.request
				}
				res, same := askTwice(t, s, now, op)
				switch {
				case b == nil:
					parts := asked(&op.Parts[0])
					taken, status, fits := l.request(now, parts)
					if res.Allowed != fits || res.Status != status || same == fits {
						fail(op, "%+v, but fits %t, status %d, same %t", res, fits, status, same)
					}
					if fits {
						l.booked[string(id)] = &booking{request: op, answer: res, end: now + op.MaxWait, parts: taken}
					}
					seen[fmt.Sprint("reserve ", status, fits)]++
				case !same:
					fail(op, "a repeated request changed something")
				case reflect.DeepEqual(op, b.request):
					if !res.Allowed || res.Granted != b.answer.Granted || res.Wait != b.answer.Wait || res.Binding != b.answer.Binding || len(res.Parts) != len(b.answer.Parts) {
						fail(op, "again\n%+v\nbut first\n%+v", res, b.answer)
					}
					seen["again"]++
				case res.Status != engine.ReservationDiffers || res.Allowed:
					fail(op, "%+v for other parameters", res)
				default:
					seen["other"]++
				}
			}
			for key, a := range l.accounts {
				res := ask(s, now, engine.Op{Verb: engine.Look, Key: []byte(key)})
				if a.isEmpty(now) {
					if res.Status != engine.NotFound {
						t.Fatalf("seed %d step %d: %s is %+v, but empty", seed, i, key, res)
					}
					continue
				}
				if want := a.remaining(now); res.Held != a.limit || res.Remaining != want || want > a.limit.Capacity {
					t.Fatalf("seed %d step %d: %s is %+v\nbut %d remain of %+v", seed, i, key, res, want, a.limit)
				}
				if a.limit.Algorithm == limits.SlidingLog {
					live := slices.DeleteFunc(slices.Clone(a.grants), func(g engine.Grant) bool { return g.Time <= now-a.limit.Rate.Period })
					log := ask(s, now, engine.Op{Verb: engine.ListLog, Key: []byte(key), Tokens: engine.MaxGrants})
					if got := log.Grants(); !slices.Equal(got, live) {
						t.Fatalf("seed %d step %d: %s lists %v, not %v", seed, i, key, got, live)
					}
				}
			}
		}
		s.Close()
	}
	t.Log(seen)
	for _, what := range []string{"again", "other", "reserve 0 true", "reserve 0 false", fmt.Sprint("reserve ", engine.WrongType, " false"), "settle 0 false false", "settle 0 true false",
		fmt.Sprint("settle ", engine.SettledOtherwise, " true false"), fmt.Sprint("settle ", engine.NotFound, " false false"), fmt.Sprint("settle ", engine.DebtTooBig, " false false"),
		fmt.Sprint("settle ", engine.WrongType, " false false"), fmt.Sprint("settle ", engine.WrongAmounts, " false false"), "settle 0 false true",
		"extend 0 true true false", "extend 0 false true false", "extend 0 false false false", "extend 0 false true true", fmt.Sprint("extend ", engine.NotNext, " false false false"), fmt.Sprint("extend ", engine.AlreadySettled, " false false false")} {
		if seen[what] < 5 {
			t.Errorf("%s: seen %d times", what, seen[what])
		}
	}
}

func longestWait(res *engine.Result) (wait int64) {
	for i := range res.Parts {
		wait = max(wait, res.Parts[i].Wait)
	}
	return wait
}

// askTwice applies an operation, after it was asked read-only, and reports whether that changed nothing.
func askTwice(t *testing.T, s *Store, now int64, op engine.Op) (res engine.Result, same bool) {
	t.Helper()
	var first engine.Result
	before := s.Digest(now)
	done := s.TryReadOnly(now, &op, &first)
	if between := s.Digest(now); !bytes.Equal(between[:], before[:]) {
		t.Fatalf("%+v changed something read-only", op)
	}
	res = ask(s, now, op)
	same = s.Digest(now) == before
	if done && !sameResult(first, res) {
		t.Fatalf("%+v\nread-only %+v\nbut       %+v", op, first, res)
	}
	if done && !same {
		t.Fatalf("%+v was answered read-only and changes something", op)
	}
	return res, same
}
