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

// IsPending reports whether home has not carried the prepared operation out, as its answer says, and the operation still states the unspent tokens. Home
// may do so yet, if it is sent again or comes late from another node. A Deposit would end it, and tokens lent then would be lost. But tokens that were
// spent since refill only once another operation states it.
func (p *Purse) IsPending(lent int64, named uint64) bool {
	return p.Prepared && !p.Returning && lent == 0 && named == p.Previous && p.Tokens == p.Left
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
