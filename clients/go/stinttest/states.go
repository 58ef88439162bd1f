package stinttest

import "math/big"

// never is the wait of a request that the limit can never grant.
var never = big.NewRat(-1, 1)

// A decision is the outcome for one limit. state is kept if the request is granted. Times are in nanoseconds.
type decision struct {
	granted, limit, remaining int64
	wait, reset               *big.Rat
	state                     any
}

// An ask is a request for tokens of one limit.
type ask struct {
	n       int64
	option  string // PEEK, UPTO, FORCE or MAXWAIT, or empty
	maxWait int64
}

// number is the number asked for, of a limit that has left tokens.
func (a ask) number(left int64) int64 {
	if a.option == "UPTO" {
		return max(1, min(a.n, left))
	}
	return a.n
}

// decide decides on an ask. A new key has no state.
func (l limit) decide(state any, now int64, a ask) decision {
	switch l.spec {
	case "FW":
		return l.decideWindow(state, now, a)
	case "SW":
		return l.decideSegments(state, now, a)
	case "BAL":
		return decideCredits(state, a)
	}
	return l.decideBucket(state, now, a)
}

// look returns the state without changing it: the decision on a request for more than any limit ever grants.
func (l limit) look(state any, now int64) decision { return l.decide(state, now, ask{n: 1e15}) }

// isFull reports whether a state is that of a new key.
func (l limit) isFull(state any, now int64) bool {
	switch s := state.(type) {
	case credits:
		return false
	case window:
		if l.rollover > 0 && now < l.windowEnd(l.windowEnd(l.windowAt(s, now).before.end)) {
			return false
		}
	}
	return l.look(state, now).reset.Sign() == 0
}

// decideBucket decides for a token bucket. The state is the time at which all tokens are back.
func (l limit) decideBucket(state any, now int64, a ask) decision {
	at, interval := whole(now), l.interval()
	full, ok := state.(*big.Rat)
	if !ok || full.Cmp(at) < 0 {
		full = at
	}
	most := times(interval, l.tokens)
	left := floor(quotient(minus(plus(at, most), full), interval))
	n := a.number(left)
	after := plus(full, times(interval, n))
	missing, ahead := minus(minus(after, at), most), whole(a.maxWait)
	if a.option != "FORCE" && (n > l.tokens || missing.Cmp(ahead) > 0) {
		wait := minus(missing, ahead)
		if n > l.tokens {
			wait = never
		}
		return decision{limit: l.tokens, remaining: left, wait: wait, reset: minus(full, at), state: state}
	}
	d := decision{granted: n, limit: l.tokens, wait: new(big.Rat), reset: minus(after, at), state: after}
	d.remaining = floor(quotient(minus(plus(at, most), after), interval))
	if a.option != "FORCE" && missing.Sign() > 0 {
		d.wait = missing
	}
	return d
}

func whole(n int64) *big.Rat             { return new(big.Rat).SetInt64(n) }
func plus(a, b *big.Rat) *big.Rat        { return new(big.Rat).Add(a, b) }
func minus(a, b *big.Rat) *big.Rat       { return new(big.Rat).Sub(a, b) }
func times(a *big.Rat, n int64) *big.Rat { return new(big.Rat).Mul(a, whole(n)) }
func quotient(a, b *big.Rat) *big.Rat    { return new(big.Rat).Quo(a, b) }
func floor(a *big.Rat) int64             { return new(big.Int).Div(a.Num(), a.Denom()).Int64() }
func ceilDiv(a *big.Rat, unit int64) (up int64) {
	return -floor(quotient(new(big.Rat).Neg(a), whole(unit)))
}
