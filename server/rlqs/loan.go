package rlqs

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// loan is what home has lent this node of one key, for all streams.
type loan struct {
	purse.Purse
	key     string
	limit   limits.Limit
	free    int64         // left at home, by the last answer
	renewed time.Duration // the begin of the last operation that home has answered
	begun   time.Duration // when the operation on its way was sent first
	asked   int64         // by that operation
	stated  int64         // the tokens that home has set aside
	charged int64         // by that operation; back at once if these are units
	isAway  bool
}

// Operation is one on a loan, for home.
type Operation struct {
	Key    string
	Return bool // the loan ends, and what is left goes back
	Limit  limits.Limit
	Tokens int64
	Loan   engine.Loan
	of     *loan
	quota  *quota
}

// Answer is home's.
type Answer struct{ Granted, Remaining, Number int64 }

// prepare begins an operation that asks for tokens and states how many are left. One whose outcome is not known is sent again.
func (l *loan) prepare(now time.Duration, number uint64, ask int64, returning bool) Operation {
	if !l.Prepared {
		l.Prepare(number, returning)
		l.asked, l.charged, l.begun = ask, l.stated-l.Left, now // home may have carried it out then, so the loan may end so early
	}
	l.isAway = true
	return Operation{Key: l.key, Limit: l.limit, Return: l.Returning, Tokens: l.asked, Loan: l.Loan(), of: l}
}

// take takes home's answer. It reports whether home has ended the loan, so that nothing is left of it.
func (l *loan) take(a Answer) (ended bool) {
	had := l.Tokens
	brought, drops := l.Meaning(a.Granted, uint64(a.Number))
	left := l.Left
	l.Deposit(brought, drops, uint64(a.Number))
	l.renewed, l.free, l.stated, l.isAway = l.begun, a.Remaining, left+brought, false
	return drops && had > 0
}

// outlives reports whether the loan lasts longer than an assignment that is sent now.
func (l *loan) outlives(now time.Duration) bool { return now+TTL+Margin <= l.renewed+LoanTTL }
