package shared

import (
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// purseID names a purse: a key in a group that is not its home.
type purseID struct {
	at   int
	name string
}

// key is the demand of this node's requests for the tokens of a purse.
type key struct {
	purseID

	mu         sync.Mutex
	limit      limits.Limit // of the last request, as at home
	waiters    []waiter
	exchanging bool  // an operation on the loan is under way
	remaining  int64 // at home for everybody else, after its last answer
	reset      int64
	denied     denial
	isDry      bool // at the last answer home had less than was wanted

	demand   purse.Demand // of the purse's tokens at all nodes, by the time since began
	began    time.Time
	measured time.Time // when the demand was
	own      int64     // tokens granted since then to requests of this node
	used     int64     // by all nodes, as far as results show
	lowest   int64     // the fewest tokens in the purse since then
	seen     time.Time
}

// waiter is a request that waits for tokens of one of its limits.
type waiter struct {
	request *request
	part    int
	tokens  int64
}

// denial is an answer of home: it lends less.
type denial struct {
	limit  limits.Limit
	tokens int64     // as many or more are denied
	until  time.Time // until then
	wait   time.Time // then home has tokens, unless never
	never  bool
	held   int64 // in the purse
}

// after is the time until home and the purse have some tokens, and home is asked.
func (d *denial) after(now time.Time, tokens int64) int64 {
	if d.never {
		return engine.NeverWait
	}
	wait := int64(d.wait.Sub(now))
	if rate := d.limit.Rate; rate.Tokens > 0 {
		if more := tokens - d.held - d.tokens; more > 0 {
			wait += rate.Refill(more)
		} else {
			wait -= rate.Refill(-more)
		}
	}
	return max(int64(time.Millisecond), wait, int64(d.until.Sub(now)))
}

// keyOf returns a key, made if there is room, or nil.
func (l *Limits) keyOf(at int, name []byte) *key {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := purseID{at, string(name)}
	k := l.keys[id]
	if k == nil && len(l.keys) < maxKeys {
		now := time.Now()
		k = &key{purseID: id, began: now, measured: now, seen: now}
		l.keys[id] = k
	}
	return k
}

// use counts tokens that were granted and have left so many in the purse. Results may come in another order, so only a new lowest number shows
// that others have used tokens. k.mu is held.
func (k *key) use(now time.Time, tokens, left int64) {
	k.seen = now
	k.own += tokens
	if left < k.lowest {
		k.used, k.lowest = k.used+k.lowest-left, left
	}
	if now.Sub(k.measured) >= measureOver {
		k.demand.Ask(max(k.own, k.used))
		k.demand.Measure(now.Sub(k.began), measureOver)
		k.measured, k.own, k.used, k.lowest = now, 0, 0, left
	}
}

// needsMore reports whether tokens are to be lent before the purse is empty: by the node that leads its group, and later by others. All ask for
// the same tokens. k.mu is held.
func (l *Limits) needsMore(k *key, left int64) bool {
	tokens := k.demand.In(ahead)
	return tokens >= 2 && (float64(left) < tokens/8 || float64(left) < 3*tokens/8 && l.leads(k.at))
}

// leads reports whether this node leads a group.
func (l *Limits) leads(group int) bool {
	return slices.ContainsFunc(l.opt.Replicas(), func(r Replica) bool { return r.Number == group && r.Leads() })
}

// want is the tokens to ask for: those of the waiters, without those that are left, and those of the time ahead, of which home keeps most unless it was
// dry. k.mu is held.
func (k *key) want(left int64) int64 {
	rising := max(k.own, k.used) * int64(ahead/measureOver) // if there is no more demand while it is measured
	most := k.remaining / homeKeeps
	if k.isDry { // what refills is used at once
		most = max(most, k.limit.Capacity/restShare)
	}
	tokens := min(max(int64(k.demand.In(ahead)), rising), most)
	for i := range k.waiters {
		tokens += k.waiters[i].tokens
	}
	return max(0, min(tokens-left, k.limit.Capacity))
}

const (
	homeKeeps = 8  // divides what home has left: as much of it is lent ahead of requests
	restShare = 16 // divides a limit's capacity: as much refills between operations on a loan that find home dry
)

// wait has a request wait for tokens of a part, or denies it.
func (l *Limits) wait(r *request, part int) (finished bool) {
	p := &r.parts[part]
	k := l.keyOf(r.at, p.Key)
	if k == nil {
		r.fail(engine.Overloaded)
		return true
	}
	l.counts.short.Add(1)
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch d := &k.denied; {
	case p.Tokens > p.Limit.Capacity:
		l.deny(k, r, part, engine.NeverWait)
		return true
	case now.Before(d.until) && p.Tokens >= d.tokens && p.Limit == d.limit:
		l.deny(k, r, part, d.after(now, p.Tokens))
		return true
	case r.tries == maxTries: // others have taken the tokens each time
		l.deny(k, r, part, d.after(now, p.Tokens))
		return true
	case !now.Before(r.until):
		r.fail(engine.NoLeader)
		return true
	case len(k.waiters) >= maxWaiters:
		r.fail(engine.Overloaded)
		return true
	}
	r.tries, r.waits = r.tries+1, now
	k.limit, k.seen = p.Limit, now
	k.waiters = append(k.waiters, waiter{r, part, p.Tokens})
	if !l.exchange(k, false) {
		k.waiters = k.waiters[:len(k.waiters)-1]
		r.fail(engine.NoLeader)
		return true
	}
	return false
}

// deny answers a request that home has no tokens for. k.mu is held.
func (l *Limits) deny(k *key, r *request, part int, wait int64) {
	l.counts.denied.Add(1)
	one := &r.res.Parts[part]
	one.Remaining = min(one.Remaining+k.remaining, one.Limit)
	if one.Reset = k.reset; r.parts[part].Limit.Rate.Tokens > 0 {
		one.Reset = r.parts[part].Limit.Rate.Refill(one.Limit - one.Remaining)
	}
	if one.Wait = wait; !r.res.Allowed { // a policy in shadow delays nobody
		r.res.Wait = wait
	}
}
