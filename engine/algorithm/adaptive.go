package algorithm

import (
	"encoding/binary"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Adaptive is a token bucket whose rate follows reports on a backend: additive increase and multiplicative decrease
// (AIMD; Chiu and Jain, "Analysis of the increase and decrease algorithms", 1989). The rate is between the limit's
// least and its rate, where it begins.

const (
	// AdaptiveIdle is the time after which an unused limiter forgets its rate.
	AdaptiveIdle = int64(10 * time.Minute)
	// staleAfter is the number of times Every after which calls reported before a decision count no more; echoPart is the
	// part of Every in which bad calls do not count after the rate has fallen.
	staleAfter, echoPart = 10, 10
)

// adaptive is the state of an adaptive bucket, after its meter:
//
//	offset  size  field
//	0       16    the meter, under the present rate
//	16      8     present rate: tokens to the scaled period
//	24      8     start of the time since the last decision
//	32      8     tokens granted since then, shifted by three; the lowest bits: a good call was reported, a bad one, the rate fell last
//	40      8     nothing is granted before this time
//	48      8     time of the last grant or report
//
// Times are nanoseconds since the Unix epoch.
type adaptive struct {
	rate, since, used   int64
	good, bad, fell     bool
	PausedUntil, usedAt int64
}

const (
	adaptiveBytes = layout.MeterBytes + 40
	usedOffset    = 32
	pauseOffset   = 40
	usedAtOffset  = 48
)

func heldRate(state []byte) int64 {
	return int64(binary.LittleEndian.Uint64(state[layout.MeterBytes:]))
}
func heldPause(state []byte) int64 { return int64(binary.LittleEndian.Uint64(state[pauseOffset:])) }

func loadAdaptive(state []byte) (a adaptive) {
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(state[layout.MeterBytes+8*i:])) }
	used := at(2)
	return adaptive{rate: at(0), since: at(1), used: used >> 3, good: used&1 != 0, bad: used&2 != 0, fell: used&4 != 0, PausedUntil: at(3), usedAt: at(4)}
}

func (a *adaptive) Store(state []byte) {
	used := a.used << 3
	if a.good {
		used |= 1
	}
	if a.bad {
		used |= 2
	}
	if a.fell {
		used |= 4
	}
	for i, n := range [...]int64{a.rate, a.since, used, a.PausedUntil, a.usedAt} {
		binary.LittleEndian.PutUint64(state[layout.MeterBytes+8*i:], uint64(n))
	}
}

// adaptiveScale is the factor of tokens and period with which the rate changes in small steps.
func adaptiveScale(l *limits.Limit) int64 {
	const steps = 1000
	if l.Rate.Tokens <= limits.MaxTokens/steps && l.Rate.Period <= limits.MaxDuration/steps {
		return steps
	}
	return max(1, min(steps, limits.MaxTokens/max(1, l.Rate.Tokens), limits.MaxDuration/max(1, l.Rate.Period)))
}

// Adaptive is the state under a limit, which may be another than the state's.
func (c *Call) Adaptive(limit *limits.Limit) (a adaptive) {
	scale := adaptiveScale(limit)
	if c.IsNew {
		return adaptive{rate: limit.Rate.Tokens * scale, since: c.Now}
	}
	a = loadAdaptive(c.State)
	if c.Prev != *limit {
		most := limit.Rate.Tokens * scale
		from, to := uint64(c.Prev.Rate.Period*adaptiveScale(&c.Prev)), uint64(limit.Rate.Period*scale)
		if ticks := uint128.Product(uint64(max(0, a.rate)), to); ticks.Exceeds(uint128.Product(uint64(most), from)) {
			a.rate = most
		} else {
			n, _ := ticks.Divide(from)
			a.rate = int64(n)
		}
	}
	a.clamp(limit, scale)
	return a
}

func clampRate(rate int64, limit *limits.Limit, scale int64) int64 {
	return min(max(rate, limit.Least*scale, 1), limit.Rate.Tokens*scale)
}

func (a *adaptive) clamp(limit *limits.Limit, scale int64) {
	a.rate = clampRate(a.rate, limit, scale)
	a.used = min(max(a.used, 0), limits.MaxTokens)
}

// PresentRate is the rate of a state under its limit.
func (a *adaptive) PresentRate(limit *limits.Limit) limits.Rate {
	return limits.Rate{Tokens: a.rate, Period: limit.Rate.Period * adaptiveScale(limit)}
}

// useRates puts the rates in use in place of the highest, for the meter. The caller puts the limits back.
func useRates(c *Call) (limit, prev limits.Rate) {
	limit, prev = c.Limit.Rate, c.Prev.Rate
	if keepsRates(c) { // nearly always
		scale := adaptiveScale(&c.Limit)
		c.Limit.Rate = limits.Rate{Tokens: clampRate(heldRate(c.State), &c.Limit, scale), Period: limit.Period * scale}
		c.Prev.Rate = c.Limit.Rate
		return limit, prev
	}
	a := c.Adaptive(&c.Limit)
	if !c.IsNew {
		held := loadAdaptive(c.State)
		held.clamp(&c.Prev, adaptiveScale(&c.Prev))
		c.Prev.Rate = held.PresentRate(&c.Prev)
	}
	c.Limit.Rate = a.PresentRate(&c.Limit)
	return limit, prev
}

// keepsRates reports whether the state was written under the same highest and least rates.
func keepsRates(c *Call) bool {
	return !c.IsNew && c.Prev.Rate == c.Limit.Rate && c.Prev.Least == c.Limit.Least && c.Prev.Algorithm == c.Limit.Algorithm
}

func decideAdaptive(c *Call) (changed bool) {
	limit, prev := useRates(c)
	changed = decideMeter(c)
	if left := heldPause(c.State) - c.Now; left > 0 {
		if c.Result.Allowed {
			lookMeter(c)
			c.Result.Allowed, c.Result.Granted, c.Result.Wait = false, 0, left
		}
		if c.Result.Wait != engine.NeverWait {
			c.Result.Wait = max(c.Result.Wait, left)
		}
		changed = false
	}
	c.Limit.Rate, c.Prev.Rate = limit, prev
	if changed {
		countGrant(c)
	}
	return changed
}

// countGrant leaves the state after a grant in next, after the meter.
func countGrant(c *Call) {
	if keepsRates(c) {
		*(*[adaptiveBytes - layout.MeterBytes]byte)(c.Next[layout.MeterBytes:]) = [adaptiveBytes - layout.MeterBytes]byte(c.State[layout.MeterBytes:])
	} else {
		a := c.Adaptive(&c.Limit)
		a.Store(c.Next[:])
	}
	n := int64(binary.LittleEndian.Uint64(c.Next[usedOffset:]))
	used := min(max(n>>3, 0)+c.Result.Granted, limits.MaxTokens)<<3 | n&7
	binary.LittleEndian.PutUint64(c.Next[usedOffset:], uint64(used))
	binary.LittleEndian.PutUint64(c.Next[usedAtOffset:], uint64(c.Now))
}

func lookAdaptive(c *Call) {
	limit, prev := useRates(c)
	lookMeter(c)
	c.Limit.Rate, c.Prev.Rate = limit, prev
}

func refundAdaptive(c *Call) {
	a := c.Adaptive(&c.Prev)
	limit, prev := useRates(c)
	refundMeter(c)
	c.Limit.Rate, c.Prev.Rate = limit, prev
	a.Store(c.Next[:])
}

// adaptiveExpired keeps a limiter while its rate is remembered.
func adaptiveExpired(state []byte, _ *limits.Limit, now int64) bool {
	usedAt := int64(binary.LittleEndian.Uint64(state[usedAtOffset:]))
	if now-usedAt < AdaptiveIdle && usedAt-now < AdaptiveIdle { // nearly always
		return false
	}
	return layout.LoadMeter(state).IsFull(now) && loadAdaptive(state).PausedUntil <= now
}

// Hear takes a report, and decides once in its Every.
func (a *adaptive) Hear(r *engine.Report, limit *limits.Limit, now int64) {
	elapsed := now - a.since
	if elapsed/staleAfter >= r.Every { // the news from then is of another time
		a.good, a.bad = false, false
	}
	isEcho := a.fell && elapsed < r.Every/echoPart // a report sent twice, or calls begun before the rate fell
	a.good, a.bad = a.good || r.Good > 0, a.bad || r.Bad > 0 && !isEcho
	a.PausedUntil = max(a.PausedUntil, now+r.Pause)
	a.usedAt = now
	if elapsed < 0 {
		a.since = now // the clock went back
	}
	if elapsed < r.Every || !a.good && !a.bad {
		return
	}
	scale := adaptiveScale(limit)
	most := limit.Rate.Tokens * scale
	switch {
	case a.bad:
		a.rate = thousandthsOf(a.rate, r.Down)
	case !uint128.Product(uint64(a.rate), uint64(elapsed)).Exceeds(uint128.Product(2*uint64(a.used), uint64(limit.Rate.Period*scale))):
		a.rate += min(max(1, thousandthsOf(most, r.Up)), most) // at least half of the rate was used
	}
	a.clamp(limit, scale)
	a.since, a.used, a.fell, a.good, a.bad = now, 0, a.bad, false, false
}

// thousandthsOf is some thousandths of a percent of n, rounded down.
func thousandthsOf(n, thousandths int64) int64 {
	whole, _ := uint128.Product(uint64(n), uint64(thousandths)).Divide(engine.WholeRate)
	return int64(whole)
}
