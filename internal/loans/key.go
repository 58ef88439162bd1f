package loans

import (
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Request waits for tokens of a key.
type Request interface {
	// Op returns the operation that takes the tokens from purses.
	Op() engine.Op
	// Tokens returns how many tokens of the key the request asks for.
	Tokens() int64
	// NeedsLoan reports whether home cannot decide the request by itself. Home then also says when it could lend the
	// tokens, and lends all that it has if need be.
	NeedsLoan() bool
	// Until returns when the request stops waiting. It is within Timeout.
	Until() time.Time
	// Decided takes the result of the operation, which was carried out again after an operation on the loan. The
	// request may wait again.
	Decided(key *Key, res *engine.Result, after *Outcome)
	// Expired ends the request, which has waited for too long. No tokens were taken.
	Expired()
}

// Outcome is the outcome of an operation on a loan.
type Outcome struct {
	Refusal engine.Result // why the operation was not carried out; of status OK if it was
	IsDry   bool          // home had fewer tokens than were asked for, so Denial is set
	Denial  Denial
	Asked   time.Time // when home was asked

	renewed *Denial // the one about which home was asked again; nil for none
}

// AtHome is what home had left for everybody at its last answer, beside its loans.
type AtHome struct {
	Remaining int64     // tokens, below zero if home is in debt
	Full      time.Time // home would have all by then, zero if it did not say
}

// hear notes an answer of home to a request, which home was asked at a time.
func (h *AtHome) hear(asked time.Time, res *engine.Result) {
	if h.Remaining = res.Remaining; res.Reset > 0 {
		h.Full = asked.Add(time.Duration(res.Reset))
	}
}

// keyID names a purse.
type keyID struct {
	at   int
	name string
}

// Key tracks the demand of this process for the tokens of one purse.
type Key struct {
	keeper *Keeper
	keyID

	mu         sync.Mutex
	limit      limits.Limit // of the last request, as home has it
	tokens     int64        // of the last request that was granted
	waiters    []Request
	exchanging bool // an operation on the loan is under way
	home       AtHome
	isDry      bool      // home had fewer tokens than were asked for, at its last answer
	denied     *Denial   // the last one; nil for none
	rests      time.Time // no tokens are borrowed ahead of requests until then
	gaveBack   time.Time // when home last got tokens back
	enforced   time.Time // when the limit of a request was last put into force at home

	demand demand
	seen   time.Time // when the last request came
}

func newKey(k *Keeper, id keyID, now time.Time) *Key {
	return &Key{keeper: k, keyID: id, demand: newDemand(now), seen: now}
}

// Name returns the name of the key.
func (k *Key) Name() string { return k.name }

// Wait makes a request wait for an operation on the loan, and begins one if none is under way. It returns OK, or why
// the request does not wait: Overloaded if too many do, NoLeader at the end of the Keeper.
func (k *Key) Wait(now time.Time, limit limits.Limit, r Request) engine.Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiters) >= maxWaiters {
		return engine.Overloaded
	}
	k.limit, k.seen = limit, now
	k.waiters = append(k.waiters, r)
	if !k.exchange(false) {
		k.waiters = k.waiters[:len(k.waiters)-1]
		return engine.NoLeader
	}
	return engine.OK
}

// Granted notes that the purse has granted a request some tokens and has some left. If the purse is low, more are
// borrowed. Granted returns what home had left.
func (k *Key) Granted(now time.Time, limit limits.Limit, tokens, left int64) AtHome {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit, k.seen = limit, now
	if k.demand.use(tokens); tokens > 0 {
		k.tokens = tokens
	}
	if !k.keeper.opt.HomeDecides { // otherwise each node borrows for its own demand
		k.demand.see(left)
	}
	k.demand.measure(now)
	if k.isLow(left) && now.After(k.rests) {
		k.exchange(false)
	}
	return k.home
}

// Answered notes home's answer to a request that home has decided by itself. asked is when home was asked.
func (k *Key) Answered(op *engine.Op, asked time.Time, res *engine.Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.home.hear(asked, res)
	switch now := time.Now(); {
	case res.Allowed && op.Options&engine.Peek != 0:
	case res.Allowed:
		k.seen = now
		k.demand.use(res.Granted)
		k.demand.measure(now)
	case res.Wait > 0:
		answer, tokens := *res, op.Tokens
		if op.Options&engine.UpTo != 0 {
			tokens = 1
		}
		if k.denied != nil && k.denied.denies(now, op.Limit, tokens, k.exchanging) { // and perhaps denies more, or is renewed
			return
		}
		k.denied = &Denial{Limit: op.Limit, Tokens: tokens, Due: asked.Add(time.Duration(res.Wait)), Answer: &answer}
		if k.denied.Until = asked.Add(k.keeper.opt.DenyFor); k.denied.Due.Before(k.denied.Until) {
			k.denied.Until = k.denied.Due
		}
	}
}

// Denied returns the last denial of home, and whether it holds for a request, which is then denied. A request that takes
// no tokens is no demand for which to borrow.
func (k *Key) Denied(now time.Time, limit limits.Limit, tokens int64, takes bool) (d Denial, holds bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.denied == nil {
		return d, false
	}
	if holds = k.denied.denies(now, limit, tokens, k.exchanging); holds && takes && tokens <= limit.Capacity {
		k.repeat(now, k.denied, tokens)
	}
	return *k.denied, holds
}

// repeat notes that a request for some tokens is denied. Before the denial ends, home is asked again, so that no request
// has to wait for the answer. k.mu is held.
func (k *Key) repeat(now time.Time, d *Denial, tokens int64) {
	if d.Renew.IsZero() {
		return
	}
	d.unmet = min(d.unmet+tokens, d.Limit.Capacity)
	if !now.Before(d.Renew) {
		k.limit, k.seen = d.Limit, now
		d.renewing = k.exchange(false)
	}
}

// GaveBack notes that home has got tokens back, and what it then had left: denials for which it was asked before no
// longer hold.
func (k *Key) GaveBack(remaining int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.home.Remaining, k.denied, k.rests, k.gaveBack = remaining, nil, time.Time{}, time.Now()
}

// AtHome returns what home had left.
func (k *Key) AtHome() AtHome {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.home
}

// IsWorthLoan reports whether a request for some tokens should wait for a loan rather than be decided by home: at least
// two such requests are expected in the time ahead, and home has not just lent nothing.
func (k *Key) IsWorthLoan(now time.Time, limit limits.Limit, tokens int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit, k.seen = limit, now
	k.demand.measure(now)
	return !now.Before(k.rests) && k.demand.in(k.keeper.opt.Ahead) >= 2*float64(tokens)
}

// IsInDemand reports whether a denial of home should count for all requests for as many tokens, rather than home decide
// each of them: the last tokens are borrowed ahead, and at least two are granted in DenyFor.
func (k *Key) IsInDemand(limit limits.Limit, tokens int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.isInDemand(limit, tokens)
}

// isInDemand is IsInDemand with k.mu held.
func (k *Key) isInDemand(limit limits.Limit, tokens int64) bool {
	return k.keeper.opt.lendsLast(limit) && k.demand.in(DenyFor) >= 2*float64(tokens)
}

// lendsLast reports whether the last tokens of home are borrowed ahead of requests. If a limit refills within Ahead, they
// are not: one holder would have all of its tokens, and others be denied although callers stay below the limit.
func (o *Options) lendsLast(limit limits.Limit) bool {
	refillTime := limit.Longest() - 1 // a window brings all of its tokens at its end
	if limit.Rate.Tokens > 0 {
		refillTime = limit.Rate.Refill(limit.Capacity)
	}
	return o.LastAhead > 0 && refillTime >= int64(o.Ahead)
}

// isScarce reports whether home has less than what is granted here in the time ahead, so that it will soon deny, and is to
// lend the last tokens ahead of requests. k.mu is held.
func (k *Key) isScarce() bool {
	return k.isInDemand(k.limit, k.tokens) && float64(k.home.Remaining) < k.demand.in(k.keeper.opt.Ahead)
}

// restUntil stops borrowing ahead of requests until a time. k.mu is held.
func (k *Key) restUntil(end time.Time) {
	if end.After(k.rests) {
		k.rests = end
	}
}

// isLow reports whether tokens are to be borrowed before the purse is empty. k.mu is held.
func (k *Key) isLow(left int64) bool {
	o := &k.keeper.opt
	tokens := k.demand.in(o.Ahead)
	if k.isScarce() {
		tokens = k.demand.in(o.LastAhead)
	}
	return tokens >= 2 && (float64(left) < o.Low*tokens || float64(left) < o.LowLeading*tokens && k.leads())
}

// leads reports whether this process leads the place of the purse.
func (k *Key) leads() bool {
	return slices.ContainsFunc(k.keeper.opt.Replicas(), func(r Replica) bool { return r.Number == k.at && r.Leads() })
}

// Bounds of a loan for requests that home does not decide by itself.
const (
	homeKeeps = 8  // divides what home has left: no more is borrowed ahead of requests
	restShare = 16 // divides the capacity: as much is borrowed from a home that was dry, to use what refills
)

// want returns how many tokens to borrow: those of the waiting requests and of the time ahead, without those that are
// left in the purse. With needed, requests need the loan that wait or were denied. k.mu is held.
func (k *Key) want(left int64, needed bool) int64 {
	o, capacity := &k.keeper.opt, k.limit.Capacity
	tokens := max(int64(min(k.demand.in(o.Ahead), float64(capacity))), k.demand.rising(o.Ahead))
	if needed || !o.HomeDecides {
		most := max(0, k.home.Remaining) / homeKeeps
		if k.isDry {
			most = max(most, capacity/restShare)
		}
		tokens = min(tokens, most)
	}
	if needed && o.lendsLast(k.limit) {
		tokens = max(tokens, int64(k.demand.in(o.LastAhead)))
		if k.denied != nil {
			tokens += k.denied.unmet
		}
	}
	for _, r := range k.waiters {
		tokens += r.Tokens()
	}
	return max(0, min(tokens-left, capacity))
}

// exchange begins an operation on the loan, unless one is under way. With returning the operation ends the loan. It
// returns false at the end of the Keeper. k.mu is held.
func (k *Key) exchange(returning bool) bool {
	if k.exchanging {
		return true
	}
	id := lineID{k.at, k.keeper.opt.HomeTurns([]byte(k.name))}
	k.exchanging = k.keeper.lines.begin(id, k.keeper.Go, func() (more bool) {
		if k.keeper.ctx.Err() != nil { // it has waited in line until the end
			return k.refuseAll()
		}
		x := exchange{key: k, returning: returning}
		outcome := x.run()
		returning = false
		return k.serve(&outcome)
	})
	return k.exchanging
}

// serve decides the requests that have waited for an operation on the loan. It reports whether more have come since,
// for which the next operation is to begin.
func (k *Key) serve(o *Outcome) (more bool) {
	if o.Refusal.Status == Refused {
		k.mu.Lock()
		k.restUntil(time.Now().Add(k.keeper.opt.RestFor))
		k.mu.Unlock()
	}
	for some := range slices.Chunk(k.takeWaiters(), decideAtOnce) {
		ops := make([]engine.Op, len(some))
		for i, r := range some {
			ops[i] = r.Op()
		}
		results := k.keeper.opt.Purses(k.at, ops...)
		for i, r := range some {
			r.Decided(k, &results[i], o)
		}
	}
	return k.goesOn(o)
}

// refuseAll is serve at the end of the Keeper, without the purses, which may be unable to answer by then.
func (k *Key) refuseAll() (more bool) {
	for _, r := range k.takeWaiters() {
		r.Expired()
	}
	return k.goesOn(&Outcome{Refusal: engine.Result{Status: engine.NoHome}})
}

// takeWaiters removes and returns the requests that wait.
func (k *Key) takeWaiters() (waiters []Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	waiters, k.waiters = k.waiters, nil
	return waiters
}

// goesOn reports whether requests wait for another operation, or were denied and home was not asked for them yet.
// Otherwise none is under way any more.
func (k *Key) goesOn(o *Outcome) (more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.denied
	if d != nil && d.renewing && (o.renewed == d || o.Refusal.Status != engine.OK) { // home has not denied again
		d, k.denied = nil, nil
	}
	k.exchanging = len(k.waiters) > 0 || d != nil && d.renewing
	return k.exchanging
}
