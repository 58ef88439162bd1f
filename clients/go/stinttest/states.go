package stinttest

import "math/big"

// never is the wait of a request that the limit can never grant.
var never = big.NewRat(-1, 1)

// A decision is the outcome for one limit. state is kept if the request is granted. Times are in nanoseconds.
type decision struct {
	granted, remaining int64
	wait, reset        *big.Rat
	state              any
}

// An ask is a request for tokens of one limit.
type ask struct {
	n       int64
	option  string // PEEK, UPTO, FORCE or MAXWAIT, or empty
	maxWait int64
}

// number is the number asked for, where left tokens are there.
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
		return l.decideSliding(state, now, a)
	case "SL":
		return l.decideLog(state, now, a)
	case "AD":
		return l.decideAdaptive(state, now, a)
	}
	return l.decideBucket(state, now, a)
}

// isFull reports whether a state equals that of a new key.
func (l limit) isFull(state any, now int64) bool {
	switch s := state.(type) {
	case adaptive:
		if s.isRemembered(now) {
			return false
		}
	case window:
		return !s.counts(l, now)
	}
	return l.decide(state, now, ask{n: l.tokens + 1}).reset.Sign() == 0
}

// decideBucket is for token buckets, queues and GCRA. The state is the time at which all tokens are back.
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
		return decision{remaining: left, wait: wait, reset: minus(full, at), state: state}
	}
	d := decision{granted: n, remaining: floor(quotient(minus(plus(at, most), after), interval)), wait: new(big.Rat), reset: minus(after, at), state: after}
	switch {
	case l.spec == "LQ":
		d.wait = minus(full, at)
	case a.option != "FORCE" && missing.Sign() > 0:
		d.wait = missing
	}
	return d
}

// grant is one of a sliding log.
type grant struct{ at, tokens int64 }

func (l limit) decideLog(state any, now int64, a ask) decision {
	log, _ := state.([]grant)
	var grants []grant
	taken := int64(0)
	for _, g := range log {
		if g.at > now-l.period {
			grants, taken = append(grants, g), taken+g.tokens
		}
	}
	n, reset := a.number(l.tokens-taken), new(big.Rat)
	if len(grants) > 0 {
		reset = whole(grants[len(grants)-1].at + l.period - now)
	}
	if a.option == "FORCE" || taken+n <= l.tokens {
		return decision{granted: n, remaining: l.tokens - taken - n, wait: new(big.Rat), reset: whole(l.period), state: append(grants, grant{now, n})}
	}
	wait, excess := int64(0), taken+n-l.tokens
	for _, g := range grants {
		if excess > 0 {
			wait, excess = g.at+l.period-now, excess-g.tokens
		}
	}
	d := decision{remaining: l.tokens - taken, wait: whole(wait), reset: reset, state: state}
	if n > l.tokens {
		d.wait = never
	}
	return d
}

// counters is the state of a sliding window: its number, its tokens, and those of the one before.
type counters struct{ number, current, before int64 }

func (l limit) decideSliding(state any, now int64, a ask) decision {
	number := now / l.period
	c, ok := state.(counters)
	switch {
	case !ok, c.number < number-1:
		c = counters{number: number}
	case c.number == number-1:
		c = counters{number: number, before: c.current}
	}
	elapsed := now - number*l.period
	weighed := big.NewRat(l.period-elapsed, l.period)
	left := floor(minus(whole(l.tokens-c.current), times(weighed, c.before)))
	n := a.number(left)
	if a.option == "FORCE" || n <= left {
		c.current += n
		return decision{granted: n, remaining: left - n, wait: new(big.Rat), reset: whole(2*l.period - elapsed), state: c}
	}
	d := decision{remaining: left, wait: never, reset: new(big.Rat), state: state}
	switch {
	case c.current > 0:
		d.reset = whole(2*l.period - elapsed)
	case c.before > 0:
		d.reset = whole(l.period - elapsed)
	}
	switch {
	case n > l.tokens:
	case c.current+n <= l.tokens: // when enough of the window before has gone
		d.wait = minus(whole(l.period-elapsed), times(big.NewRat(l.period, c.before), l.tokens-c.current-n))
	default: // in the next window, when enough of this one has gone
		d.wait = minus(whole(2*l.period-elapsed), times(big.NewRat(l.period, c.current), l.tokens-n))
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
