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

// takenUnder returns the ticks taken at the call's time under a limit, which may be another than the state's.
func (c *call) takenUnder(limit *Limit) wide {
	if c.fresh {
		return wide{}
	}
	taken := loadMeter(c.state).taken(c.now, c.held.Rate)
	if c.held.Rate != limit.Rate {
		taken = carryOver(taken, c.held.Rate, limit.Rate)
	}
	return taken
}

// decideMeter answers an Acquire by the token bucket rule: granted if what was taken and what is asked for fit the
// capacity, or will within MaxWait.
func decideMeter(c *call) (changed bool) {
	op, rate := c.op, c.limit.Rate
	period, tokensPerPeriod := uint64(rate.Period), uint64(rate.Tokens)
	taken := c.takenUnder(&c.limit)
	asked := product(uint64(op.Tokens), period)
	room := product(uint64(c.limit.Capacity), period)
	reach := room // ticks that may be taken in all
	if op.MaxWait > 0 {
		ahead := product(uint64(op.MaxWait), tokensPerPeriod)
		reach = room.plus(smaller(ahead, product(MaxTokens, period)))
	}

	granted := op.Tokens
	after := taken.plus(asked)
	if after.over(reach) {
		switch {
		case op.Options&Force != 0:
			if after.over(room.plus(product(MaxTokens, period))) || after.over(product(uint64(maxAhead), tokensPerPeriod)) {
				c.result.Status = DebtTooBig
				return false
			}
		case op.Options&UpTo != 0:
			available, _ := reach.minus(taken).divide(period)
			if available == 0 {
				c.denyMeter(taken, product(1, period), reach)
				return false
			}
			granted = int64(available)
			after = taken.plus(product(available, period))
		default:
			c.denyMeter(taken, asked, reach)
			return false
		}
	}
	res := c.result
	res.Allowed, res.Granted = true, granted
	if op.Options&Force == 0 {
		res.Wait = after.minus(room).divideUp(tokensPerPeriod)
	}
	res.reportMeter(after, &c.limit, op.Options&Force != 0)
	meterAfter(c.now, after, rate).store(c.next[:])
	return granted > 0
}

// denyMeter reports a denial of what was asked, where reach ticks may be taken in all.
func (c *call) denyMeter(taken, asked, reach wide) {
	c.result.Wait = NeverWait
	if !asked.over(reach) {
		c.result.Wait = taken.plus(asked).minus(reach).divideUp(uint64(c.limit.Rate.Tokens))
	}
	c.result.reportMeter(taken, &c.limit, false)
}

// reportMeter fills in what is left once ticks are taken. Debt shows below zero only where the caller asked for it.
func (res *Result) reportMeter(ticks wide, limit *Limit, showDebt bool) {
	res.Limit = limit.Capacity
	res.Remaining = limit.Capacity - ticks.divideUp(uint64(limit.Rate.Period))
	if res.Remaining < 0 && !showDebt {
		res.Remaining = 0
	}
	res.Reset = ticks.divideUp(uint64(limit.Rate.Tokens))
}

func lookMeter(c *call) {
	c.result.reportMeter(c.takenUnder(&c.limit), &c.limit, c.op.Verb == Look)
}

func refundMeter(c *call) {
	period := uint64(c.held.Rate.Period)
	taken := c.takenUnder(&c.held)
	left := taken.minus(product(uint64(c.op.Tokens), period))
	back, rest := taken.minus(left).divide(period)
	if rest > 0 {
		back++ // the last token had come back in part by itself
	}
	c.result.Granted = int64(back)
	c.result.reportMeter(left, &c.held, true)
	meterAfter(c.now, left, c.held.Rate).store(c.next[:])
}

func meterExpired(state []byte, _ *Limit, now int64) bool { return loadMeter(state).isFull(now) }
