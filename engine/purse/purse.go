// Package purse is the holder's side of a loan: the tokens that a limiter's home has set aside, kept where they are
// spent, and the demand for them. A node of a cluster has its purses in memory. A region, and a group that shares a
// limit with other groups, have them in their stores.
package purse

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Purse is the tokens of one loan; see [engine.Loan]. It has no refill: requests take tokens, operations on the loan
// bring more.
//
// Prepare begins an operation, with a number and the unspent tokens. Home carries it out once, and answers alike
// however often it is sent. Meaning reads the answer, and Deposit brings it in. Requests may spend tokens between
// Prepare and Deposit: home then counts more tokens than there are.
type Purse struct {
	Tokens    int64  // not spent
	Previous  uint64 // the number of the last operation that home carried out, 0 if there is no loan
	Number    uint64 // of the last operation that was prepared
	Prepared  bool   // the operation has no answer yet
	Returning bool   // the operation ends the loan; the tokens have left the purse
	Left      int64  // the tokens that the operation states as unspent
	UsedAt    int64  // the time of the last use, by the clock of the store or process that spends
}

// Prepare begins the next operation. With returning the operation ends the loan, and the tokens leave the purse.
func (p *Purse) Prepare(number uint64, returning bool) {
	p.Number, p.Prepared, p.Returning, p.Left = number, true, returning, p.Tokens
	if returning {
		p.Tokens = 0
	}
}

// Loan returns the prepared operation as home takes it.
func (p *Purse) Loan() engine.Loan {
	return engine.Loan{Number: p.Number, Previous: p.Previous, Left: p.Left}
}

// LentAt returns when the last operation that home carried out was prepared, by the clock of the store: the numbers of
// operations are times.
func (p *Purse) LentAt() int64 { return int64(p.Previous) }

// Meaning reads home's answer to the prepared operation: the tokens that home has lent, and the number that it names.
// It returns the tokens that come in. With drops the tokens in the purse are to be dropped: home has ended the loan, or
// has carried out an operation that was given up, and counts them as spent.
func (p *Purse) Meaning(lent int64, named uint64) (brought int64, drops bool) {
	switch {
	case p.Returning:
		return 0, true
	case named == p.Number:
		return lent, false
	}
	return 0, named != p.Previous || named == 0
}

// IsOpen reports whether home's answer says that it has not carried out the prepared operation, because it had nothing
// to lend. Home may still do so if the operation is sent again or comes late from another node. A Deposit now would end
// the operation, and tokens lent later would be lost: see [Purse.Close].
func (p *Purse) IsOpen(lent int64, named uint64) bool {
	return p.Prepared && !p.Returning && lent == 0 && named == p.Previous
}

// IsPending reports whether an open operation can stay prepared because no tokens were spent since. Otherwise another
// operation has to state them as spent: they do not refill before.
func (p *Purse) IsPending(lent int64, named uint64) bool {
	return p.IsOpen(lent, named) && p.Tokens == p.Left
}

// Close returns an operation that closes the open one: home carries the open one out as lending nothing, unless it has
// carried it out since. So the open operation cannot lend later. Close returns false if there is no loan, because home
// keeps no number then.
func (p *Purse) Close(key, holder []byte) (op engine.Op, ok bool) {
	loan := engine.Loan{Number: p.Number, Previous: p.Previous}
	op = engine.Op{Verb: engine.Return, Key: key, Who: holder, Loan: &loan, Keep: engine.KeepTokens(p.Left)}
	return op, p.Previous != 0
}

// Closed returns the tokens that a closed operation has lent, by home's answer to [Purse.Close]: the tokens that home
// has set aside, and the number that it names.
func (p *Purse) Closed(held int64, named uint64) (lent int64) {
	if named != p.Number {
		return 0
	}
	return max(0, held-p.Left)
}

// LentLate returns an operation that gives tokens back which came too late: home lent them for the first operation of a
// loan, and the purse had ended before the Deposit, whose result is came. Nobody can spend them.
func (p *Purse) LentLate(key, holder []byte, lent int64, came *engine.Result) (op engine.Op, ok bool) {
	loan := engine.Loan{Number: p.Number + 1, Previous: p.Number, Left: lent}
	after := Of(came)
	ok = !p.Returning && p.Previous == 0 && lent > 0 && came.Granted == 0 && after.Previous == 0
	return engine.Op{Verb: engine.Return, Key: key, Who: holder, Loan: &loan}, ok
}

// Deposit ends the prepared operation by the meaning of its answer. It returns the tokens that came in.
func (p *Purse) Deposit(brought int64, drops bool, named uint64) (kept int64) {
	if drops {
		p.Tokens = 0
	}
	kept = min(brought, limits.MaxTokens-p.Tokens)
	p.Tokens += kept
	p.Previous, p.Prepared, p.Returning, p.Left = named, false, false, 0
	return kept
}
