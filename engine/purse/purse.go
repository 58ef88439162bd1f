// Package purse is the holder's side of a loan: the tokens that a limiter's home has set aside, where they are spent, and the demand for
// them. A node of a cluster has its purses in memory, a region has them in its store.
package purse

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Purse is the tokens of one loan; see [engine.Loan]. It has no refill: requests take tokens, operations on the loan bring more.
//
// Prepare begins an operation, with a number and the unspent tokens. Once home has carried it out, it answers alike however often it is sent. Meaning
// reads the answer, and Deposit takes it. Between Prepare and Deposit requests may spend: home then counts more tokens than there are.
type Purse struct {
	Tokens    int64  // not spent
	Previous  uint64 // the number of the last operation that home has carried out, 0 if there is no loan
	Number    uint64 // of the last operation that was prepared
	Prepared  bool   // it is not answered yet
	Returning bool   // it ends the loan; the tokens are no longer here
	Left      int64  // the tokens that it states as unspent
	UsedAt    int64  // the time of the last use, by the clock of those who spend
}

// Prepare begins the next operation. With returning it ends the loan, and the tokens leave the purse.
func (p *Purse) Prepare(number uint64, returning bool) {
	p.Number, p.Prepared, p.Returning, p.Left = number, true, returning, p.Tokens
	if returning {
		p.Tokens = 0
	}
}

// Loan is the prepared operation as home takes it.
func (p *Purse) Loan() engine.Loan {
	return engine.Loan{Number: p.Number, Previous: p.Previous, Left: p.Left}
}

// Meaning reads home's answer to the prepared operation: the tokens that it has lent, and the number that it names. It returns the tokens
// that come in, or drops if those that are here are home's no longer: it has ended the loan, or has carried out an operation that was
// given up, and counts them as spent.
func (p *Purse) Meaning(lent int64, named uint64) (brought int64, drops bool) {
	switch {
	case p.Returning:
		return 0, true
	case named == p.Number:
		return lent, false
	}
	return 0, named != p.Previous || named == 0
}

// IsOpen reports whether home's answer says that it has not carried the prepared operation out: it had nothing to lend. Home may do so yet, if the
// operation is sent again or comes late from another node. A Deposit now would end it, and tokens lent then would be lost: see [Purse.Close].
func (p *Purse) IsOpen(lent int64, named uint64) bool {
	return p.Prepared && !p.Returning && lent == 0 && named == p.Previous
}

// IsPending reports whether an open operation can stay prepared, because it still states the unspent tokens: tokens that were spent since refill only
// once another operation states it.
func (p *Purse) IsPending(lent int64, named uint64) bool {
	return p.IsOpen(lent, named) && p.Tokens == p.Left
}

// Close is the operation that has home carry the open one out as one that lends nothing, if home has not carried it out since: so it cannot lend
// later. It returns false without a loan, of which home cannot keep a number.
func (p *Purse) Close(key, holder []byte) (op engine.Op, ok bool) {
	loan := engine.Loan{Number: p.Number, Previous: p.Previous}
	return engine.Op{Verb: engine.Return, Key: key, Who: holder, Loan: &loan, Keep: engine.KeepTokens(p.Left)}, p.Previous != 0
}

// Closed is the tokens that the operation has lent, as home's answer to [Purse.Close] says: the number that it names, and the tokens set aside.
func (p *Purse) Closed(held int64, named uint64) (lent int64) {
	if named != p.Number {
		return 0
	}
	return max(0, held-p.Left)
}

// LentLate is the operation that returns tokens which home has lent to an operation without a loan before it, if the purse in which they were to be
// deposited had ended by then, as came says, the result of the Deposit: nobody can spend them.
func (p *Purse) LentLate(key, holder []byte, lent int64, came *engine.Result) (op engine.Op, ok bool) {
	loan := engine.Loan{Number: p.Number + 1, Previous: p.Number, Left: lent}
	after := Of(came)
	ok = !p.Returning && p.Previous == 0 && lent > 0 && came.Granted == 0 && after.Previous == 0
	return engine.Op{Verb: engine.Return, Key: key, Who: holder, Loan: &loan}, ok
}

// Deposit ends the prepared operation, as Meaning has read its answer. It returns the tokens that came in.
func (p *Purse) Deposit(brought int64, drops bool, named uint64) (kept int64) {
	if drops {
		p.Tokens = 0
	}
	kept = min(brought, limits.MaxTokens-p.Tokens)
	p.Tokens += kept
	p.Previous, p.Prepared, p.Returning, p.Left = named, false, false, 0
	return kept
}
