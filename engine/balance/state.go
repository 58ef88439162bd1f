package balance

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Decide answers an [engine.Acquire], which spends credits, or an [engine.AddCredits], which adds them, on a state. It
// appends the new credits to room, and reports whether they are other than before.
func Decide(room, state []byte, now int64, op *engine.Op, res *engine.Result) (next []byte, changed bool) {
	c := appendLive(room, state, now)
	added, left := c.sum(now)
	asked := op.Tokens
	switch {
	case op.Verb == engine.AddCredits:
		return c.decideCredit(now, op, res)
	case asked <= left:
	case op.Options&engine.Force != 0:
		if asked-left > limits.MaxTokens {
			res.Status = engine.DebtTooBig
			report(res, added, left, true)
			return c, false
		}
	case op.Options&engine.UpTo != 0 && left > 0:
		asked = left
	default:
		res.Wait = engine.NeverWait
		report(res, added, left, false)
		return c, false
	}
	res.Allowed, res.Granted = true, asked
	report(res, added, left-asked, op.Options&engine.Force != 0)
	return c.take(asked), asked > 0
}

// decideCredit adds the credits of a payment. Credits that have expired before are not kept.
func (c Credits) decideCredit(now int64, op *engine.Op, res *engine.Result) (next []byte, changed bool) {
	expires := op.PriorAt
	if expires == 0 {
		expires = Never
	}
	added, left := c.sum(now)
	at := c.placeOf(expires)
	isNew := at == c.Len() || c.at(at).Expires != expires
	report(res, added, left, true)
	switch {
	case left+op.Tokens > limits.MaxTokens:
		res.Status = engine.TooManyCredits
		return c, false
	case expires > now && expires != Never && isNew && c.placeOf(Never) >= engine.MaxCreditGrants:
		res.Status = engine.TooManyGrants
		return c, false
	}
	res.Allowed, res.Granted = true, op.Tokens
	if expires > now {
		c = c.add(op.Tokens, expires)
		added, left = c.sum(now)
		report(res, added, left, true)
	}
	return c, true
}

func report(res *engine.Result, added, left int64, showDebt bool) {
	res.Limit, res.Remaining, res.Reset = added, left, 0
	if left < 0 && !showDebt {
		res.Remaining = 0
	}
}

// Look reports a state: as the limit, the credits that were added and have not expired.
func Look(state []byte, now int64, op *engine.Op, res *engine.Result) {
	added, left := Credits(state[sizeBytes:]).sum(now)
	report(res, added, left, op.Verb == engine.Look || op.Verb == engine.ListCredits || op.Verb == engine.AddCredits)
}

// GiveBack gives back credits in place: op.Tokens at most, and none to a grant that expires later than until.
func GiveBack(state []byte, now, until int64, op *engine.Op, res *engine.Result) {
	c := Credits(state[sizeBytes:])
	res.Granted = c.giveBack(now, op.Tokens, until)
	added, left := c.sum(now)
	report(res, added, left, true)
}

// LastTaken is when the last grant expires from which some credits would be taken, given the state before.
func LastTaken(state []byte, now, credits int64) (expires int64) {
	c := Credits(state[sizeBytes:])
	for i := c.placeOf(now + 1); i < c.Len() && credits > 0; i++ {
		g := c.at(i)
		if left := g.Added - g.Spent; left > 0 {
			credits, expires = credits-left, g.Expires
		}
	}
	if credits > 0 {
		return Never // a debt
	}
	return expires
}

// Expired reports whether a state counts no longer: nothing is left, owed, or could be given back.
func Expired(state []byte, _ *limits.Limit, now int64) bool {
	c := Credits(state[sizeBytes:])
	for i := c.placeOf(now + 1); i < c.Len(); i++ {
		if g := c.at(i); g.Added != 0 || g.Spent != 0 {
			return false
		}
	}
	return true
}

// Rewind makes the times of a state earlier.
func Rewind(state []byte, _ *limits.Limit, by int64) {
	c := Credits(state[sizeBytes:])
	for i := range c.Len() {
		if g := c.at(i); g.Expires != Never {
			g.Expires -= by
			c.set(i, g)
		}
	}
}

// Valid reports whether a state is well-formed.
func Valid(state []byte) bool {
	if len(state) < sizeBytes+head {
		return false
	}
	c := Credits(state[sizeBytes:])
	n := c.Len()
	if n > engine.MaxCreditGrants+1 || len(c) < head+n*grantBytes {
		return false
	}
	before := int64(0)
	for i := range n {
		g := c.at(i)
		if g.Expires <= before || g.Added < 0 || g.Added > 2*limits.MaxTokens || g.Spent < 0 || g.Spent > limits.MaxTokens ||
			g.Spent > g.Added && g.Expires != Never {
			return false
		}
		before = g.Expires
	}
	return n <= engine.MaxCreditGrants || before == Never
}

// Plain is a copy of the grants that count, independent of the layout in memory.
func Plain(state []byte, now int64) []byte {
	c := Credits(state[sizeBytes:])
	var plain []byte
	for i := c.placeOf(now + 1); i < c.Len(); i++ {
		plain = append(plain, c[head+i*grantBytes:head+(i+1)*grantBytes]...)
	}
	return plain
}

// AppendList appends the grants of which something is left, as [engine.Result.Credits] reads them.
func AppendList(b, state []byte, now int64) []byte {
	c := Credits(state[sizeBytes:])
	for i := c.placeOf(now + 1); i < c.Len(); i++ {
		g := c.at(i)
		if g.Added <= g.Spent {
			continue
		}
		for _, n := range [...]int64{g.Expires, g.Added, g.Spent} {
			b = binary.AppendVarint(b, n)
		}
	}
	return b
}
