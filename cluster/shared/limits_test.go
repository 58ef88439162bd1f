package shared

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/loans"
)

const (
	lost     = 0 // the group whose leader may be gone
	home     = 1 // the group of the shared limit
	away     = 2
	capacity = 20
	timeout  = 10 * time.Second
)

// limit is the shared limit. It hardly refills.
var limit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: int64(24 * time.Hour)}}

// groups are the groups of a cluster. They decide operations at once, except those that are held up.
type groups struct {
	t      *testing.T
	stores [3]*store.Store
	mu     sync.Mutex
	held   []*holdUp

	leader  *Limits
	latency time.Duration                 // of each operation
	applied map[engine.Verb]int           // how many
	isLost  bool                          // the group without a leader answers nothing
	purses  func(loans.Store) loans.Store // as nodes see them; nil for as they are
}

// holdUp holds up the next operation of a verb, or the answer to it.
type holdUp struct {
	verb     engine.Verb
	isAnswer bool
	came     chan struct{} // closed when it is held up
	release  chan struct{}
}

func newGroups(t *testing.T) *groups {
	g := &groups{t: t, applied: map[engine.Verb]int{}}
	for number := range g.stores {
		g.stores[number] = store.New(store.Config{Shards: 1, Replicated: true, Owns: func(key []byte) bool { return homeOf(key) == number }})
	}
	return g
}

func homeOf(key []byte) int {
	switch {
	case bytes.HasPrefix(key, []byte("shared")):
		return home
	case bytes.HasPrefix(key, []byte("lost")):
		return lost
	}
	return away
}

// node returns the limits of one node, until the end of the context. The first node leads all groups.
func (g *groups) node(ctx context.Context) *Limits {
	replicas, leads := []Replica{}, g.leader == nil
	for number := home; number <= away; number++ {
		var of loans.Store = g.stores[number]
		if g.purses != nil {
			of = g.purses(of)
		}
		replicas = append(replicas, Replica{Number: number, Leads: func() bool { return leads }, Now: func() int64 { return time.Now().UnixNano() }, Store: of})
	}
	l := New(ctx, Options{Router: g, Policies: g.stores[away], Timeout: timeout, Replicas: func() []Replica { return replicas }})
	if leads {
		g.leader = l
	}
	return l
}

func (g *groups) close() {
	for _, s := range g.stores {
		s.Close()
	}
}

// holdUp makes the next operation of a verb wait, before it is carried out or before its answer.
func (g *groups) holdUp(verb engine.Verb, isAnswer bool) *holdUp {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &holdUp{verb, isAnswer, make(chan struct{}), make(chan struct{})}
	g.held = append(g.held, h)
	return h
}

// await waits until the operation is held up.
func (h *holdUp) await(t *testing.T) {
	select {
	case <-h.came:
	case <-time.After(time.Minute):
		t.Fatalf("no operation %d comes", h.verb)
	}
}

func (g *groups) Gather(parts []engine.Op) (at int, ok bool) {
	return away, slices.ContainsFunc(parts, func(p engine.Op) bool { return homeOf(p.Key) != away })
}
func (g *groups) Home(name []byte) (at int) { return homeOf(name) }

func (g *groups) Decide(b *engine.Batch) (finished bool) {
	at := away
	if op := &b.Ops[0]; op.Verb != engine.AcquireAll {
		at = homeOf(op.Key)
	}
	return g.DecideIn(at, b)
}

func (g *groups) DecideIn(at int, b *engine.Batch) (finished bool) {
	apply := func() { g.stores[at].Apply(time.Now().UnixNano(), b.Ops, b.Results) }
	g.mu.Lock()
	for i := range b.Ops {
		g.applied[b.Ops[i].Verb]++
	}
	if g.latency > 0 {
		g.mu.Unlock()
		time.AfterFunc(g.latency, func() {
			g.mu.Lock()
			apply()
			g.mu.Unlock()
			b.Done()
		})
		return false
	}
	if at == lost && g.isLost {
		g.mu.Unlock()
		time.AfterFunc(timeout, func() {
			for i := range b.Results {
				b.Results[i] = engine.Result{Status: engine.NoLeader}
			}
			b.Done()
		})
		return false
	}
	i := slices.IndexFunc(g.held, func(h *holdUp) bool { return h.verb == b.Ops[0].Verb })
	if i < 0 {
		g.mu.Unlock()
		apply()
		return true
	}
	h := g.held[i]
	g.held = slices.Delete(g.held, i, i+1)
	g.mu.Unlock()
	if h.isAnswer {
		apply()
	}
	close(h.came)
	go func() {
		<-h.release
		if !h.isAnswer {
			apply()
		}
		b.Done()
	}()
	return false
}

// take asks a user's limit and the shared one, and returns the tokens granted.
func (g *groups) take(l *Limits, tokens int64) int64 { return g.takeOf(l, limit, tokens) }

func (g *groups) takeOf(l *Limits, limit limits.Limit, tokens int64) int64 {
	res := ask(l, "shared", limit, tokens)
	if res.Status != engine.OK {
		g.t.Errorf("status %d", res.Status)
	}
	return res.Granted
}

// ask asks a user's limit and a shared one for tokens.
func ask(l *Limits, key string, limit limits.Limit, tokens int64) engine.Result {
	user := limit
	user.Capacity = 100_000
	op := engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{{Key: []byte("user"), Limit: user, Tokens: tokens}, {Key: []byte(key), Limit: limit, Tokens: tokens}}}
	b := &engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1)}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	if !l.Decide(b) {
		<-done
	}
	return b.Results[0]
}

// takeBeside takes tokens while an operation on the loan is held up until other requests are decided.
func (g *groups) takeBeside(t *testing.T, l *Limits, tokens int64, verb engine.Verb, isAnswer bool, others func() int64) (granted int64) {
	h, late := g.holdUp(verb, isAnswer), make(chan int64)
	go func() { late <- g.take(l, tokens) }()
	h.await(t)
	granted = others()
	close(h.release)
	return granted + <-late
}

// A denial counts for requests that came before home was asked. Later ones may be granted tokens that have come home
// since.
func TestLateDenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		l.do(home, engine.Op{Verb: engine.Acquire, Key: []byte("shared"), Limit: limit, Tokens: capacity})
		granted := int64(0)
		denied := g.takeBeside(t, l, 1, engine.Lend, true, func() int64 {
			l.do(home, engine.Op{Verb: engine.Delete, Key: []byte("shared")})
			time.Sleep(time.Second)
			go func() { granted = g.take(l, 1) }()
			synctest.Wait()
			return 0
		})
		synctest.Wait()
		if denied != 0 || granted != 1 {
			t.Errorf("%d granted before the reset, %d after it", denied, granted)
		}
	})
}

// all takes one token after the other until no group has any.
func (g *groups) all(l *Limits) (granted int64) {
	for denied := 0; denied < 5; time.Sleep(time.Second) { // tokens that nobody uses go back
		n := g.take(l, 1)
		if granted += n; n == 0 {
			denied++
		}
	}
	return granted
}

// lend brings tokens into the purse that nobody has asked for.
func (g *groups) lend(l *Limits, tokens int64) { g.lendOf(l, "shared", limit, tokens) }

func (g *groups) lendOf(l *Limits, name string, limit limits.Limit, tokens int64) {
	kept, _ := limit.InPurse()
	prepared := l.do(away, engine.Op{Verb: engine.Prepare, Key: []byte(name), Limit: kept})[0]
	p := purse.Of(&prepared)
	loan := p.Loan()
	lend := engine.Op{
		Verb: engine.Lend, Key: []byte(name), Limit: limit, Tokens: tokens, Who: []byte(holderOf(away)), Loan: &loan,
		Options: engine.Whole,
	}
	lent := l.do(0, lend)[0]
	l.do(away, p.Answered([]byte(name), lent.Granted, lent.Number))
}

// Whatever two nodes do at the same time on the loan of one limit, and however late, no token is granted twice, and
// none is lost.
func TestOperationsOnALoanAtTheSameTime(t *testing.T) {
	for name, disturb := range map[string]func(t *testing.T, g *groups, a, b *Limits) (granted int64){
		"requests while tokens go back": func(t *testing.T, g *groups, a, b *Limits) int64 {
			g.lend(a, 5)
			h := g.holdUp(engine.Return, false)
			h.await(t)
			time.AfterFunc(time.Second, func() { close(h.release) })
			return g.take(b, 2)
		},
		"the answer to one is late": func(t *testing.T, g *groups, a, b *Limits) int64 {
			return g.takeBeside(t, a, 3, engine.Lend, true, func() int64 { return g.take(b, 2) })
		},
		"one is late, and another has done it": func(t *testing.T, g *groups, a, b *Limits) int64 {
			return g.takeBeside(t, a, 3, engine.Lend, false, func() int64 { return g.take(b, 2) })
		},
		"a deposit is late": func(t *testing.T, g *groups, a, b *Limits) int64 {
			return g.takeBeside(t, a, 3, engine.Deposit, false, func() int64 { return g.take(b, 2) + g.take(b, 2) })
		},
		"an answer comes while the next operation is under way": func(t *testing.T, g *groups, a, b *Limits) int64 {
			h, late := g.holdUp(engine.Lend, true), make(chan int64)
			go func() { late <- g.take(a, 3) }()
			h.await(t)
			return g.take(b, 2) + g.takeBeside(t, b, 5, engine.Lend, false, func() int64 { close(h.release); return <-late })
		},
		"one finds nothing, and another what has come home since": func(t *testing.T, g *groups, a, b *Limits) int64 {
			a.do(home, engine.Op{Verb: engine.Acquire, Key: []byte("shared"), Limit: limit, Tokens: capacity})
			first, denied := g.holdUp(engine.Lend, true), make(chan int64)
			go func() { denied <- g.take(a, 1) }()
			first.await(t)
			return g.takeBeside(t, b, 1, engine.Lend, false, func() int64 {
				a.do(home, engine.Op{Verb: engine.Delete, Key: []byte("shared")})
				time.AfterFunc(time.Millisecond, func() { close(first.release) }) // so that a purse that begins again has another number
				return <-denied
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroups(t)
				defer g.close()
				ctx, cancel := context.WithCancel(t.Context())
				a, b := g.node(ctx), g.node(ctx)
				defer b.Close()
				defer a.Close()
				defer cancel()
				if granted := disturb(t, g, a, b) + g.all(a); granted != capacity {
					t.Errorf("%d granted of %d", granted, capacity)
				}
			})
		})
	}
}

// A purse in the group that owns its key has tokens of another cluster. They stay when nobody uses them.
func TestTokensOfAnotherClusterStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		g.lend(l, 5) // so that group has purses of both kinds
		kept, _ := limit.InPurse()
		prepared := l.do(away, engine.Op{Verb: engine.Prepare, Key: []byte("user"), Limit: kept})[0]
		p := purse.Of(&prepared)
		l.do(away, p.Answered([]byte("user"), 7, p.Number))
		time.Sleep(idleAfter + 2*tidyEvery)
		if s := g.stores[away]; s.PurseCount() != 1 || s.AwayPurseCount() != 0 {
			t.Errorf("%d purses of the other cluster, and %d of the other group", s.PurseCount(), s.AwayPurseCount())
		}
		if got := l.do(away, engine.Op{Verb: engine.Look, Key: []byte("user")})[0]; got.Remaining != 7 {
			t.Errorf("%d tokens are left of 7", got.Remaining)
		}
	})
}

// Home has nothing to lend for an operation, which stays prepared. Tokens that are spent meanwhile are stated soon, and
// refill.
func TestTokensSpentBesideAPendingOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(t)
		defer g.close()
		ctx, cancel := context.WithCancel(t.Context())
		l := g.node(ctx)
		defer l.Close()
		defer cancel()
		fast := limit
		fast.Rate = limits.Rate{Tokens: 20, Period: int64(time.Second)}
		l.do(home, engine.Op{Verb: engine.Lend, Key: []byte("shared"), Limit: fast, Tokens: capacity / 2, Who: []byte("other"), Loan: &engine.Loan{Number: 1}, Options: engine.Whole})
		g.lendOf(l, "shared", fast, capacity/2)
		if n := g.takeOf(l, fast, capacity/2+1); n != 0 {
			t.Fatalf("%d granted, which are more than the purse has, and home has none: this test shows nothing", n)
		}
		if n := g.takeOf(l, fast, capacity/2); n != capacity/2 {
			t.Fatalf("%d granted from the purse", n)
		}
		began := time.Now()
		for g.takeOf(l, fast, 1) == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		if took := time.Since(began); took > 3*loans.DenyFor {
			t.Errorf("nothing is granted for %v after all tokens of the purse were, and 20 refill in a second", took)
		}
	})
}
