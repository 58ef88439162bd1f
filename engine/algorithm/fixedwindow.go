package algorithm

import (
	"encoding/binary"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// window is the state of a fixed window: the tokens granted since its start, until its end.
//
//	offset  size  field
//	0       8     start, nanoseconds since the Unix epoch
//	8       8     end
//	16      8     tokens granted, and the warned bit
type window struct {
	start, end, Count int64
	warned            bool // of this window
}

const windowBytes = 24

// LoadWindow reads the state of a fixed window.
func LoadWindow(state []byte) window {
	count, warned := layout.LoadCount(state[16:])
	return window{int64(binary.LittleEndian.Uint64(state)), int64(binary.LittleEndian.Uint64(state[8:])), count, warned}
}

func (w window) store(state []byte) {
	binary.LittleEndian.PutUint64(state, uint64(w.start))
	binary.LittleEndian.PutUint64(state[8:], uint64(w.end))
	layout.StoreCount(state[16:], w.Count, w.warned)
}

// windowUnder returns the window the call counts in. Tokens counted under another window carry over to the one that
// holds now, unless that window would have ended by now.
func windowUnder(c *Call, l *limits.Limit) window {
	w := LoadWindow(c.State)
	isOver := windowExpired(c.State, l, c.Now) // with loans a limiter outlives its window
	if !isOver && c.Prev.HasSameWindows(l) {
		return w
	}
	start, end := WindowAt(c.Now, l)
	if isOver {
		return window{start: start, end: end}
	}
	if l.Span == limits.FromFirst {
		start, end = w.start, w.start+l.Rate.Period
		if end <= c.Now {
			return window{start: c.Now, end: c.Now + l.Rate.Period}
		}
	}
	return window{start, end, w.Count, w.warned && start == w.start}
}

// isCutShort reports whether the window of the state would have ended by now under the limit that is asked for.
func (w window) isCutShort(c *Call) bool {
	return c.Limit.Span == limits.FromFirst && !c.Prev.HasSameWindows(&c.Limit) && w.start+c.Limit.Rate.Period <= c.Now
}

func decideWindow(c *Call) (changed bool) {
	w := windowUnder(c, &c.Limit)
	granted, ok := grantCounted(c, w.Count-rolledOver(c, &c.Limit, w.start))
	if !ok {
		switch {
		case c.Result.Status != engine.OK:
		case c.Limit.Rollover > 0 && c.Lent == 0:
			c.Result.Wait = rolloverWait(c, w)
		case c.Result.Wait != engine.NeverWait:
			c.Result.Wait = windowWait(c, w, c.grantable()+c.Lent)
		}
		reportWindow(c, w, false)
		return false
	}
	w.Count += granted
	reportWindow(c, w, c.Op.Options&engine.Force != 0)
	w.store(c.Next[:])
	return granted > 0
}

// grantCounted decides for the algorithms that count: used tokens are taken, and the requested tokens must fit the
// limit beside them. On a denial Wait is NeverWait, or left to the caller.
func grantCounted(c *Call, used int64) (granted int64, ok bool) {
	res, asked, room := c.Result, c.Op.Tokens, c.grantable()
	free := room - used
	switch {
	case asked <= free:
	case c.Op.Options&engine.Force != 0:
		if used+asked-c.Limit.Capacity > limits.MaxTokens {
			res.Status = engine.DebtTooBig
			return 0, false
		}
	case c.Op.Options&engine.UpTo != 0 && free > 0:
		asked = free
	default:
		if room += c.Lent; asked > room && (c.Op.Options&engine.UpTo == 0 || room < 1) {
			res.Wait = engine.NeverWait
		}
		return 0, false
	}
	res.Allowed, res.Granted = true, asked
	return asked, true
}

// leastAsked is the tokens with which the request would be granted.
func (c *Call) leastAsked() int64 {
	if c.Op.Options&engine.UpTo != 0 {
		return 1
	}
	return c.Op.Tokens
}

// reportWindow fills in the tokens left in a window.
func reportWindow(c *Call, w window, showDebt bool) {
	res := c.Result
	reportCount(c, w.Count, c.Limit.Capacity+rolledOver(c, &c.Limit, w.start), showDebt)
	res.Reset = 0
	if w.Count > 0 {
		res.Reset = w.end - c.Now
	}
}

func reportCount(c *Call, used, capacity int64, showDebt bool) {
	res := c.Result
	res.Limit, res.Remaining = capacity, capacity-c.Lent-used
	if res.Remaining < 0 && !showDebt {
		res.Remaining = 0
	}
}

func lookWindow(c *Call) {
	reportWindow(c, windowUnder(c, &c.Limit), c.Op.Verb == engine.Look)
}

func refundWindow(c *Call) {
	w := windowUnder(c, &c.Prev)
	c.Result.Granted = min(c.Op.Tokens, w.Count)
	w.Count -= c.Result.Granted
	reportWindow(c, w, true)
	w.store(c.Next[:])
}

// windowExpired keeps a window of the clock that has warned until it is over, though all tokens went back.
func windowExpired(state []byte, l *limits.Limit, now int64) bool {
	w := LoadWindow(state)
	return now >= w.end || w.Count == 0 && (!w.warned || l.Span == limits.FromFirst)
}

// chargeWindow counts tokens in the window of a time.
func chargeWindow(state []byte, l *limits.Limit, at, tokens int64) {
	w := LoadWindow(state)
	if windowExpired(state, l, at) {
		w.start, w.end = WindowAt(at, l)
		w.Count, w.warned = 0, false
	}
	w.Count = min(w.Count+tokens, 3*limits.MaxTokens)
	w.store(state)
}

// WindowAt returns the window that holds now: [start, end).
func WindowAt(now int64, l *limits.Limit) (start, end int64) {
	switch l.Span {
	case limits.FromFirst:
		return now, now + l.Rate.Period
	case limits.Aligned:
		start = now - layout.FloorMod(now, l.Rate.Period)
		return start, start + l.Rate.Period
	case limits.EachMinute, limits.EachHour:
		period := [...]int64{limits.EachMinute: int64(time.Minute), limits.EachHour: int64(time.Hour)}[l.Span]
		start = now - layout.FloorMod(now, period)
		return start, start + period
	}
	unit, _ := l.Span.Unit()
	return l.Anchor.Window(unit, now)
}

// rolledOver is the tokens that the window of a start has beside its limit.
func rolledOver(c *Call, l *limits.Limit, start int64) int64 {
	if l.Rollover == 0 || !c.Wrapped {
		return 0
	}
	return leftTo(c, l, start)
}

// leftTo is the tokens that roll over to the window of a start: what the window before has left, or the most that may
// roll over if that window had no usage. Nothing rolls over to a limiter without closed windows, because its caller is
// new, and nothing while tokens are lent.
//
// A record that has expired may have been dropped, so it must roll over nothing either. It does: a record is kept for
// the longest time that Remembered windows take, and leftByUnused gives nothing to a window that may end later.
func leftTo(c *Call, l *limits.Limit, start int64) int64 {
	if l.Rollover == 0 || len(c.Loans.All) > 0 || c.History.Len() == 0 {
		return 0
	}
	lastEnd := c.History.LastEnd()
	if lastEnd < start {
		if before, _ := WindowAt(start-1, l); lastEnd <= before {
			return leftByUnused(l, lastEnd, start)
		}
	}
	return min(max(0, c.History.Left), l.MostRolledOver())
}

// leftByUnused is the tokens that roll over to the window of a start if the windows after the end of the last one with
// usage have none.
func leftByUnused(l *limits.Limit, lastEnd, start int64) int64 {
	if start-lastEnd > l.Remembered()-l.Longest() {
		return 0
	}
	return l.MostRolledOver()
}

// rolloverWait is the wait of a denial in a window, until the same request fits the next window, or the one after it,
// to which all of that rolls over.
func rolloverWait(c *Call, w window) int64 {
	l := &c.Limit
	most := c.grantable() - c.leastAsked() // of which the tokens that roll over make up the rest
	_, second := WindowAt(w.end, l)
	first, then := rolledOver(c, l, w.end), rolledOver(c, l, second)
	if w.Count > 0 {
		first = min(max(0, l.Capacity+rolledOver(c, l, w.start)-w.Count), l.MostRolledOver())
		then = leftByUnused(l, w.end, second)
	}
	switch {
	case most+first >= 0:
		return w.end - c.Now
	case most+then >= 0:
		return second - c.Now
	}
	return engine.NeverWait
}
