package testmodel

import "math/big"

// meter is the state of a bucket: the tokens taken from it at a time, which the rate brings back.
type meter struct {
	limit limit
	taken *big.Rat
	at    int64
}

func (m *meter) level(now int64) *big.Rat {
	left := minus(m.taken, times(ratio(now-m.at), m.limit.rate.perNano()))
	if left.Sign() < 0 {
		return new(big.Rat)
	}
	return left
}

func (m *meter) live(now int64) bool { return m.level(now).Sign() > 0 }

// fill is the time in which the rate brings the taken tokens back.
func (l limit) fill(taken *big.Rat) *big.Rat { return times(taken, l.rate.nanos()) }

func (m *meter) look(now int64) (l limit, remaining, reset int64) {
	taken := m.level(now)
	return m.limit, down(minus(ratio(m.limit.most), taken)), up(m.limit.fill(taken))
}

func (m *meter) refund(now, tokens int64) state {
	return &meter{m.limit, minus(m.level(now), ratio(tokens)), now}
}

func (m *meter) boundaries() (times []int64) {
	full := up(m.limit.fill(m.taken))
	if full > 200*year {
		return nil
	}
	one := up(m.limit.rate.nanos())
	return []int64{m.at + full, m.at + one, m.at + full - one}
}

// takenUnder is the number of tokens taken at a time, in multiples of 1/P of a token. P is the period of the requested
// limit.
func takenUnder(held state, l limit, now int64) *big.Rat {
	m, ok := held.(*meter)
	if !ok {
		return new(big.Rat)
	}
	taken := m.level(now)
	if m.limit.rate.period != l.rate.period {
		scaled := times(taken, ratio(l.rate.period))
		n := new(big.Int).Neg(scaled.Num())
		n.Neg(n.Div(n, scaled.Denom()))
		taken = new(big.Rat).SetFrac(n, big.NewInt(l.rate.period))
	}
	return taken
}

func decideMeter(held state, r *request, now int64, a answer) (answer, state, error) {
	l, taken := r.limit, takenUnder(held, r.limit, now)
	ahead := times(ratio(r.wait), l.rate.perNano()) // tokens that may be reserved beyond those in the bucket
	if ahead.Cmp(ratio(mostTokens)) > 0 {
		ahead = ratio(mostTokens)
	}
	room := ratio(max(0, r.open()-r.lent))
	most := plus(room, ahead)
	a.tokens = r.tokens
	if r.upTo {
		a.tokens = max(0, min(r.tokens, down(minus(most, taken))))
	}
	after := plus(taken, ratio(a.tokens))
	if r.force {
		if after.Cmp(plus(room, ratio(mostTokens))) > 0 || l.fill(after).Cmp(ratio(150*year)) > 0 {
			return a, nil, debtTooBig
		}
		a.granted = true
	} else {
		a.granted = after.Cmp(most) <= 0 && (a.tokens > 0 || r.tokens == 0)
	}
	if !a.granted {
		return a.denyMeter(r, now, taken, plus(ratio(r.open()), ahead)), nil, nil
	}
	if lack := minus(after, plus(room, ratio(l.most-r.open()))); !r.force && lack.Sign() > 0 {
		a.wait = up(l.fill(lack))
	}
	a.remaining = down(minus(ratio(l.most-r.lent), after))
	if !r.force {
		a.remaining = max(0, a.remaining)
	}
	a.reset = up(l.fill(after))
	if a.tokens == 0 {
		return a, nil, nil
	}
	return a, &meter{l, after, now}, nil
}

// denyMeter adds the time until there are enough tokens. At most "most" tokens may be in debt.
func (a answer) denyMeter(r *request, now int64, taken, most *big.Rat) answer {
	a.tokens, a.wait = 0, never
	if ratio(r.least()).Cmp(most) <= 0 {
		a.wait = r.meterWait(now, taken, most)
	}
	a.remaining = max(0, down(minus(ratio(r.limit.most-r.lent), taken)))
	a.reset = up(r.limit.fill(taken))
	return a
}

// decideQueue gives a place in a queue that lets one request out every 1/rate. The state is the meter's: the places
// that are taken.
func decideQueue(held state, r *request, now int64, a answer) (answer, state, error) {
	l, queued := r.limit, takenUnder(held, r.limit, now)
	most, after, turn := ratio(l.most), plus(queued, ratio(r.tokens)), l.fill(queued)
	if late := minus(turn, ratio(r.wait)); after.Cmp(most) > 0 || r.block && late.Sign() > 0 {
		if a = a.denyMeter(r, now, queued, most); a.wait != never && r.block {
			a.wait = max(a.wait, up(late))
		}
		return a, nil, nil
	}
	a.granted, a.tokens, a.wait = true, r.tokens, up(turn)
	a.remaining, a.reset = max(0, down(minus(most, after))), up(l.fill(after))
	return a, &meter{l, after, now}, nil
}
