package engine

import "encoding/binary"

// meter is the state that GCRA, token bucket and leaky bucket share: the theoretical arrival time (TAT) of ATM Forum
// TM 4.0, annex "GCRA", read as the instant at which the bucket is full again. Between whole nanoseconds it keeps the
// remainder as a fraction of the rate, so that N tokens per P is exact for every N and P and never drifts.
//
// All arithmetic is in ticks: one tick is 1/N of a nanosecond. A token is P ticks, a nanosecond is N ticks, and both
// are whole numbers, which is the whole trick.
type meter struct {
	tat  int64  // nanoseconds since the Unix epoch
	frac uint64 // ticks beyond tat, less than N
}

const meterBytes = 16

func loadMeter(state []byte) meter {
	return meter{int64(binary.LittleEndian.Uint64(state)), binary.LittleEndian.Uint64(state[8:])}
}

func (m meter) store(state []byte) {
	binary.LittleEndian.PutUint64(state, uint64(m.tat))
	binary.LittleEndian.PutUint64(state[8:], m.frac)
}

// isFull reports whether the meter holds no information at now: nothing is taken.
func (m meter) isFull(now int64) bool {
	return m.tat < now || m.tat == now && m.frac == 0
}

// taken returns the tokens taken at now, in ticks of the rate.
func (m meter) taken(now int64, rate Rate) wide {
	if m.isFull(now) {
		return wide{}
	}
	return product(uint64(m.tat)-uint64(now), uint64(rate.Tokens)).plus(wide{0, m.frac})
}

// meterAfter returns the meter from which the given ticks are taken at now.
func meterAfter(now int64, ticks wide, rate Rate) meter {
	nanos, frac := ticks.divide(uint64(rate.Tokens))
	return meter{now + int64(nanos), frac}
}

// carryOver converts ticks taken at one rate to ticks at another, so that the tokens taken stay the same. It rounds up
// to a whole tick; as every later quantity is a whole number of ticks too, no decision differs from that of the
// unrounded fraction. Only a clock that went back can show more than a capacity and a debt of MaxTokens each as taken;
// that much is carried.
func carryOver(ticks wide, from, to Rate) wide {
	if from.Period == to.Period {
		return ticks // a token is as many ticks as before
	}
	ticks = smaller(ticks, product(2*MaxTokens, uint64(from.Period)))
	tokens, rest := ticks.divide(uint64(from.Period))
	part := product(rest, uint64(to.Period)).divideUp(uint64(from.Period))
	return product(tokens, uint64(to.Period)).plus(wide{0, uint64(part)})
}

// decideMeter answers an Acquire by the token bucket rule: granted if what was taken and what is asked for fit the
// capacity, or will within MaxWait.
func decideMeter(c *call) (changed bool) {
	op, rate := c.op, c.limit.Rate
	period, tokensPerPeriod := uint64(rate.Period), uint64(rate.Tokens)
	taken := loadMeter(c.state[:]).taken(c.now, c.held.Rate)
	if c.held.Rate != rate {
		taken = carryOver(taken, c.held.Rate, rate)
	}
	asked := product(uint64(op.Tokens), period)
	room := product(uint64(c.limit.Capacity), period)
	reach := room // ticks that may be taken in all
	if op.MaxWait > 0 {
		ahead := product(uint64(op.MaxWait), tokensPerPeriod)
		reach = room.plus(smaller(ahead, product(MaxTokens, period)))
	}

	res, granted := c.result, op.Tokens
	after := taken.plus(asked)
	fits := !after.over(reach)
	switch {
	case fits:
	case op.Options&Force != 0:
		if after.over(room.plus(product(MaxTokens, period))) || after.over(product(uint64(maxAhead), tokensPerPeriod)) {
			res.Status = DebtTooBig
			return false
		}
		fits = true
	case op.Options&UpTo != 0:
		available, _ := reach.minus(taken).divide(period)
		granted, fits = int64(available), available > 0
		asked = product(available, period)
		after = taken.plus(asked)
	}
	res.Limit = c.limit.Capacity
	if !fits {
		if op.Options&UpTo != 0 {
			asked = product(1, period)
		}
		res.deny(taken, asked, reach, c.limit)
		return false
	}
	res.Allowed, res.Granted = true, granted
	if op.Options&Force == 0 {
		res.Wait = after.minus(room).divideUp(tokensPerPeriod)
	}
	res.report(after, c.limit, op.Options&Force != 0)
	if granted == 0 {
		return false
	}
	meterAfter(c.now, after, rate).store(c.state[:])
	return true
}

func (res *Result) deny(taken, asked, reach wide, limit Limit) {
	res.Allowed, res.Granted = false, 0
	res.Wait = NeverWait
	if !asked.over(reach) {
		res.Wait = taken.plus(asked).minus(reach).divideUp(uint64(limit.Rate.Tokens))
	}
	res.report(taken, limit, false)
}

// report fills in what is left once ticks are taken. Debt shows below zero only where the caller asked for it.
func (res *Result) report(ticks wide, limit Limit, showDebt bool) {
	res.Remaining = limit.Capacity - ticks.divideUp(uint64(limit.Rate.Period))
	if res.Remaining < 0 && !showDebt {
		res.Remaining = 0
	}
	res.Reset = ticks.divideUp(uint64(limit.Rate.Tokens))
}

func lookMeter(c *call) {
	c.result.Limit = c.held.Capacity
	c.result.report(loadMeter(c.state[:]).taken(c.now, c.held.Rate), c.held, true)
}

func refundMeter(c *call) {
	taken := loadMeter(c.state[:]).taken(c.now, c.held.Rate)
	left := taken.minus(product(uint64(c.op.Tokens), uint64(c.held.Rate.Period)))
	back, rest := taken.minus(left).divide(uint64(c.held.Rate.Period))
	if rest > 0 {
		back++ // the last token had come back in part by itself
	}
	c.result.Granted = int64(back)
	c.result.Limit = c.held.Capacity
	c.result.report(left, c.held, true)
	meterAfter(c.now, left, c.held.Rate).store(c.state[:])
}

func meterExpired(state []byte, now int64) bool { return loadMeter(state).isFull(now) }
