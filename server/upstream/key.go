package upstream

import (
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// key is a key of home with demand here.
type key struct {
	name string

	mu         sync.Mutex
	limit      limits.Limit // of the last request, as at home
	waiters    []*acquire
	exchanging bool  // an operation on the loan is under way
	remaining  int64 // at home for everybody else, after its last answer
	denial     denial
	strict     time.Time // until then, home decides each request

	demand purse.Demand // of tokens, by the time since began
	began  time.Time
	seen   time.Time
}

// denial is an answer of home.
type denial struct {
	limit  limits.Limit
	tokens int64     // as many or more are denied
	repeat time.Time // until then
	wait   time.Time // then they will be there
	result engine.Result
}

// keyOf returns the key of a request, made if there is room, or nil.
func (u *Upstream) keyOf(name []byte) *key {
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.keys[string(name)]
	if k == nil && len(u.keys) < maxKeys {
		k = &key{name: string(name), began: time.Now(), seen: time.Now()}
		u.keys[k.name] = k
	}
	return k
}

// use counts tokens that were granted. k.mu is held.
func (k *key) use(now time.Time, tokens int64) {
	k.demand.Ask(tokens)
	k.seen = now
	k.measure(now)
}

// measure estimates the demand. k.mu is held.
func (k *key) measure(now time.Time) { k.demand.Measure(now.Sub(k.began), measureOver) }

// inDemand reports that at least two requests for n tokens are expected in the time ahead; for fewer a loan is not worth it. k.mu
// is held.
func (k *key) inDemand(n int64) bool { return k.demand.In(ahead) >= 2*float64(n) }

// want is the tokens to ask for: those of the waiters and of the time ahead, without those that are left. k.mu is held.
func (k *key) want(left int64) int64 {
	tokens := int64(min(k.demand.In(ahead), float64(k.limit.Capacity)))
	for _, a := range k.waiters {
		tokens += a.op.Tokens
	}
	return max(0, min(tokens-left, k.limit.Capacity))
}

// grantedHere counts a grant from the purse, and has more tokens fetched before it is empty.
func (u *Upstream) grantedHere(a *acquire, res *engine.Result) {
	u.counts.local.Add(1)
	k := u.keyOf(a.op.Key)
	if k == nil {
		return
	}
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	left := res.Remaining
	res.Remaining = min(left+k.remaining, res.Limit)
	k.limit = a.op.Limit
	if a.op.Options&engine.Peek == 0 {
		k.use(now, res.Granted)
	}
	if float64(left) < k.demand.In(ahead)/2 && k.inDemand(1) && now.After(k.strict) {
		u.exchange(k, lendMore)
	}
}

// askBeyond decides a request that the purse has too few tokens for.
func (u *Upstream) askBeyond(a *acquire) {
	k := u.keyOf(a.op.Key)
	if k == nil || u.hasEnded() {
		u.askHome(nil, a)
		return
	}
	now := time.Now()
	k.mu.Lock()
	if d := &k.denial; now.Before(d.repeat) && a.op.Tokens >= d.tokens && a.op.Limit == d.limit {
		a.result = d.result
		a.result.Wait = int64(max(time.Millisecond, d.wait.Sub(now)))
		k.mu.Unlock()
		u.counts.repeated.Add(1)
		a.done()
		return
	}
	k.limit, k.seen = a.op.Limit, now
	k.measure(now)
	switch {
	case now.Before(k.strict) || !k.inDemand(a.op.Tokens):
		k.mu.Unlock()
		u.askHome(k, a)
	case len(k.waiters) >= maxWaiters:
		k.mu.Unlock()
		a.end(engine.Overloaded)
	default:
		k.waiters = append(k.waiters, a)
		u.exchange(k, lendMore)
		k.mu.Unlock()
	}
}

// end answers a request by a status.
func (a *acquire) end(status engine.Status) {
	a.result = engine.Result{Status: status}
	a.done()
}
