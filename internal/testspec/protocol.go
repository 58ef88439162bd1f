package testspec

// The rules of one loan, for the model of loan.go and for traces of the engine.

// number is the type of tokens, times and numbers of operations: small in models, large in traces.
type number interface{ ~int8 | ~int64 }

// Verb is the kind of an operation on a loan.
type Verb uint8

// The operations on a loan.
const (
	None   Verb = iota
	Lend        // states the tokens that are left, and asks for more
	Return      // gives tokens back, keeps others, and states the rest as spent
	Void        // counts all tokens as spent
)

// Ask is an operation on a loan, as the lender takes it.
type Ask[N number] struct {
	Verb     Verb
	Number   N // of this operation
	Previous N // the number of the last operation that was carried out, 0 if there is no loan
	Left     N // unspent tokens; with Return those that go back
	Keep     N // with Return: unspent tokens that stay
	Renews   bool
}

// Answer is the lender's answer.
type Answer[N number] struct {
	To    N // the number of the operation
	Named N // the number of the last operation that was carried out, 0 if there is no loan
	Lent  N // tokens that are lent, or that went back
	Held  N // all tokens that are lent now
}

// Record is what the lender knows of a loan.
type Record[N number] struct {
	Held   N // tokens that are set aside
	Number N // of the last operation that was carried out
}

// Carry carries an operation out. It lends at most the tokens in most, and returns those to charge, which are spent.
// carried reports whether the record names the operation from now on.
func (r *Record[N]) Carry(a Ask[N], most N, bug Bug) (answer Answer[N], spent N, carried bool) {
	ignored := func() (Answer[N], N, bool) { return Answer[N]{To: a.Number, Named: r.Number, Held: r.Held}, 0, false }
	switch {
	case a.Verb == Void:
		spent = r.Held
		*r = Record[N]{}
		return Answer[N]{Lent: spent}, spent, false
	case a.Verb == Lend && r.Number == a.Number && a.Left <= r.Held: // it was carried out before
		return Answer[N]{a.Number, r.Number, r.Held - a.Left, r.Held}, 0, false
	case r.Number != a.Previous && bug != LateAskIsCarriedOut, a.Left+a.Keep > r.Held:
		return ignored()
	}
	back, lent, left := N(0), N(0), a.Left
	if a.Verb == Return {
		back, left = a.Left, a.Keep
	} else {
		lent = most
	}
	spent = r.Held - left - back
	if a.Verb == Lend && spent == 0 && lent == 0 && !(a.Renews && left > 0) {
		return ignored() // it can be carried out later
	}
	if r.Held = left + lent; r.Held > 0 {
		r.Number = a.Number
	} else {
		r.Number = 0
	}
	return Answer[N]{a.Number, r.Number, lent + back, r.Held}, spent, true
}

// Purse is what the holder knows of a loan.
type Purse[N number] struct {
	Tokens              N // not spent
	Previous            N // the number of the last operation that the lender carried out, 0 if there is no loan
	Number              N // of the last operation that was prepared
	Left                N // that this operation states as unspent
	Back                N // of these, the ones that go back
	Prepared, Returning bool
}

// Prepare begins an operation. lentOn are tokens that left the purse and are not spent: others hold them.
func (p *Purse[N]) Prepare(number N, returning bool, lentOn N, bug Bug) {
	p.Number, p.Prepared, p.Returning, p.Left = number, true, returning, p.Tokens+lentOn
	if bug == LentOnCountsAsSpent {
		p.Left = p.Tokens
	}
	if p.Back = 0; returning {
		p.Back = p.Tokens
		if bug != ReturnedTokensStay {
			p.Tokens = 0
		}
	}
}

// Ask is the prepared operation.
func (p *Purse[N]) Ask(renews bool) Ask[N] {
	if p.Returning {
		return Ask[N]{Verb: Return, Number: p.Number, Previous: p.Previous, Left: p.Back, Keep: p.Left - p.Back}
	}
	return Ask[N]{Verb: Lend, Number: p.Number, Previous: p.Previous, Left: p.Left, Renews: renews}
}

// Close is an operation that ends the prepared one at the lender, which had nothing to lend: it cannot lend later.
func (p *Purse[N]) Close() Ask[N] {
	return Ask[N]{Verb: Return, Number: p.Number, Previous: p.Previous, Keep: p.Left}
}

// Expects reports whether an answer is the first one to the prepared operation.
func (p *Purse[N]) Expects(a Answer[N]) bool { return p.Prepared && p.Number == a.To }

// IsOpen reports whether the lender has not carried the prepared operation out, but may do so later.
func (p *Purse[N]) IsOpen(a Answer[N]) bool {
	return !p.Returning && a.Lent == 0 && a.Named == p.Previous
}

// Hear takes the answer to the prepared operation. If the lender names another operation than the purse knows, it has
// counted the tokens as spent, and they are dropped.
func (p *Purse[N]) Hear(a Answer[N]) {
	switch {
	case a.Named == p.Number && !p.Returning:
		p.Tokens += max(0, a.Held-p.Left)
	case a.Named == p.Number && a.Held > 0: // what was lent on stays, and may have come back meanwhile
	case a.Named != p.Previous || a.Named == 0 || p.Returning:
		p.Tokens = 0
	}
	p.Previous, p.Prepared, p.Returning, p.Left, p.Back = a.Named, false, false, 0, 0
}
