package algorithm

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// meter is the state that GCRA, token bucket and leaky bucket share: the theoretical arrival time (TAT) of ATM Forum
// TM 4.0, annex "GCRA", read as the instant at which the bucket is full again. Between whole nanoseconds it keeps the
// remainder as a fraction of the rate, so that N tokens per P is exact for every N and P and never drifts.
//
// All arithmetic is in ticks: one tick is 1/N of a nanosecond. A token is P ticks, a nanosecond is N ticks, and both
// are whole numbers.
type meter struct {
	tat  int64  // nanoseconds since the Unix epoch
	frac uint64 // ticks beyond tat, less than N
}

const meterBytes = 16

// LoadMeter reads the state of a meter.
func LoadMeter(state []byte) meter {
	return meter{int64(binary.LittleEndian.Uint64(state)), binary.LittleEndian.Uint64(state[8:])}
}

func (m meter) Store(state []byte) {
	binary.LittleEndian.PutUint64(state, uint64(m.tat))
	binary.LittleEndian.PutUint64(state[8:], m.frac)
}

// isFull reports whether the meter holds no information at now: nothing is taken.
func (m meter) isFull(now int64) bool {
	return m.tat < now || m.tat == now && m.frac == 0
}

// Taken returns the tokens taken at now, in ticks of the rate.
func (m meter) Taken(now int64, rate limits.Rate) uint128.Int {
	if m.isFull(now) {
		return uint128.Int{}
	}
	return uint128.Product(uint64(m.tat)-uint64(now), uint64(rate.Tokens)).Plus(uint128.Int{Lo: m.frac})
}

// MeterAfter returns the meter from which the given ticks are taken at now.
func MeterAfter(now int64, ticks uint128.Int, rate limits.Rate) meter {
	nanos, frac := ticks.Divide(uint64(rate.Tokens))
	return meter{now + int64(nanos), frac}
}

// carryOver converts ticks taken at one rate to ticks at another, so that the tokens taken stay the same. It rounds up
// to a whole tick; because every later quantity is a whole number of ticks too, no decision differs from that of the
// unrounded fraction. Only a clock that went back can show more than a capacity and a debt of MaxTokens each as taken;
// that much is carried.
func carryOver(ticks uint128.Int, from, to limits.Rate) uint128.Int {
	if from.Period == to.Period {
		return ticks // a token is as many ticks as before
	}
	ticks = uint128.Min(ticks, uint128.Product(2*limits.MaxTokens, uint64(from.Period)))
	tokens, rest := ticks.Divide(uint64(from.Period))
	part := uint128.Product(rest, uint64(to.Period)).DivideUp(uint64(from.Period))
	return uint128.Product(tokens, uint64(to.Period)).Plus(uint128.Int{Lo: uint64(part)})
}

// takenUnder returns the ticks taken at the call's time under a limit, which may be another than the state's.
func takenUnder(c *Call, limit *limits.Limit) uint128.Int {
	taken := LoadMeter(c.State).Taken(c.Now, c.Prev.Rate)
	if c.Prev.Rate != limit.Rate {
		taken = carryOver(taken, c.Prev.Rate, limit.Rate)
	}
	return taken
}

// decideMeter answers an Acquire by the token bucket rule: granted if the tokens taken before and the requested tokens fit the
// capacity, or will within MaxWait.
func decideMeter(c *Call) (changed bool) {
	op, rate := c.Op, c.Limit.Rate
	period, tokensPerPeriod := uint64(rate.Period), uint64(rate.Tokens)
	taken := takenUnder(c, &c.Limit)
	asked := uint128.Product(uint64(op.Tokens), period)
	room := uint128.Product(uint64(max(0, c.grantable())), period)
	var ahead uint128.Int // ticks that refill within MaxWait
	if op.MaxWait > 0 && (op.Keep == 0 || op.Keep == engine.KeepNothing) {
		ahead = uint128.Min(uint128.Product(uint64(op.MaxWait), tokensPerPeriod), uint128.Product(limits.MaxTokens, period))
	}
	reach := room.Plus(ahead) // ticks that may be taken in all

	granted := op.Tokens
	after := taken.Plus(asked)
	if after.Exceeds(reach) {
		switch {
		case op.Options&engine.Force != 0:
			if after.Exceeds(room.Plus(uint128.Product(limits.MaxTokens, period))) || after.Exceeds(uint128.Product(uint64(limits.MaxAhead), tokensPerPeriod)) {
				c.Result.Status = engine.DebtTooBig
				return false
			}
		case op.Options&engine.UpTo != 0:
			available, _ := reach.Minus(taken).Divide(period)
			if available == 0 {
				denyMeter(c, taken, uint128.Product(1, period), reachWithLoans(c, ahead))
				return false
			}
			granted = int64(available)
			after = taken.Plus(uint128.Product(available, period))
		default:
			denyMeter(c, taken, asked, reachWithLoans(c, ahead))
			return false
		}
	}
	res := c.Result
	res.Allowed, res.Granted = true, granted
	if op.Options&engine.Force == 0 {
		res.Wait = after.Minus(room).DivideUp(tokensPerPeriod)
	}
	reportMeter(c, after, &c.Limit, op.Options&engine.Force != 0)
	MeterAfter(c.Now, after, rate).Store(c.Next[:])
	return granted > 0
}

// reachWithLoans is the ticks that may be taken in all, those of holders among them.
func reachWithLoans(c *Call, ahead uint128.Int) uint128.Int {
	return uint128.Product(uint64(max(0, c.grantable()+c.Lent)), uint64(c.Limit.Rate.Period)).Plus(ahead)
}

// denyMeter reports a denial, where reach ticks may be taken in all.
func denyMeter(c *Call, taken, asked, reach uint128.Int) {
	c.Result.Wait = engine.NeverWait
	if !asked.Exceeds(reach) {
		c.Result.Wait = meterWait(c, taken, asked, reach)
	}
	reportMeter(c, taken, &c.Limit, false)
}

// reportMeter fills in the tokens left once ticks are taken. Debt shows below zero only where the caller asked for it.
func reportMeter(c *Call, ticks uint128.Int, limit *limits.Limit, showDebt bool) {
	res := c.Result
	res.Limit = limit.Capacity
	res.Remaining = limit.Capacity - c.Lent - ticks.DivideUp(uint64(limit.Rate.Period))
	if res.Remaining < 0 && !showDebt {
		res.Remaining = 0
	}
	res.Reset = ticks.DivideUp(uint64(limit.Rate.Tokens))
}

func lookMeter(c *Call) {
	reportMeter(c, takenUnder(c, &c.Limit), &c.Limit, c.Op.Verb == engine.Look)
}

func refundMeter(c *Call) {
	period := uint64(c.Prev.Rate.Period)
	taken := takenUnder(c, &c.Prev)
	left := taken.Minus(uint128.Product(uint64(c.Op.Tokens), period))
	back, rest := taken.Minus(left).Divide(period)
	if rest > 0 {
		back++ // the last token had partly refilled
	}
	c.Result.Granted = int64(back)
	reportMeter(c, left, &c.Prev, true)
	MeterAfter(c.Now, left, c.Prev.Rate).Store(c.Next[:])
}

func meterExpired(state []byte, _ *limits.Limit, now int64) bool { return LoadMeter(state).isFull(now) }

// chargeMeter takes tokens at a time. No debt lies further in the future than a meter can hold.
func chargeMeter(state []byte, l *limits.Limit, at, tokens int64) {
	taken := LoadMeter(state).Taken(at, l.Rate).Plus(uint128.Product(uint64(tokens), uint64(l.Rate.Period)))
	taken = uint128.Min(taken, uint128.Product(uint64(limits.MaxAhead), uint64(l.Rate.Tokens)))
	MeterAfter(at, taken, l.Rate).Store(state)
}
