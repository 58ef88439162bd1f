package rlqs

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// loan has the tokens of one key that home has lent to all streams of this node.
type loan struct {
	purse.Purse
	key     string
	limit   limits.Limit
	free    int64         // tokens left at home, by the last answer
	renewed time.Duration // when the last operation began that home has answered
	begun   time.Duration // when the operation on its way was first sent
	asked   int64         // tokens that it asks for
	back    int64         // tokens that it gives back
	stated  int64         // the tokens that home has set aside
	charged int64         // tokens that the operation states as spent; units are back at once
	isAway  bool          // an operation is on its way

	isOther bool          // another limit is in force at home, or may be
	set     time.Duration // when home was last told
	debt    time.Duration // until then, tokens that were spent under a larger limit may be charged
}

// Operation is an operation on a loan that home is to carry out.
type Operation struct {
	Key   string
	Limit limits.Limit

	// Set is TB.ACQUIRE of a token with FORCE, which puts Limit into force.
	Set bool
	// Empty has DEL before the Set and TB.ACQUIRE of the capacity with UPTO after it, in a transaction. So nothing is
	// left, and tokens that were spent under a larger limit are no debt.
	Empty bool
	// Return is RL.RETURN of Loan.Left tokens, with KEEP Tokens. Without Return and Set the operation is RL.LEND of
	// Tokens, with ALL and FOR LoanTTL.
	Return bool
	Tokens int64
	Loan   engine.Loan
	of     *loan
	quota  *quota
}

// Answer is home's answer to an operation on a loan.
type Answer struct{ Granted, Limit, Remaining, Number int64 }

// setEvery is the least time between two operations that put a limit into force. Otherwise nodes that know different
// limits would take turns without end.
const setEvery = 5 * time.Second

// change gives the loan's key another limit. Home hears of it next.
func (l *loan) change(now time.Duration, limit limits.Limit) {
	if limit.Capacity < l.limit.Capacity {
		l.debt = now + debtTime
	}
	l.isOther, l.set, l.limit = true, 0, limit
}

// debtTime is how long assignments of an earlier limit can be in use: until the next report, and then for their time to
// live.
const debtTime = reportsEvery + TTL + 2*Margin

// setLimit returns the operation that puts the limit into force. A lower limit begins empty.
func (l *loan) setLimit(now time.Duration, q *quota) Operation {
	l.isAway, l.set = true, now
	return Operation{Key: l.key, Limit: l.limit, Set: true, Empty: now < l.debt, of: l, quota: q}
}

// lend begins an operation that asks for tokens and states how many are left.
func (l *loan) lend(now time.Duration, number uint64, ask int64) {
	l.Prepare(number, false)
	l.asked, l.back, l.charged = ask, 0, l.stated-l.Left
	l.begun = now // if home carries it out at once, the loan ends LoanTTL from now
}

// giveBack begins an operation that gives tokens back, which nobody may spend from now on.
func (l *loan) giveBack(number uint64, tokens int64) {
	l.Tokens -= tokens
	l.Prepare(number, false)
	l.asked, l.back, l.charged = 0, tokens, l.stated-l.Left-tokens
}

// operation returns the operation that was begun, which is sent again if its outcome is not known.
func (l *loan) operation(q *quota) Operation {
	l.isAway = true
	o := Operation{Key: l.key, Limit: l.limit, Tokens: l.asked, Loan: l.Loan(), of: l, quota: q}
	if l.back > 0 {
		o.Return, o.Tokens, o.Loan.Left = true, l.Left, l.back
	}
	return o
}

// take takes home's answer. It reports whether home has ended the loan and nothing is left of it.
func (l *loan) take(a Answer) (ended bool) {
	if l.back == 0 && l.asked > 0 && a.Granted == 0 {
		if a.Limit > l.limit.Capacity {
			l.debt = l.begun + debtTime
		}
		l.isOther = l.isOther || a.Remaining > 0 || l.begun < l.debt // home lends only under the limit in force
	}
	had, left := l.Tokens, l.Left
	if l.back > 0 {
		a.Granted = 0
	} else {
		l.renewed = l.begun
	}
	brought, drops := l.Meaning(a.Granted, uint64(a.Number))
	l.Deposit(brought, drops, uint64(a.Number))
	l.free, l.stated, l.isAway = a.Remaining, left+brought, false
	return drops && had > 0
}

// isIdle reports whether no operation has begun.
func (l *loan) isIdle() bool { return !l.Prepared && !l.isAway }

// outlives reports whether the loan lasts longer than an assignment that is sent now.
func (l *loan) outlives(now time.Duration) bool { return now+TTL+Margin <= l.renewed+LoanTTL }
