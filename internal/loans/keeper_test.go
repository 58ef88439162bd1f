package loans

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
)

const (
	capacity = 100
	timeout  = time.Second
)

// bucket hardly refills, so that all its tokens can be counted.
var bucket = limits.Limit{
	Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: int64(24 * time.Hour)},
}

// stores are a home and a holder, and how they answer.
type stores struct {
	home, away *store.Store
	do         func(s *store.Store, ops []engine.Op) []engine.Result
	turns      Turns
}

func newStores(do func(s *store.Store, ops []engine.Op) []engine.Result) stores {
	if do == nil {
		do = apply
	}
	return stores{store.New(store.Config{Shards: 1}), store.New(store.Config{Shards: 1}), do, NewTurns()}
}

func apply(s *store.Store, ops []engine.Op) []engine.Result {
	results := make([]engine.Result, len(ops))
	s.Apply(time.Now().UnixNano(), ops, results)
	return results
}

func (s stores) close() {
	s.home.Close()
	s.away.Close()
}

func (s stores) options() Options {
	turns := func(int) Turns { return s.turns }
	now := func() int64 { return time.Now().UnixNano() }
	replica := Replica{Leads: func() bool { return true }, Now: now, Store: s.away}
	return Options{
		Home:            func(ops ...engine.Op) []engine.Result { return s.do(s.home, ops) },
		HomeTurns:       func([]byte) Turns { return s.turns },
		HomeIsReachable: func() bool { return true },

		Purses: func(_ int, ops ...engine.Op) []engine.Result { return s.do(s.away, ops) }, PurseTurns: turns,
		Holder: func(int) string { return "holder" }, InPurse: limits.Limit.InPurse, Count: Store.PurseCount,
		Replicas: func() []Replica { return []Replica{replica} }, IsKept: func(int, []byte) bool { return true },

		Timeout: timeout, Ahead: time.Second, LastAhead: 2 * DenyFor, IdleAfter: time.Second, EmptyAfter: 2 * time.Second, RestFor: time.Second,
		TidyEvery: 100 * time.Millisecond, Low: 1. / 2, LowLeading: 1. / 2, MaxReturns: 1000,
	}
}

// keep begins a Keeper of the stores, until end.
func (s stores) keep(t *testing.T, homeDecides bool) (k *Keeper, end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	o := s.options()
	o.HomeDecides = homeDecides
	k = New(ctx, o)
	return k, func() {
		cancel()
		k.Close()
	}
}

// request asks for tokens of a key under bucket, and waits at most once.
type request struct {
	tokens int64
	needs  bool // a loan
	until  time.Time
	res    engine.Result
	after  Outcome
	done   chan struct{}
}

func (r *request) Op() engine.Op {
	kept, _ := bucket.InPurse()
	return engine.Op{Verb: engine.Acquire, Key: []byte("k"), Limit: kept, Tokens: r.tokens}
}
func (r *request) Tokens() int64    { return r.tokens }
func (r *request) NeedsLoan() bool  { return r.needs }
func (r *request) Until() time.Time { return r.until }
func (r *request) Expired()         { r.Decided(nil, &engine.Result{Status: engine.NoHome}, &Outcome{}) }

func (r *request) Decided(_ *Key, res *engine.Result, after *Outcome) {
	r.res, r.after = *res, *after
	close(r.done)
}

// take asks the purse for tokens, and waits for a loan if it has too few.
func (s stores) take(k *Keeper, tokens int64) *request {
	r := &request{tokens: tokens, needs: !k.opt.HomeDecides, until: time.Now().Add(timeout), done: make(chan struct{})}
	key, now := k.Key(0, []byte("k")), time.Now()
	if r.res = s.do(s.away, []engine.Op{r.Op()})[0]; r.res.Status == engine.OK && r.res.Allowed {
		key.Granted(now, bucket, tokens, r.res.Remaining)
		return r
	}
	if key.Wait(now, bucket, r) == engine.OK {
		<-r.done
	}
	return r
}

// A request waits for a loan, later ones are granted from the purse, and what is unused goes back.
func TestTokensComeAndGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStores(nil)
		defer s.close()
		k, end := s.keep(t, false)
		defer end()
		if r := s.take(k, 5); !r.res.Allowed || r.after.Refusal.Status != engine.OK || r.after.IsDry {
			t.Errorf("%+v after %+v", r.res, r.after)
		}
		if r := s.take(k, capacity); r.res.Allowed || !r.after.IsDry {
			t.Errorf("%d tokens more than home has: %+v after %+v", r.tokens, r.res, r.after)
		}
		if _, holds := k.Key(0, []byte("k")).Denied(time.Now(), bucket, capacity, true); !holds {
			t.Error("the denial is not kept")
		}
		time.Sleep(10 * time.Second)
		if c := k.Counts(); s.away.PurseCount() != 0 || s.lent() != 0 || c.Lent != 5+c.Returned || c.Dropped != 0 {
			t.Errorf("%d tokens are lent, in %d purses: %+v", s.lent(), s.away.PurseCount(), c)
		}
	})
}

// lent returns the tokens that home has lent.
func (s stores) lent() int64 {
	return apply(s.home, []engine.Op{{Verb: engine.Look, Key: []byte("k")}})[0].Lent
}

// Whatever steps of operations on loans are lost, before they are carried out or after, two processes with one store
// are granted no token twice, and none is lost: in the end all others are home. The exception is a loan that nobody can
// know: one process ends the purse, because home had nothing to lend, while the other sends the operation again, is lent
// tokens, and does not hear of it.
func TestLostStepsGrantNothingTwice(t *testing.T) {
	for _, homeDecides := range []bool{false, true} {
		for seed := range testsize.Pick(100, 1000) {
			synctest.Test(t, func(t *testing.T) { loseSteps(t, homeDecides, testsize.Seed()+uint64(seed)) })
		}
	}
}

func loseSteps(t *testing.T, homeDecides bool, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	loses := true
	unheard, ended := map[uint64]int64{}, map[uint64]bool{} // first loans of a purse by their numbers, and purses that ended without one
	var granted atomic.Int64
	s := newStores(func(s *store.Store, ops []engine.Op) []engine.Result {
		isRequest := ops[0].Verb == engine.Acquire && ops[0].Options&engine.Peek == 0
		mu.Lock()
		chance, before, after := random.IntN(4), random.IntN(50), random.IntN(50)
		isLost := loses && !isRequest
		mu.Unlock()
		time.Sleep(time.Duration(before) * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if isLost && chance == 0 {
			return []engine.Result{{Status: engine.Uncertain}, {}, {}}[:len(ops)]
		}
		results := apply(s, ops)
		switch loan := ops[0].Loan; {
		case ops[0].Verb == engine.Lend && loan.Previous == 0 && isLost && chance == 1:
			unheard[loan.Number] = results[0].Granted
		case ops[0].Verb == engine.Deposit && loan.Previous == 0 && ops[0].Tokens == 0:
			ended[loan.Number] = true
		}
		mu.Unlock()
		time.Sleep(time.Duration(after) * time.Millisecond)
		mu.Lock()
		if isLost && chance == 1 {
			return []engine.Result{{Status: engine.Uncertain}, {}, {}}[:len(ops)]
		}
		return results
	})
	defer s.close()
	var clients sync.WaitGroup
	for range 2 {
		k, end := s.keep(t, homeDecides)
		defer end()
		for range 3 {
			clients.Go(func() {
				for range 30 {
					granted.Add(s.take(k, 1).res.Granted)
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
	}
	clients.Go(func() { s.lendToOther(20) })
	clients.Wait()
	mu.Lock()
	loses = false
	mu.Unlock()
	time.Sleep(time.Minute)
	takeAll := engine.Op{Verb: engine.Acquire, Key: []byte("k"), Limit: bucket, Tokens: capacity, Options: engine.UpTo}
	rest := apply(s.home, []engine.Op{takeAll})[0]
	unknown := int64(0)
	for number, tokens := range unheard {
		if ended[number] {
			unknown += tokens
		}
	}
	if sum := granted.Load() + rest.Granted; sum > capacity || sum < capacity-unknown || granted.Load() == 0 {
		t.Errorf("seed %d: %d tokens are granted and %d are left, of %d, and nobody knows of %d", seed, granted.Load(), rest.Granted, capacity, unknown)
	}
	if s.lent() != 0 || s.away.PurseCount() != 0 {
		t.Errorf("seed %d: %d tokens are lent still, and there are %d purses", seed, s.lent(), s.away.PurseCount())
	}
}

// Another node brings the purse to its end, or has home lend, between two steps of an operation: no token is lost.
func TestStepsOfAnotherNodeBetween(t *testing.T) {
	kept, _ := bucket.InPurse()
	key := []byte("k")
	other := engine.Op{
		Verb: engine.Lend, Key: key, Limit: bucket, Tokens: capacity, Options: engine.Whole,
		Who: []byte("other"), Loan: &engine.Loan{Number: 1},
	}
	endsPurse := func(s stores, op *engine.Op) {
		if op.Verb == engine.Lend {
			p := purse.Purse{Number: op.Loan.Number, Prepared: true}
			apply(s.away, []engine.Op{p.Answered(key, 0, 0)})
		}
	}
	var sent engine.Op // the operation on the loan
	var tries int
	for name, c := range map[string]struct {
		begin   func(s stores, k *Keeper)
		before  func(s stores, op *engine.Op) // each step
		loses   func(op *engine.Op) bool      // a step
		tokens  int64
		granted bool
		lent    int64 // in the end
	}{
		"home lends before the operation is closed": {
			begin: func(s stores, k *Keeper) {
				s.borrow(10)
				apply(s.home, []engine.Op{other})
				if r := s.take(k, 11); r.res.Allowed || !r.after.IsDry {
					t.Errorf("home has tokens: this test shows nothing: %+v after %+v", r.res, r.after)
				}
				// the operation that stays prepared does not state this token as spent
				apply(s.away, []engine.Op{{Verb: engine.Acquire, Key: key, Limit: kept, Tokens: 1}})
			},
			before: func(s stores, op *engine.Op) {
				switch {
				case op.Verb == engine.Lend:
					sent = op.Clone()
				case op.Verb == engine.Return && op.Keep != 0:
					back := other.Clone()
					back.Verb, back.Loan = engine.Return, &engine.Loan{Number: 2, Previous: 1, Left: capacity - 10}
					apply(s.home, []engine.Op{back, sent})
				}
			},
			tokens: 10, granted: true, lent: 11,
		},
		"the purse ends before home lends": {begin: func(stores, *Keeper) {}, before: endsPurse, tokens: 1},
		"the purse ends, and what comes late goes back at the third try": {
			begin: func(stores, *Keeper) { tries = 0 }, before: endsPurse, tokens: 1,
			loses: func(op *engine.Op) bool {
				if op.Verb == engine.Return {
					tries++
				}
				return op.Verb == engine.Return && tries < 3
			},
		},
		"the purse ends, and nobody hears that tokens came late": {
			begin: func(stores, *Keeper) { tries = 0 }, tokens: 1,
			before: func(s stores, op *engine.Op) {
				if endsPurse(s, op); op.Verb == engine.Deposit && tries == 0 {
					apply(s.away, []engine.Op{*op})
				}
			},
			loses: func(op *engine.Op) bool {
				if op.Verb == engine.Deposit {
					tries++
				}
				return op.Verb == engine.Deposit && tries == 1
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s stores
				s = newStores(func(at *store.Store, ops []engine.Op) []engine.Result {
					c.before(s, &ops[0])
					if c.loses != nil && c.loses(&ops[0]) {
						return []engine.Result{{Status: engine.Uncertain}}
					}
					return apply(at, ops)
				})
				defer s.close()
				k, end := s.keep(t, false)
				defer end()
				c.begin(s, k)
				if r := s.take(k, c.tokens); r.res.Allowed != c.granted || s.lent() != c.lent {
					t.Errorf("%+v after %+v, and %d are lent", r.res, r.after, s.lent())
				}
			})
		})
	}
}

// borrow brings tokens into the purse that nobody has asked for.
func (s stores) borrow(tokens int64) {
	kept, _ := bucket.InPurse()
	key := []byte("k")
	prepared := apply(s.away, []engine.Op{{Verb: engine.Prepare, Key: key, Limit: kept}})[0]
	p := purse.Of(&prepared)
	loan := p.Loan()
	lend := engine.Op{
		Verb: engine.Lend, Key: key, Limit: bucket, Tokens: tokens, Options: engine.Whole,
		Who: []byte("holder"), Loan: &loan,
	}
	lent := apply(s.home, []engine.Op{lend})[0]
	apply(s.away, []engine.Op{p.Answered(key, lent.Granted, lent.Number)})
}

// lendToOther has home lend all tokens to another holder some times, and takes them back a moment later.
func (s stores) lendToOther(times int) {
	other := engine.Op{Key: []byte("k"), Limit: bucket, Tokens: capacity, Who: []byte("other"), Options: engine.Whole}
	for range times {
		other.Verb, other.Loan = engine.Lend, &engine.Loan{Number: 1}
		lent := apply(s.home, []engine.Op{other})[0].Granted
		time.Sleep(70 * time.Millisecond)
		if lent > 0 {
			other.Verb, other.Loan = engine.Return, &engine.Loan{Number: 2, Previous: 1, Left: lent}
			apply(s.home, []engine.Op{other})
		}
		time.Sleep(70 * time.Millisecond)
	}
}

// Home that answers with an error of its own is not asked for loans for a while, and the requests hear of it.
func TestHomeRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStores(func(s *store.Store, ops []engine.Op) []engine.Result {
			if ops[0].Verb == engine.Lend {
				return []engine.Result{{Status: Refused}}
			}
			return apply(s, ops)
		})
		defer s.close()
		k, end := s.keep(t, true)
		defer end()
		key := k.Key(0, []byte("k"))
		key.Granted(time.Now().Add(time.Minute), bucket, 1e6, 1e6)
		if !key.IsWorthLoan(time.Now(), bucket, 1) {
			t.Fatal("no loan is worth it: this test shows nothing")
		}
		if r := s.take(k, 1); r.after.Refusal.Status != Refused {
			t.Errorf("%+v", r.after)
		}
		if key.IsWorthLoan(time.Now(), bucket, 1) {
			t.Error("home is asked again at once")
		}
	})
}

// 65,536 keys have a place, and 4096 requests for one of them. At the end of the Keeper all are ended.
func TestKeysAndRequestsAreBounded(t *testing.T) {
	const keys, waiters = 65536, 4096
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		s := newStores(func(s *store.Store, ops []engine.Op) []engine.Result {
			<-hangs
			return apply(s, ops)
		})
		defer s.close()
		k, end := s.keep(t, false)
		for i := range keys {
			if k.Key(i%2, []byte(strconv.Itoa(i))) == nil {
				t.Fatalf("key %d has no place", i+1)
			}
		}
		if k.Key(0, []byte("more")) != nil || k.Key(0, []byte("0")) == nil {
			t.Error("another key has a place, or a known one has none")
		}
		key, now := k.Key(0, []byte("0")), time.Now()
		all := make([]*request, waiters+1)
		for i := range all {
			all[i] = &request{tokens: 1, until: now.Add(timeout), done: make(chan struct{})}
			want := engine.OK
			if i == waiters {
				want = engine.Overloaded
			}
			if got := key.Wait(now, bucket, all[i]); got != want {
				t.Fatalf("request %d waits with status %d, want %d", i+1, got, want)
			}
		}
		go end()
		synctest.Wait()
		for _, r := range all[:waiters] {
			if <-r.done; r.res.Status != engine.NoHome {
				t.Fatalf("a request that waits at the end is answered %+v", r.res)
			}
		}
		close(hangs)
		synctest.Wait()
		if status := k.Key(1, []byte("1")).Wait(now, bucket, all[waiters]); status != engine.NoLeader {
			t.Errorf("after the end, a request waits with status %d", status)
		}
	})
}

// 256 steps are under way with a node. Others wait until one ends, for as long as they may.
func TestTurns(t *testing.T) {
	const most = 256
	turns, ops := NewTurns(), make([]engine.Op, 2)
	do := func(ops ...engine.Op) []engine.Result { return make([]engine.Result, len(ops)) }
	for range most {
		turns <- struct{}{}
	}
	if got := turns.take(time.Millisecond, ops, do); len(got) != 2 || got[1].Status != engine.Overloaded {
		t.Errorf("one more: %+v", got)
	}
	<-turns
	if got := turns.take(time.Hour, ops, do); len(got) != 2 || got[1].Status != engine.OK || len(turns) != most-1 {
		t.Errorf("after the end of one: %+v, and %d are under way", got, len(turns))
	}
}

// However many keys are in demand, 256 operations on loans of a place with a node have a goroutine. The others follow in
// their order.
func TestOperationsWaitInLine(t *testing.T) {
	const most, more = 256, 50
	var l lines
	var begun []func()
	var order []int
	start := func(f func()) bool {
		begun = append(begun, f)
		return true
	}
	home := NewTurns()
	for i := range most + more {
		l.begin(lineID{1, home}, start, func() bool { order = append(order, i); return false })
	}
	once := func() bool { return false }
	l.begin(lineID{2, home}, start, once)
	l.begin(lineID{1, NewTurns()}, start, once)
	if len(begun) != most+2 {
		t.Fatalf("%d have begun, want %d of the first place and one of each other", len(begun), most)
	}
	for _, f := range begun {
		f()
	}
	if len(order) != most+more || order[more] != most+more-1 || len(l.lines) != 0 {
		t.Errorf("carried out were %v, and %d lines are left", order, len(l.lines))
	}
	if l.begin(lineID{1, home}, func(func()) bool { return false }, nil) || len(l.lines) != 0 {
		t.Error("an operation has begun at the end")
	}
}

// idle has the purses of some keys, always in the same order.
type idle struct {
	Store
	keys int
}

func (p idle) PurseCount() int64 { return int64(p.keys) }

func (p idle) Purses(visit func(key []byte, limit limits.Limit, p purse.Purse)) {
	for i := range p.keys {
		visit([]byte(strconv.Itoa(i)), limits.Limit{}, purse.Purse{})
	}
}

// Tokens that cannot be returned, of however many keys, hold up no others: each round goes on after the last.
func TestReturnsTakeTurns(t *testing.T) {
	const most = 4096
	const keys = 3*most + 1
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing begins
	k := &Keeper{opt: stores{}.options(), ctx: ctx, keys: map[keyID]*Key{}}
	k.opt.MaxReturns = most
	k.opt.Replicas = func() []Replica {
		return []Replica{{Leads: func() bool { return true }, Now: func() int64 { return 0 }, Store: idle{keys: keys}}}
	}
	passed := 0
	for range 4 {
		passed = k.ReturnAll(passed)
	}
	if len(k.keys) != keys || passed != 0 {
		t.Errorf("the tokens of %d of %d keys had their turn, and %d are passed next", len(k.keys), keys, passed)
	}
}
