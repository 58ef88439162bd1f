package purse

import (
	"cmp"
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Pool is a purse whose tokens are lent on: its owner is a holder at home, and a home to holders of its own. Tokens has
// those that nobody has been lent.
//
// The owner counts the tokens that it has lent on as not spent, so they stay set aside at home until a holder states
// that it has spent them, or until its loan ends. Every loan ends before the owner's own, by one clock, so a holder
// spends no token that home already counts as spent. If the owner forgets the Pool, home counts all of it as spent once
// the owner's loan is over.
//
// All times are nanoseconds of one clock that never goes back.
type Pool struct {
	Purse
	limit     limits.Limit // under which home has lent
	holders   map[string]lentOn
	out       int64 // the tokens of all holders
	spent     int64 // by holders, since home last heard
	ends      int64 // when home may count the loan as spent
	remaining int64 // tokens that home had left
	dry       bool  // home lent less than was asked
	failed    bool  // home did not answer
	heard     int64 // when home last answered, or did not
	looked    int64 // when it was last seen whether home is to be asked
	demand    Demand

	// The prepared operation, which is repeated until home answers.
	asked  engine.Op // without the owner and the loan
	charge int64     // the tokens that it states as spent
	begun  int64     // when it was first sent
}

// lentOn is the loan of a holder.
type lentOn struct {
	tokens, until int64
	number        uint64 // of the last operation
	lasts         int64
}

// Bounds of a Pool.
const (
	MaxHolders = 4096                   // of one Pool
	MaxLentFor = limits.MaxDuration / 8 // the longest loan that a Pool makes

	lendPart     = 8                      // divides the tokens that are there: a Lend gets one such part at most
	homeEvery    = 25 * time.Millisecond  // home is asked again for what it has not lent
	ahead        = time.Second            // the tokens that are spent in this time are kept
	measureEvery = 250 * time.Millisecond // demand is measured over at least this time
	stateEvery   = time.Second            // home hears of spent tokens, and of unused ones
	forgetAfter  = 10 * time.Second       // without an answer, the first loan is given up
	termOfLoans  = 2                      // the owner's loan is for this many times the longest of its holders'
	marginPart   = 8                      // divides the owner's loan: this part of it is not used
)

// NewPool returns a Pool without a loan.
func NewPool(now int64) *Pool {
	return &Pool{holders: map[string]lentOn{}, demand: NewDemand(time.Duration(now), 0)}
}

// Knows reports whether a holder has a loan.
func (p *Pool) Knows(who []byte) bool {
	_, ok := p.holders[string(who)]
	return ok
}

// Holders is the number of holders that have a loan, or had one a moment ago.
func (p *Pool) Holders() int { return len(p.holders) }

// IsEmpty reports whether the Pool can be forgotten: it has no loan, and has asked for none that may still come.
func (p *Pool) IsEmpty(now int64) bool {
	return p.Previous == 0 && (!p.Prepared || p.failed && p.out == 0 && now-p.begun > int64(forgetAfter))
}

// of returns the loan of a holder.
func (p *Pool) of(now int64, who []byte) lentOn {
	held, ok := p.holders[string(who)]
	if ok && held.until <= now {
		p.end(string(who), held)
		return lentOn{}
	}
	return held
}

// end ends a loan: all of its tokens count as spent.
func (p *Pool) end(who string, held lentOn) {
	delete(p.holders, who)
	p.spend(held.tokens)
	p.out -= held.tokens
}

func (p *Pool) spend(tokens int64) {
	p.spent += tokens
	p.demand.Ask(tokens)
}

// endLoans ends the loans whose time is over.
func (p *Pool) endLoans(now int64) {
	for who, held := range p.holders {
		if held.until <= now {
			p.end(who, held)
		}
	}
}

// part is the most tokens that an operation is lent, as at home.
func (p *Pool) part(op *engine.Op) int64 {
	if op.Options&engine.Whole != 0 {
		return p.Tokens + p.remaining
	}
	return max(1, (p.Tokens+p.remaining)/lendPart)
}

// Needs reports whether an operation of a holder should wait until home has been asked.
func (p *Pool) Needs(now int64, op *engine.Op) bool {
	held := p.of(now, op.Who)
	switch {
	case op.Verb != engine.Lend || held.number != op.Loan.Previous || op.Loan.Left > held.tokens, p.failed && !p.MayAsk(now):
		return false
	case now+op.MaxWait > p.ends, op.Limit != p.limit:
		return op.Tokens+op.Loan.Left > 0
	case p.dry:
		return min(p.Tokens, p.part(op)) < op.Tokens
	}
	return p.Tokens < min(op.Tokens, p.part(op))
}

// IsDry reports whether home had fewer tokens than were asked for, at its last answer.
func (p *Pool) IsDry() bool { return p.dry && p.remaining < p.asked.Tokens }

// MayAsk reports whether home may be asked again. It is not asked at once after it has not answered, or had too few
// tokens: so more holders wait for the next answer, and share it.
func (p *Pool) MayAsk(now int64) bool {
	return !p.dry && !p.failed || now-p.heard >= int64(homeEvery)
}

// Lend answers a Lend or Return of a holder, which gets no more than some tokens. It is engine/algorithm's DecideLoan
// for tokens that are there already. A Lend gets the status NoHome if the owner's own loan does not last as long.
func (p *Pool) Lend(now int64, op *engine.Op, most int64) (res engine.Result) {
	held, left, lent := p.of(now, op.Who), op.Loan.Left, int64(0)
	switch isLend := op.Verb == engine.Lend; {
	case isLend && held.number == op.Loan.Number && left <= held.tokens: // it is asked again
		return p.report(held, held.tokens-left)
	case held.number != op.Loan.Previous:
		return p.report(held, 0)
	case left > held.tokens, !isLend && left+int64(op.Keep) > held.tokens:
		return engine.Result{Status: engine.NotHeld, Lent: held.tokens}
	case isLend && now+op.MaxWait > p.ends && left > 0:
		return engine.Result{Status: engine.NoHome}
	case isLend:
		if now+op.MaxWait <= p.ends && op.Limit == p.limit && (held.number != 0 || len(p.holders) < MaxHolders) {
			lent = max(0, min(op.Tokens, most, p.Tokens))
		}
		p.spend(held.tokens - left)
		res.Granted, held.until, held.lasts = lent, now+op.MaxWait, op.MaxWait
		p.Tokens -= lent
		p.out += left + lent - held.tokens
		held.tokens = left + lent
	default:
		p.spend(held.tokens - left - int64(op.Keep))
		res.Granted = left
		p.Tokens += left
		p.out += int64(op.Keep) - held.tokens
		held.tokens = int64(op.Keep)
	}
	p.UsedAt = now
	if held.number = op.Loan.Number; held.tokens > 0 {
		p.holders[string(op.Who)] = held
	} else {
		delete(p.holders, string(op.Who))
		held.number = 0
	}
	return p.report(held, res.Granted)
}

func (p *Pool) report(held lentOn, granted int64) engine.Result {
	return engine.Result{
		Granted: granted, Limit: p.limit.Capacity, Remaining: min(p.Tokens+p.remaining, p.limit.Capacity), Lent: held.tokens, Number: held.number,
	}
}

// Now answers an operation that does not wait for home.
func (p *Pool) Now(now int64, op *engine.Op) engine.Result { return p.Lend(now, op, p.part(op)) }

// Serve answers operations that have waited for home, in order of their time. None gets more tokens than another that
// asks for as many or more, but for one token.
func (p *Pool) Serve(now int64, ops []*engine.Op) []engine.Result {
	results, order := make([]engine.Result, len(ops)), make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	share := max(1, p.Tokens/max(1, int64(len(ops))))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(min(ops[a].Tokens, share), min(ops[b].Tokens, share)) })
	for i, at := range order {
		others := int64(len(order) - i - 1)
		results[at] = p.Lend(now, ops[at], (p.Tokens+others)/(others+1)) // rounded up, so the last ones may get none
	}
	return results
}

// Ask returns the next operation on the owner's loan, for the operations that wait, or the last one again if home has
// not answered it.
func (p *Pool) Ask(now int64, owner []byte, waiting []*engine.Op) engine.Op {
	if !p.Prepared {
		p.prepare(now, p.next(now, waiting))
	} else if p.asked.Verb == engine.Lend && len(waiting) > 0 { // home may have refused it for a limit that is wrong
		again := p.next(now, waiting)
		p.asked.Limit, p.asked.Tokens, p.asked.Options = again.Limit, again.Tokens, again.Options
	}
	op, loan := p.asked, p.Loan()
	if op.Verb == engine.Return {
		loan.Left, op.Keep = op.Tokens, engine.KeepTokens(p.Left)
	}
	op.Who, op.Loan = owner, &loan
	return op
}

// next is the next operation: a Return of its Tokens if nobody wants them, or else a Lend.
func (p *Pool) next(now int64, waiting []*engine.Op) engine.Op {
	p.endLoans(now)
	p.demand.Measure(time.Duration(now), measureEvery)
	op, keep := engine.Op{Verb: engine.Lend, Limit: p.limit}, p.kept()
	for _, held := range p.holders {
		op.MaxWait = max(op.MaxWait, termOfLoans*held.lasts)
	}
	switch {
	case op.MaxWait == 0 && len(waiting) == 0:
		op.Verb, op.Tokens = engine.Return, p.Tokens
		return op
	case len(waiting) == 0 && p.Tokens > 2*keep:
		op.Verb, op.Tokens = engine.Return, p.Tokens-keep
		return op
	case len(waiting) > 0:
		op.Limit = waiting[0].Limit
	}
	for _, w := range waiting {
		op.Tokens, op.MaxWait = min(op.Tokens+w.Tokens, limits.MaxTokens), max(op.MaxWait, termOfLoans*w.MaxWait)
		op.Options |= w.Options & engine.Whole
	}
	op.Tokens = min(max(0, op.Tokens+keep-p.Tokens), limits.MaxTokens)
	return op
}

// kept is the number of tokens that are kept for the time ahead.
func (p *Pool) kept() int64 { return min(int64(p.demand.In(ahead)), p.limit.Capacity) }

func (p *Pool) prepare(now int64, op engine.Op) {
	if op.Verb == engine.Return {
		p.Tokens -= op.Tokens
	}
	p.asked, p.begun, p.charge = op, now, p.spent
	if op.Verb == engine.Lend { // home may carry it out, and its answer be lost
		p.ends = min(p.ends, p.endOfLoan())
	}
	p.Prepare(max(p.Number+1, uint64(now)), false)
	p.Left += p.out
}

// endOfLoan is the time after which no token of the loan that was asked for is lent.
func (p *Pool) endOfLoan() int64 { return p.begun + p.asked.MaxWait - p.asked.MaxWait/marginPart }

// ReturnAll returns the operation that gives back all tokens that nobody has been lent, or the last one again. It
// reports false if there is nothing to do.
func (p *Pool) ReturnAll(now int64, owner []byte) (op engine.Op, ok bool) {
	if p.endLoans(now); !p.Prepared {
		if p.Tokens == 0 && p.spent == 0 {
			return op, false
		}
		p.prepare(now, engine.Op{Verb: engine.Return, Limit: p.limit, Tokens: p.Tokens})
	}
	return p.Ask(now, owner, nil), true
}

// Hear takes home's answer to the operation of Ask.
func (p *Pool) Hear(now int64, res *engine.Result) {
	isLend, lent := p.asked.Verb == engine.Lend, int64(0)
	if isLend {
		lent = res.Granted
	}
	brought, drops := p.Meaning(lent, res.Number)
	switch {
	case drops: // home has ended the loan
		clear(p.holders)
		p.out, p.ends, p.charge = 0, 0, p.spent
	case isLend && res.Number == p.Number:
		p.ends = p.endOfLoan()
	}
	p.spent -= p.charge
	if p.Deposit(brought, drops, res.Number); brought > 0 || p.Tokens+p.out == 0 {
		p.limit = p.asked.Limit
	}
	p.remaining = max(0, res.Remaining)
	p.dry = isLend && lent < p.asked.Tokens
	p.failed, p.heard = false, now
}

// Failed notes that home has not answered.
func (p *Pool) Failed(now int64) { p.heard, p.failed = now, true }

// HasFailed reports whether home has not answered the last operation.
func (p *Pool) HasFailed() bool { return p.failed }

// Due reports whether home is to be asked though nothing waits: for an answer that has not come, about tokens that were
// spent, or to give back those that nobody wants.
func (p *Pool) Due(now int64) bool {
	if now-max(p.heard, p.begun, p.looked) < int64(stateEvery) {
		return false
	}
	p.looked = now
	p.endLoans(now)
	p.demand.Measure(time.Duration(now), measureEvery)
	return p.Prepared || p.spent > 0 || p.Tokens > 2*p.kept()
}
